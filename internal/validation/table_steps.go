package validation

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/llmsim/llmsim/internal/validation/accuracy"
	"github.com/llmsim/llmsim/sim"
)

// Every step of a vLLM server (ai-dynamo/aiconfigurator, fpm_golden_runs). The file's name states
// model and parallelism: MODEL__tpN_dpN_epN.csv. The tables do not name the GPU: likely a B300.
const (
	stepVersion = "0.20"
	// sampledSteps is the number of steps of each kind that are compared, evenly over the run by
	// their measured times.
	sampledSteps = 40
)

// timedStep is one row.
type timedStep struct {
	line int
	step *sim.Step
	ms   float64
}

func readSteps(c *catalogs, t *table) []*trial {
	spread, ok := parseDegrees(nameParts(t.file)[1])
	if !ok {
		t.skip("the name of the file does not say how the model is spread")
		return nil
	}
	r := t.whole()
	x := c.trial(r)
	switch {
	case r.err != nil:
		t.skip("%v", r.err)
		return nil
	case spread.data > 1:
		t.skip("only one of the data-parallel ranks is logged, which waits for the others")
		return nil
	}
	x.version, x.Parallelism.Tensor = stepVersion, spread.tensor
	spread.apply(&x.deployment)
	x.machine = accuracy.Machine("vllm_steps", x.accelerator.Name)
	x.place = accuracy.Place{Group: x.group(), File: t.file, Line: 2, Name: "steps of a run"}
	var list []timedStep
	t.each(func(r *row) {
		if step := r.step(); step != nil && r.err == nil {
			list = append(list, timedStep{r.line, step, r.number("step_ms")})
		}
	})
	x.timed(apart(list))
	return []*trial{x}
}

// timed makes steps of a run the parts of the trial: the time of all, and some steps of each kind.
func (t *trial) timed(list []timedStep) {
	const run, prompts, decodes = "time of steps", "prompt step", "decode step"
	all, kinds := 0.0, map[string][]timedStep{}
	for _, x := range list {
		name := decodes
		if len(x.step.Prefill) > 0 {
			name = prompts
		}
		kinds[name] = append(kinds[name], x)
		all += x.ms
	}
	t.steps = func(p *accuracy.Physics) (func(*part) map[string]float64, error) {
		clock, err := t.clock(p)
		return func(of *part) map[string]float64 {
			if of.place.Name != t.place.Name {
				took := clock.Duration(of.step).Milliseconds()
				return map[string]float64{prompts: took, decodes: took}
			}
			sum := 0.0
			for _, x := range list {
				sum += clock.Duration(x.step).Milliseconds()
			}
			return map[string]float64{run: sum}
		}, err
	}
	if all == 0 {
		return
	}
	ms := func(name string, value float64) []accuracy.Measurement {
		return []accuracy.Measurement{{Quantity: name, Unit: "ms", Value: value}}
	}
	t.parts = []part{{place: t.place, step: list[0].step, measured: ms(run, all)}}
	for _, name := range []string{prompts, decodes} {
		of := kinds[name]
		slices.SortStableFunc(of, func(a, b timedStep) int { return cmp.Compare(a.ms, b.ms) })
		sampled, n := 0, min(sampledSteps, len(of))
		for i, x := range of {
			one := part{place: t.place, step: x.step}
			one.place.Line, one.place.Name = x.line, describeStep(x.step)
			if sampled < n && i == sampled*len(of)/n {
				one.measured = ms(name, x.ms)
				sampled++
			}
			t.parts = append(t.parts, one)
		}
	}
}

// apart leaves out pairs of steps whose outputs were handled together, so that the first has the
// time of both: the second has prompts, and takes less than any step that only decodes.
func apart(list []timedStep) []timedStep {
	fastest := math.Inf(1)
	for _, x := range list {
		if len(x.step.Prefill) == 0 {
			fastest = min(fastest, x.ms)
		}
	}
	var alone []timedStep
	for _, x := range list {
		switch {
		case len(x.step.Prefill) == 0 || x.ms >= fastest:
			alone = append(alone, x)
		case len(alone) > 0 && alone[len(alone)-1].line == x.line-1:
			alone = alone[:len(alone)-1]
		}
	}
	return alone
}

// step returns the step of a row, nil for outliers.
func (r *row) step() *sim.Step {
	prompts, tokens := r.whole("prefill_requests", 0), r.whole("prefill_tokens", 0)
	cached, decodes := r.whole("prefill_kv_tokens", 0), r.whole("decode_requests", 0)
	context := r.whole("decode_kv_tokens", 0)
	if prompts > maxBatch || decodes > maxBatch || prompts > tokens {
		r.fail(fmt.Errorf("found %d prompts of %d tokens and %d sequences, want at most %d and a "+
			"token each", prompts, tokens, decodes, maxBatch))
	}
	outlier := r.text("outlier") == "1"
	if r.err != nil || outlier || prompts+decodes == 0 || r.number("step_ms") <= 0 {
		return nil
	}
	s := &sim.Step{Decodes: decodes, DecodeTokens: decodes, Context: int64(context)}
	for i := range prompts { // the rows have sums: all prompts are taken to be equal
		s.Prefill = append(s.Prefill, sim.Chunk{New: (tokens + i) / prompts,
			Cached: (cached + i) / prompts, Last: true})
	}
	return s
}

// Times of single steps inside an engine: prompts that are computed together, and sequences that
// decode at a context. TensorRT-LLM 0.5 and FasterTransformer were measured without a server.
func firstTokenRow(_ *catalogs, r *row, t *trial) string {
	t.session = t.Engine.Preset == "trtllm-tensorrt"
	t.inSteps(map[string]*sim.Step{"first token": prefill(t.count, t.prompt, 0)})
	t.Name = fmt.Sprintf("batch %d, %d in", t.count, t.prompt)
	return ""
}

func tokenTimeRow(_ *catalogs, r *row, t *trial) string {
	t.session = t.Engine.Preset == "trtllm-tensorrt"
	t.inSteps(map[string]*sim.Step{"token": decode(t.count, t.prompt)})
	t.Name = fmt.Sprintf("batch %d at %d tokens", t.count, t.prompt)
	return ""
}
