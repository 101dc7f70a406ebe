package validation

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/llmsim/llmsim/internal/validation/accuracy"
	"github.com/llmsim/llmsim/sim"
)

// Every step of a vLLM server (ai-dynamo/aiconfigurator, fpm_golden_runs). The file's name states
// model and parallelism: MODEL__tpN_dpN_epN.csv. The tables do not name the GPU: likely a B300.
const (
	stepGPU     = "b300-sxm"
	stepVersion = "0.20"
	// sampledSteps is the number of steps of each kind that are compared, evenly over the run by
	// their measured times.
	sampledSteps = 40
)

// steps is the steps of one server.
type steps struct {
	deployment
	place accuracy.Place
	list  []timedStep
}

// timedStep is one row.
type timedStep struct {
	line int
	step *sim.Step
	ms   float64
}

func readSteps(c *catalogs, t *table) []experiment {
	parts := nameParts(t.file)
	named := &row{table: t, line: 1, fields: make([]string, len(t.header))}
	spread, ok := parseDegrees(parts[len(parts)-1])
	if !ok {
		t.skip("the name of the file does not say how the model is spread")
		return nil
	}
	s := &steps{deployment: c.deploy(named, parts[0], stepGPU, "bf16", spread.tensor)}
	switch {
	case named.err != nil:
		t.skip("%v", named.err)
		return nil
	case spread.data > 1:
		t.skip("only one of the data-parallel ranks is logged, which waits for the others")
		return nil
	}
	s.Engine.Preset, s.version = "vllm-v1", stepVersion
	spread.apply(&s.deployment)
	s.machine = accuracy.Machine("vllm_steps", s.accelerator.Name)
	s.place = accuracy.Place{Group: s.group(), File: t.file, Line: 2, Name: "steps of a run"}
	t.each(func(r *row) {
		if step := r.step(); step != nil && r.err == nil {
			s.list = append(s.list, timedStep{r.line, step, r.number("step_ms")})
		}
	})
	s.list = apart(s.list)
	return []experiment{s}
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

func (s *steps) at() accuracy.Place { return s.place }

func (s *steps) rows() []accuracy.Place {
	list := []accuracy.Place{s.place}
	for _, x := range s.list {
		at := s.place
		at.Line, at.Name = x.line, describeStep(x.step)
		list = append(list, at)
	}
	return list
}

// emit returns the server, with the step of the line, or the first for the line of the whole run.
func (s *steps) emit(line int) emission {
	i := max(0, slices.IndexFunc(s.list, func(x timedStep) bool { return x.line == line }))
	if i >= len(s.list) {
		return emission{}
	}
	return s.ofStep(s.list[i].step)
}

// compare implements experiment: some steps of each kind, and the time of all.
func (s *steps) compare(_ context.Context, p *accuracy.Physics) ([]accuracy.Comparison, error) {
	made, err := s.made()
	if err != nil {
		return nil, err
	}
	clock, err := made.clock(p)
	if err != nil {
		return nil, err
	}
	kinds := map[string][]timedStep{}
	measured, predicted := 0.0, 0.0
	for _, x := range s.list {
		name := "decode step"
		if len(x.step.Prefill) > 0 {
			name = "prompt step"
		}
		kinds[name] = append(kinds[name], x)
		measured += x.ms
		predicted += clock.Duration(x.step).Milliseconds()
	}
	if measured == 0 {
		return nil, nil
	}
	list := s.place.One("time of steps", "ms", measured, predicted)
	for _, name := range []string{"prompt step", "decode step"} {
		of := kinds[name]
		slices.SortStableFunc(of, func(a, b timedStep) int { return cmp.Compare(a.ms, b.ms) })
		for i := range min(sampledSteps, len(of)) {
			x := of[i*len(of)/min(sampledSteps, len(of))]
			at := s.place
			at.Line, at.Name = x.line, describeStep(x.step)
			list = append(list,
				at.One(name, "ms", x.ms, clock.Duration(x.step).Milliseconds())...)
		}
	}
	return list, nil
}

// Times of single steps inside an engine: prompts that are computed together, and sequences that
// decode at a context. TensorRT-LLM 0.5 and FasterTransformer were measured without a server.
var firstTokenRows = rowSpec{
	describe: func(_ *catalogs, r *row, t *trial) string {
		t.session = t.Engine.Preset == "trtllm-tensorrt"
		t.inSteps(map[string]*sim.Step{"first token": prefill(t.count, t.prompt, 0)})
		t.Name = fmt.Sprintf("batch %d, %d in", t.count, t.prompt)
		return ""
	},
}

var tokenTimeRows = rowSpec{
	describe: func(_ *catalogs, r *row, t *trial) string {
		t.session = t.Engine.Preset == "trtllm-tensorrt"
		t.inSteps(map[string]*sim.Step{"token": decode(t.count, t.prompt)})
		t.Name = fmt.Sprintf("batch %d at %d tokens", t.count, t.prompt)
		return ""
	},
}
