package published

import (
	"fmt"
	"strings"

	"github.com/llmsim/llmsim/hardware"
	"github.com/llmsim/llmsim/internal/training"
)

// foundryRow reads a row of llm-foundry's benchmarks of MPT.
func foundryRow(r record) (Row, string) {
	row := Row{Publication: "llm-foundry " + strings.ToUpper(r["gpu"][:min(4, len(r["gpu"]))]),
		Label: r["model"] + " " + r["seq_len_tok"] + " " + r["gpus"] + " " + r["precision"]}
	model := mpt(r["model"])
	ports := 0.0
	if strings.Contains(r["interconnect_section"], "800 Gbps") {
		ports = 100
	}
	m, ok := machine(r["gpu"], ports)
	if model == nil || !ok {
		return row, "its shape is not known"
	}
	if r["act_cpu_offload"] == "True" {
		return row, "activations in host memory are not computed"
	}
	j := r.job(model, m, "adamw-16bit-gradients", training.Flash1)
	j.Eager, j.Layout.ZeRO = true, 3
	if strings.Contains(strings.ToLower(r["precision"]), "fp8") {
		j.Precision = hardware.FP8
		row.Publication += " FP8"
	}
	if r["sharding"] == "SHARD_GRAD_OP" {
		j.Layout.ZeRO = 2
	}
	if r["act_ckpt"] == "True" {
		j.Layout.Recompute = training.Full
	}
	return r.rated(row, j)
}

// miscRow reads a row of fms-fsdp, InternEvo or nanotron.
func miscRow(r record) (Row, string) {
	row := Row{Publication: r["suite"], Label: fmt.Sprintf("%s %s %s %s %s", r["model"],
		r["accelerator"], r["n_accel"], r["parallelism"], r["micro_bs"])}
	ports := 0.0
	switch {
	case strings.HasPrefix(r["suite"], "InternEvo"):
		ports = 50 // four ports of 100 Gbit/s for eight accelerators
		row.Publication = "InternEvo"
	case r["suite"] == "fms-fsdp":
		ports = 50
		if strings.HasPrefix(r["accelerator"], "H100") {
			ports = 100
		}
	default:
		return row, "its layout is not stated"
	}
	model := catalogued(r["model"])
	m, ok := machine(r.word("accelerator"), ports)
	if model == nil || !ok {
		return row, "its shape is not known"
	}
	j := r.job(model, m, "adamw-16bit-gradients", training.Flash2)
	l := &j.Layout
	l.ZeRO = 3
	if row.Publication == "InternEvo" {
		l.ZeRO, j.Attention, j.Eager = 1, training.Flash1, true
	}
	if strings.HasPrefix(r["parallelism"], "tp2") {
		l.Tensor, l.Data = 2, j.GPUs/2
	}
	switch {
	case strings.HasPrefix(r["parallelism"], "HSDP"),
		strings.HasSuffix(r["parallelism"], "zero1=8"):
		l.Shard = 8
	case strings.HasSuffix(r["parallelism"], "zero1=4"):
		l.Shard = 4
	}
	switch r["act_ckpt"] {
	case "full":
		l.Recompute = training.Full
	case "selective":
		if row.Label != "" && r["model"] != "13b" { // all layers
			l.Recompute = training.Full
		}
	}
	j.Batch = l.Data * l.Micro * max(1, r.count("grad_accum"))
	return r.rated(row, j)
}
