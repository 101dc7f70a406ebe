package playground

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/llmsim/llmsim/hardware"
	"github.com/llmsim/llmsim/internal/training"
)

// Training is the first of the settings of a training run, which Result computes in place of a
// scenario. The others are model=NAME, hardware=NAME, and flags of llmsim train without their
// dashes: gpus, tokens, global-batch, seq, tensor, pipeline and zero.
const Training = "train"

// train computes what training costs, and returns what the command
//
//	llmsim train MODEL HARDWARE --gpus … --format json
//
// prints, byte by byte.
func train(settings []string) ([]byte, error) {
	job := training.Job{GPUs: 8, Seq: 4096, Precision: hardware.BF16,
		Method: training.Pretrain, Attention: training.Flash}
	l := &job.Layout
	*l = training.Layout{Tensor: 1, Context: 1, Pipeline: 1, Data: 1, Expert: 1, Micro: 1,
		Virtual: 1, ZeRO: 1, Schedule: training.OneForwardOneBackward,
		Recompute: training.NoRecompute, Sequence: true}
	counts := map[string]*int{"gpus": &job.GPUs, "global-batch": &job.Batch, "seq": &job.Seq,
		"tensor": &l.Tensor, "pipeline": &l.Pipeline, "zero": &l.ZeRO}
	var model, accelerator string
	var tokens *string
	given := map[string]bool{}
	for _, setting := range settings {
		key, value, _ := strings.Cut(setting, "=")
		given[key] = true
		switch into := counts[key]; {
		case into != nil:
			n, err := strconv.Atoi(value)
			if err != nil || n < 0 || n > 1<<20 {
				return nil, fmt.Errorf("%s: found %q, want a whole number", key, value)
			}
			*into = n
		case key == "model":
			model = value
		case key == "hardware":
			accelerator = value
		case key == "tokens":
			tokens = &value
		default:
			return nil, fmt.Errorf("no setting %q of a training run", key)
		}
	}
	found, err := job.Equip(model, accelerator, nil, "adamw", tokens)
	if err != nil {
		return nil, err
	}
	if job.Batch == 0 {
		job.Batch = job.UsualBatch()
	}
	if err := job.Fill(given); err != nil {
		return nil, err
	}
	return encode(job.Result(job.Compute(found.Price)))
}
