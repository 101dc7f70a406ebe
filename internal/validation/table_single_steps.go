package validation

import (
	"context"
	"fmt"

	"github.com/llmsim/llmsim/sim"
)

// Times of single steps inside an engine: prompts that are computed together, and sequences that
// decode at a context.
var (
	firstTokenColumns = []string{"model", "gpu", "dtype", "tensor_parallel", "engine", "isl",
		"batch", "ttft_ms"}
	tokenTimeColumns = []string{"model", "gpu", "dtype", "tensor_parallel", "engine", "batch",
		"context", "token_ms"}
)

// singleStep is one step of an engine.
type singleStep struct {
	deployment
	place
	step     *sim.Step
	measured []measurement
}

func readFirstTokens(c *catalogs, t *table) []experiment {
	return readSingleSteps(c, t, figure{"ttft_ms", "first token", "ms", 1},
		func(r *row) (*sim.Step, string) {
			batch, prompt := r.batch("batch"), r.count("isl")
			return prefill(batch, prompt, 0), fmt.Sprintf("batch %d, %d in", batch, prompt)
		})
}

func readTokenTimes(c *catalogs, t *table) []experiment {
	return readSingleSteps(c, t, figure{"token_ms", "token", "ms", 1},
		func(r *row) (*sim.Step, string) {
			batch, context := r.batch("batch"), r.count("context")
			return decode(batch, context), fmt.Sprintf("batch %d at %d tokens", batch, context)
		})
}

func readSingleSteps(c *catalogs, t *table, f figure,
	describe func(r *row) (*sim.Step, string)) []experiment {
	var list []experiment
	t.each(func(r *row) {
		engine, err := parseEngine(r.required("engine"))
		if err != nil {
			r.fail(err)
		}
		s := &singleStep{deployment: c.deploy(r, r.required("model"), r.required("gpu"),
			r.required("dtype"), r.count("tensor_parallel")), measured: r.measured([]figure{f})}
		s.step, s.name = describe(r)
		if r.err != nil {
			return
		}
		s.engine = engine
		s.Group, s.file, s.line = s.group(), t.file, r.line
		list = append(list, s)
	})
	return list
}

func (s *singleStep) at() place { return s.place }

// compare implements experiment.
func (s *singleStep) compare(_ context.Context, p *Physics) ([]Comparison, error) {
	clock, err := s.clock(p)
	if err != nil {
		return nil, err
	}
	ms := clock.Duration(s.step).Milliseconds()
	return s.place.compare(s.measured, map[string]float64{"first token": ms, "token": ms}), nil
}
