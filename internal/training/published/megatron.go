package published

import (
	"fmt"
	"strings"

	"github.com/llmsim/llmsim/hardware"
	"github.com/llmsim/llmsim/internal/training"
)

// megatronRow reads a row of the tables of Megatron-LM.
func megatronRow(r record) (Row, string) {
	row := Row{Publication: r["table"], Label: r["model"] + " " + r["recompute"] + " " + r["gpus"]}
	if i := strings.Index(row.Publication, " ("); i > 0 {
		row.Publication = row.Publication[:i]
	}
	heads := r.count("heads")
	if heads == 0 { // of table 1 in arXiv:2104.04473
		heads = map[int]int{2304: 24, 3072: 32, 4096: 32, 6144: 48, 8192: 64, 10240: 80,
			12288: 96, 16384: 128, 20480: 128, 25600: 160}[r.count("hidden")]
	}
	seq := r.count("seq_len_tok")
	model := gpt(r.count("hidden"), r.count("layers"), heads, r.count("vocab"), seq)
	m, ok := machine(r["gpu"], 0)
	if model == nil || !ok || r.count("tp") == 0 || r.count("pp") == 0 {
		return row, "its shape or layout is not stated"
	}
	j := r.job(model, m, "adamw", training.Stored)
	l := &j.Layout
	j.Dropout, l.Data, l.Recompute = true, r.count("dp"), training.Full
	switch {
	case strings.HasPrefix(r["table"], "weak scaling H100"):
		l.Recompute, l.Sequence, l.ZeRO = training.NoRecompute, true, 1
		j.Attention, j.Overlap = training.Flash, true
	case strings.HasPrefix(r["recompute"], "selective"):
		l.Recompute, l.Sequence = training.Selective, true
	}
	if p := l.Pipeline; strings.HasPrefix(r["table"], "Korthikanti") && (p == 8 || p == 35) {
		l.Virtual = 3 // section 6
	}
	if r.count("mbs_seqs") == 0 {
		fastest(&j)
	}
	row.Job = j
	row.Step = r.number("step_s")
	if row.Step == 0 { // from the rate, whose FLOP count the papers state
		tokens := float64(j.Batch * j.Seq)
		flops := j.ModelFLOPs(false)
		if strings.HasPrefix(r["util_kind"], "hardware") {
			flops = j.ModelFLOPs(false) * 4 / 3
		}
		if rate := r.number("tflops_per_gpu"); rate > 0 {
			row.Step = tokens * flops / (rate * 1e12 * float64(j.GPUs))
		} else if util := r.number("util_pct"); util > 0 {
			row.Step = tokens * flops /
				(util / 100 * m.Accelerator.Peak[hardware.BF16] * float64(j.GPUs))
		}
	}
	if row.Step == 0 {
		return row, "its time is not stated"
	}
	return row, ""
}

// bloomRow reads a row of the sweep before BLOOM, whose shape is stated from some rows on.
func bloomRow(r record) (Row, string) {
	row := Row{Publication: "BLOOM sweep", Label: fmt.Sprintf("%s %s tp%s pp%s dp%s mbs%s %s",
		r["params_b"], r["heads"], r["tp"], r["pp"], r["dp"], r["mbs_seqs"], r["date_2022"])}
	if r["oom"] == "yes" || r.number("step_s") == 0 {
		return row, "out of memory"
	}
	model := gpt(r.count("hidden"), r.count("layers"), r.count("heads"), 51200, 2048)
	if model == nil {
		return row, "its shape is not stated"
	}
	m, _ := machine("a100-80gb-sxm", 50) // four ports of 100 Gbit/s for eight accelerators
	optimizer := "adamw-16bit-gradients"
	if r["date_2022"] >= "02-28" {
		optimizer = "adamw"
	}
	j := r.job(model, m, optimizer, training.Stored)
	j.GPUs, j.Seq, j.Dropout = 8*r.count("nodes_8gpu"), 2048, true
	j.Layout.Data, j.Layout.Recompute = r.count("dp"), training.Full
	if r["zero_stage"] != "0" {
		j.Layout.ZeRO = 1
	}
	row.Job, row.Step, row.Memory = j, r.number("step_s"), r.number("mem_gb")*(1<<30)
	return row, ""
}

// bridgeRow reads a row of NVIDIA's containers.
func bridgeRow(r record) (Row, string) {
	row := Row{Publication: "Megatron-Bridge " + r["container"], Label: r["model"] + " " +
		r["system"] + " " + r["precision"] + " " + r["gpus"]}
	if r["task"] != "Pre-Training" && r["task"] != "SFT" && r["task"] != "LoRA" {
		return row, "its task is not known"
	}
	model := catalogued(r["model"])
	m, ok := machine(r["system"], 0)
	if model == nil || !ok {
		return row, "the catalogue has no such model or system"
	}
	formats := map[string]hardware.DType{"BF16": hardware.BF16, "FP8": hardware.FP8,
		"MXFP8": hardware.FP8, "NVFP4": hardware.FP4}
	j := r.job(model, m, "adamw", training.Flash)
	j.Precision, j.Overlap = formats[r["precision"]], true
	if r["task"] == "LoRA" {
		j.Method = training.LoRA
	}
	j.Layout.ZeRO, j.Layout.Sequence = 1, true
	if r.count("fsdp") > 1 {
		j.Layout.ZeRO = 3
	}
	return r.rated(row, j)
}

// fastest sets the micro-batch and the chunks of a stage, where a table does not state them, to
// those with which the step is computed to be the shortest.
func fastest(j *training.Job) {
	best, least := j.Layout, 0.0
	for _, micro := range []int{1, 2, 4, 8} {
		for virtual := 1; virtual <= 8 && virtual*j.Layout.Pipeline <= j.Model.Layers(); virtual++ {
			t := *j
			t.Layout.Micro, t.Layout.Virtual = micro, virtual
			if virtual > 1 && (j.Layout.Pipeline == 1 ||
				j.Model.Layers()%(virtual*j.Layout.Pipeline) != 0) || t.Check() != nil {
				continue
			}
			memory, step := t.Memory(), t.Step()
			if s := step.Total(); memory.Fits() && (least == 0 || s < least) {
				best, least = t.Layout, s
			}
		}
	}
	j.Layout = best
}
