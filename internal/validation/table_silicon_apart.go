package validation

import (
	"fmt"
)

// readSiliconApart reads servers with prefill and decode apart, as fleets lists them. A row without
// the number of workers is taken where one configuration fits it, and where that runs without
// multi-token prediction.
func readSiliconApart(c *catalogs, t *table) []*trial {
	survey := surveyApart(t)
	return t.trials(func(r *row) (*trial, string) {
		f, why := survey.fleet(r)
		if why != "" {
			return nil, why
		}
		return c.siliconPools(r, f), ""
	})
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
		p.nightlyVersion(r.text("month"))
		p.narrowCache()
	}
	return p
}

// shape sets the number of workers and how attention is spread over their accelerators.
func (p *pool) shape(w workers) {
	p.workers, p.Parallelism.Tensor, p.Parallelism.Data = w.count, w.tensor, w.data
	switch {
	case p.Parallelism.Data == 1:
		p.Parallelism.Data = 0
	case w.split:
		p.Parallelism.Expert = 1
	default:
		p.Parallelism.Expert = 0
	}
}
