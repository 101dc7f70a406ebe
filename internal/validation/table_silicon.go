package validation

import (
	"fmt"
	"strings"
)

// Servers at a fixed number of clients, aggregated or with prefill and decode apart
// (ai-dynamo/aiconfigurator, silicon_sample.csv). A server has the flags of its row, and otherwise
// the flags of InferenceX's scripts or the engine's defaults; flags in doubt, which begin with "?",
// set nothing. Servers with multi-token prediction are predicted with the acceptance that drafts.go
// takes for random prompts, and nothing is fitted to them. From 64 clients on, 4 requests for each
// client are simulated, and the first wave counts for a tenth. Left out are rows of fleets, rows
// whose experts are spread over another number of GPUs, rows that multi-token prediction must have
// made faster than a similar row, rows whose layout is in doubt (?layout), and others that the
// tables' notes name.
// readSilicon reads aggregated servers. readSiliconApart reads rows with prefill and decode apart.
func readSilicon(c *catalogs, t *table) []*trial {
	drafted := speculativeTwins(t)
	return t.trials(func(r *row) (*trial, string) {
		if drafted[r.line] {
			return nil, "faster than its twin: multi-token prediction was on"
		}
		return c.described(r, siliconClients)
	})
}

func siliconClients(_ *catalogs, r *row, t *trial) string {
	t.spread(r, "attention_dp", "moe_ep")
	if why := otherExperts(r); r.err != nil || why != "" {
		return why
	}
	if strings.HasPrefix(t.Engine.Preset, "vllm") && t.Parallelism.Data > 1 {
		t.joinRanks()
	}
	t.siliconFlags(r)
	t.nightlyVersion(r.text("month"))
	t.closed()
	flags := r.text("script_flags")
	if withMTP(flags) {
		if !t.draft(parseStartFlags(flags).drafted(), acceptanceOf(t.output)) {
			return "multi-token prediction was on, and the drafts of its model are not known"
		}
		t.measuredWithDrafts()
	}
	if t.Parallelism.Data > 1 {
		t.Name += fmt.Sprintf(", attention DP %d", t.Parallelism.Data)
	}
	return ""
}

// joinRanks makes one tensor-parallel group of what the table gives as data-parallel ranks of the
// same number of GPUs each. Each such row of vLLM has a twin with tensor and expert parallelism
// over tp GPUs, whose times it has to 1 %: the column counts the same GPUs again.
func (d *deployment) joinRanks() {
	if d.Parallelism.Data = 0; d.Parallelism.Expert > 1 {
		d.Parallelism.Expert = d.Parallelism.Tensor
	}
}

// spread sets data and expert parallelism from the columns of those names, the latter ending in
// _ep. Absent, and 0, count as 1. Beside data-parallel ranks, experts are split over all of them
// where the column ending in _tp instead says so and there are eight ranks at most: over more,
// engines spread them, whatever degree they are given (SGLang with --moe-a2a-backend deepep).
func (d *deployment) spread(r *row, data, expert string) {
	p := &d.Parallelism
	if p.Data = int(r.number(data + "|=1")); p.Data <= 1 {
		p.Data = 0
	}
	split := p.Data > 1 && p.Data <= 8 && r.number(strings.TrimSuffix(expert, "ep")+"tp|=1") > 1
	if p.Expert = int(r.number(expert + "|=1")); p.Expert <= 1 && !split || d.model == nil ||
		d.model.Experts() == nil {
		p.Expert = 0
	}
	if p.Data > maxBatch || p.Expert > maxBatch {
		r.fail(fmt.Errorf("%s, %s: found %d and %d, want at most %d", data, expert, p.Data,
			p.Expert, maxBatch))
	}
}

// Accelerators that are no GPU: Gaudi 3 and TPU v7 under vLLM, at a fixed number of clients
// (SemiAnalysisAI/InferenceX-app).
func otherRow(_ *catalogs, r *row, t *trial) string {
	chips, devices := r.count("chips"), r.count("devices")
	data := r.count("dp|=1")
	if r.err != nil {
		return ""
	}
	// A TPU v7 is two devices to its software and one accelerator here.
	t.Parallelism.Tensor, t.least = max(1, t.Parallelism.Tensor*chips/devices), drawnLength
	if data > 1 {
		t.Parallelism.Data, t.Parallelism.Tensor = max(1, data*chips/devices), 1
	}
	t.closed()
	return ""
}
