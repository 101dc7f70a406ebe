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
	name := "adamw-16bit-gradients"
	adam, _ := training.FindOptimizer(name)
	j := training.Job{Model: model, Machine: m, GPUs: r.count("gpus"),
		Batch: r.count("global_batch_seqs"), Seq: r.count("seq_len_tok"),
		Precision: hardware.BF16, Optimizer: adam, Method: training.Pretrain,
		Attention: training.Flash1, Eager: true}
	if strings.Contains(strings.ToLower(r["precision"]), "fp8") {
		j.Precision = hardware.FP8
		row.Publication += " FP8"
	}
	j.Layout = training.Layout{Tensor: 1, Pipeline: 1, Context: 1, Data: j.GPUs, Expert: 1,
		Micro: r.count("micro_batch_seqs"), Virtual: 1, ZeRO: 3, Recompute: training.NoRecompute}
	if r["sharding"] == "SHARD_GRAD_OP" {
		j.Layout.ZeRO = 2
	}
	if r["act_ckpt"] == "True" {
		j.Layout.Recompute = training.Full
	}
	rate := r.number("throughput_tok_per_s_per_gpu")
	if rate == 0 {
		return row, "its rate is not stated"
	}
	row.Job, row.Step = j, float64(j.Batch*j.Seq)/(rate*float64(j.GPUs))
	return row, ""
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
	adam, _ := training.FindOptimizer("adamw-16bit-gradients")
	gpus := r.count("n_accel")
	l := training.Layout{Tensor: 1, Pipeline: 1, Context: 1, Data: gpus, Expert: 1,
		Micro: r.count("micro_bs"), Virtual: 1, ZeRO: 3, Recompute: training.NoRecompute}
	if row.Publication == "InternEvo" {
		l.ZeRO = 1
	}
	if strings.HasPrefix(r["parallelism"], "tp2") {
		l.Tensor, l.Data = 2, gpus/2
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
	j := training.Job{Model: model, Machine: m, GPUs: gpus, Seq: r.count("seq_len_tok"),
		Batch: l.Data * l.Micro * max(1, r.count("grad_accum")), Layout: l,
		Precision: hardware.BF16, Optimizer: adam, Method: training.Pretrain,
		Attention: training.Flash2}
	if row.Publication == "InternEvo" {
		j.Attention, j.Eager = training.Flash1, true
	}
	rate := r.number("tok_per_s_per_accel")
	if rate == 0 {
		return row, "its rate is not stated"
	}
	row.Job, row.Step = j, float64(j.Batch*j.Seq)/(rate*float64(gpus))
	return row, ""
}
