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
	r.set("inferencex", &t.deployment)
	t.least = r.figure("least")
	r.applyFlags(&t.deployment)
	r.nightly(&t.deployment)
	t.closed()
	drafting := r.text("--speculative") == "mtp" &&
		!strings.Contains(r.text("script_flags"), "?speculative")
	drafted := r.whole("--speculative-num-steps|"+
		"--speculative_config.num_nextn_predict_layers|=0", 0)
	if why := t.mtp(r, drafting, drafted); why != "" {
		return why
	}
	if t.Parallelism.Data > 1 {
		t.Name += fmt.Sprintf(", attention DP %d", t.Parallelism.Data)
	}
	return ""
}

// mtp has the server draft a number of tokens by multi-token prediction if that was on, or returns
// why its row is left out.
func (t *trial) mtp(r *row, on bool, tokens int) (why string) {
	switch {
	case !on || r.err != nil:
		return ""
	case !t.draft(tokens, acceptanceOf(t.output)):
		return "multi-token prediction was on, and the drafts of its model are not known"
	}
	t.measuredWithDrafts()
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

// Nightly runs of InferenceX as its web application has them (SemiAnalysisAI/InferenceX-app): the
// loads of silicon_2026, with medians of every run. Most runs have no mean.
func appRow(_ *catalogs, r *row, t *trial) string {
	t.version = release.FindString(r.text("image"))
	r.nightly(&t.deployment)
	p := &t.Parallelism
	if p.Expert = r.count("ep|=1"); p.Expert == 1 {
		p.Expert = 0
	}
	if r.err != nil {
		return ""
	}
	if r.text("dp_attention") == "1" {
		p.Data, p.Tensor, p.Expert = p.Tensor, 1, 0
	}
	r.set("inferencex", &t.deployment)
	t.least = r.figure("least")
	t.closed()
	return t.mtp(r, r.text("spec_method") != "none", nightlyDrafts(t.Engine.Preset, p.Data > 1))
}

// siliconPools returns what a row and, unless it is nil, the published fleet describe: clients of
// servers with prefill and decode apart.
func (c *catalogs) siliconPools(r *row, f *fleet) *trial {
	engine := r.engine("backend")
	t := &trial{count: r.batch("concurrency"), prompt: r.count("isl"), output: r.count("osl"),
		least: drawnLength, part: part{measured: r.figures()}}
	s := &disaggregated{prefill: c.siliconPool(r, engine, "prefill"),
		decode: c.siliconPool(r, engine, "decode"), frontends: manyFrontends}
	if r.err != nil {
		return nil
	}
	if f != nil {
		s.prefill.shape(f.prefill())
		s.decode.shape(f.decode())
	}
	s.prefill.tokenBudget = max(16384, t.prompt) * max(1, s.prefill.Parallelism.Data)
	s.decode.maxSequences = t.count
	if f != nil {
		s.decode.maxSequences, s.frontends = f.Batch*f.DecodeData, f.Frontends
		s.prefill.tokenBudget = f.Tokens * f.PrefillData
	}
	s.decode.tokenBudget = max(8192, s.decode.maxSequences)
	if ranks := s.prefill.Parallelism.Data; ranks > 1 { // a rank takes whole prompts only
		s.prefill.maxSequences = ranks * max(1, s.prefill.tokenBudget/ranks/t.prompt)
	}
	s.prefill.gatherTokens()
	t.deployment, t.apart = s.decode.deployment, s
	t.closed()
	t.rehearsable = false
	known := "workers known"
	if !knowsWorkers(r) {
		known = "workers unknown"
	}
	t.Name = fmt.Sprintf("%s, %d prefill, %d decode, %s", known, s.prefill.workers,
		s.decode.workers, t.Name)
	return t
}

// gatherTokens has SGLang's ranks of a node compute prompts as if experts were split over them.
// Without DeepEP, which InferenceX' prefill workers go without, each gets the tokens of all, and
// its kernels take as long for whole experts as for slices of all: 1.1 to 1.2 times as long over
// four B200 in 4 bits, twice as long over eight in 8 bits (ai-dynamo/aiconfigurator, SGLang 0.5.14,
// DeepSeek-V3, tokens spread by power laws).
func (p *pool) gatherTokens() {
	if p.Engine.Preset == "sglang" && p.Parallelism.Data > 1 && p.Parallelism.Data <= 8 {
		p.Parallelism.Expert = 1
	}
}

// siliconPool returns the workers at an end of a row, prefill or decode.
func (c *catalogs) siliconPool(r *row, engine, end string) pool {
	d := c.deploy(r, r.required("model"), r.required("gpu"), r.required("precision"),
		r.count(end+"_tp"))
	d.spread(r, end+"_dp", end+"_moe_ep")
	p := pool{deployment: d, workers: r.count(end + "_workers|=1")}
	if r.atMost(end+"_workers", p.workers, maxBatch) && r.err == nil {
		p.Engine.Preset = engine
		r.nightly(&p.deployment)
		p.narrowCache()
	}
	return p
}
