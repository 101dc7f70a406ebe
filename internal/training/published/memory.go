package published

import (
	"strings"

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
	j := r.job(model, m, "adamw-pure-16bit", training.Flash2)
	j.Method, j.GPUs, j.Layout.Data, j.Batch = training.SFT, 1, 1, j.Layout.Micro
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
