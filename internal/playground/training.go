package playground

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/llmsim/llmsim/hardware"
	"github.com/llmsim/llmsim/internal/training"
	"github.com/llmsim/llmsim/policies"
	"github.com/llmsim/llmsim/scenarios"
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
	given, names := map[string]bool{}, map[string]string{}
	for _, setting := range settings {
		key, value, _ := strings.Cut(setting, "=")
		given[key] = true
		if into := counts[key]; into != nil {
			n, err := strconv.Atoi(value)
			if err != nil || n < 0 || n > 1<<20 {
				return nil, fmt.Errorf("%s: found %q, want a whole number", key, value)
			}
			*into = n
		} else if !slices.Contains([]string{"model", "hardware", "tokens"}, key) {
			return nil, fmt.Errorf("no setting %q of a training run", key)
		}
		names[key] = value
	}
	price, err := equip(&job, names)
	if err != nil {
		return nil, err
	}
	if job.Batch == 0 {
		job.Batch = job.UsualBatch()
	}
	if err := job.Fill(given); err != nil {
		return nil, err
	}
	return encode(job.Result(job.Compute(price)))
}

// equip looks up the model, the accelerator and the optimizer, and returns the price of an
// accelerator.
func equip(job *training.Job, names map[string]string) (price scenarios.Price, err error) {
	file, err := scenarios.Describe(names["model"], names["hardware"])
	if err != nil {
		return price, err
	}
	found, err := file.Equipment(policies.Default())
	if err != nil {
		return price, err
	}
	job.Model = found.Model
	job.Machine = training.NewMachine(found.Accelerator, found.ScaleUp, found.Network)
	if job.Optimizer, err = training.FindOptimizer("adamw"); err != nil {
		return price, err
	}
	if job.GPUs < 1 || job.Seq < 1 {
		return price, fmt.Errorf("gpus %d and seq %d must be positive", job.GPUs, job.Seq)
	}
	if text := names["tokens"]; text != "" {
		job.Tokens, err = training.ParseTokens(text)
	}
	return found.Price, err
}
