package published

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/llmsim/llmsim/hardware"
	"github.com/llmsim/llmsim/internal/training"
)

// pretrainRow reads a whole run. What is not in the row is as its paper has it: Llama 3
// (arXiv:2407.21783, section 3.3.2) and BLOOM (arXiv:2211.05100, section 3.2) compute micro-batches
// of one and two sequences, DeepSeek-V3 (arXiv:2412.19437, sections 3.2, 3.3 and 4.2) steps of
// 15,360 sequences in FP8.
func pretrainRow(r record) (Row, string) {
	row := Row{Publication: "whole runs", Label: fmt.Sprintf("%s %s %s", r["run"], r["n_accel"],
		r["seq_len_tok"])}
	degrees := layoutOf(r["parallelism"])
	if degrees["PP"] == 0 || r.count("n_accel") == 0 || r.count("seq_len_tok") == 0 {
		return row, "its layout is not stated"
	}
	j := r.job(nil, training.Machine{}, "adamw", training.Flash)
	l := &j.Layout
	l.Tensor, l.Context, l.Expert = max(1, degrees["TP"]), max(1, degrees["CP"]),
		max(1, degrees["EP"])
	l.Pipeline, l.ZeRO, l.Sequence = degrees["PP"], 1, true
	model := ""
	switch {
	case strings.HasPrefix(r["run"], "Llama 3.1 405B"):
		model, l.Virtual = "llama-3.1-405b", 8
	case strings.HasPrefix(r["run"], "BLOOM"):
		model, l.Micro, l.Recompute, l.Sequence = "bloom-176b", 2, training.Full, false
		j.Attention = training.Stored
	case strings.HasPrefix(r["run"], "DeepSeek-V3"):
		model, l.Schedule, l.Recompute = "deepseek-v3", training.ZeroBubble, training.Selective
		j.Precision, j.Batch = hardware.FP8, 15360
	}
	name := strings.NewReplacer("H100-80GB", "h100-sxm", "H800-80GB", "h800").Replace(
		r.word("accelerator"))
	m, ok := machine(name, 0)
	if j.Model = entry(model); j.Model == nil || !ok {
		return row, "the catalogue has no such model or accelerator"
	}
	l.Data = max(1, j.GPUs/(l.Tensor*l.Context*l.Pipeline))
	j.Machine = m
	if j.Batch == 0 { // 16 million tokens stand for a power of two of sequences
		tokens := r.count("gbs_tok")
		if tokens < j.Seq {
			return row, "its batch is not stated"
		}
		j.Batch = 1 << int(math.Round(math.Log2(float64(tokens)/float64(j.Seq))))
	}
	row.Job, row.Step = j, stepOf(r, &j)
	if row.Step == 0 {
		return row, "its time is not stated"
	}
	return row, ""
}

// stepOf returns the seconds of a step: as stated, or from the rate of the model's arithmetic, or
// from the hours of all accelerators.
func stepOf(r record, j *training.Job) float64 {
	tokens, gpus := float64(j.Batch)*float64(j.Seq), float64(j.GPUs)
	rate, hours, total := r.number("tflops_per_accel"), r.number("accel_hours"),
		r.number("tokens_b")
	switch {
	case r.number("step_s") > 0:
		return r.number("step_s")
	case rate > 0:
		return tokens * j.ModelFLOPs(true) / (rate * 1e12 * gpus)
	case hours > 0 && total > 0:
		return hours * 3600 / gpus / (total * 1e9 / tokens)
	}
	return 0
}

// layoutOf reads degrees of parallelism such as "TP8 CP1 PP16 DP64" by their names.
func layoutOf(text string) map[string]int {
	degrees := map[string]int{}
	for _, word := range strings.Fields(text) {
		if len(word) < 3 {
			continue
		}
		if n, err := strconv.Atoi(word[2:]); err == nil && n > 0 && n <= 1<<16 {
			degrees[word[:2]] = n
		}
	}
	return degrees
}
