package published

import (
	"strings"

	"github.com/llmsim/llmsim/hardware"
	"github.com/llmsim/llmsim/internal/training"
)

// memoryRow reads a row of torchtune's ladder of measures that save memory, as far as training
// computes them.
func memoryRow(r record) (Row, string) {
	row := Row{Publication: r["suite"], Label: r["model"] + " " + r["config"], Allocated: true}
	if r["suite"] != "torchtune ladder" || !strings.HasPrefix(r["method"], "full") {
		return row, "its settings are not stated, or not computed"
	}
	model := catalogued(r["model"])
	m, ok := machine("a100-80gb-sxm", 0)
	if model == nil || !ok {
		return row, "the catalogue has no such model"
	}
	adam, _ := training.FindOptimizer("adamw-pure-16bit")
	j := training.Job{Model: model, Machine: m, GPUs: 1, Batch: r.count("micro_bs"),
		Seq: r.count("seq_len_tok"), Precision: hardware.BF16, Optimizer: adam,
		Method: training.SFT, Attention: training.Flash2}
	j.Layout = training.Layout{Tensor: 1, Pipeline: 1, Context: 1, Data: 1, Expert: 1,
		Micro: j.Batch, Virtual: 1, Recompute: training.NoRecompute}
	config, _, _ := strings.Cut(r["config"], " (")
	switch config {
	case "+compile":
	case "+chunked cross-entropy":
		j.ChunkedLoss = true
	case "+activation checkpointing":
		j.ChunkedLoss, j.Layout.Recompute = true, training.Full
	default:
		return row, "its settings are not stated, or not computed"
	}
	row.Job, row.Memory = j, r.number("mem_value")*(1<<30)
	return row, ""
}
