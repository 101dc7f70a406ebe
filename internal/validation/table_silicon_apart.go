package validation

import (
	"context"
	"fmt"
)

var siliconApartColumns = []string{
	"mode", "source", "backend", "model", "gpu", "precision", "isl", "osl", "concurrency", "prefill_workers", "prefill_tp", "prefill_dp",
	"prefill_moe_ep", "decode_workers", "decode_tp", "decode_dp", "decode_moe_ep", "ttft_ms", "tpot_ms",
}

// siliconApart is clients of servers with prefill and decode apart.
type siliconApart struct {
	apart
	place
	count, prompt, output int
	measured              []measurement
}

// readSiliconApart reads servers with prefill and decode apart.
func readSiliconApart(c *catalogs, t *table) []experiment {
	var list []experiment
	t.each(func(r *row) {
		if r.text("mode") != "disagg" {
			return
		}
		if e := c.siliconPools(r); e != nil {
			list = append(list, e)
		}
	})
	return list
}

// siliconPools returns what a row describes, or nil where the row fails. Where the number of workers is not published, one of each
// is taken.
func (c *catalogs) siliconPools(r *row) experiment {
	engine, err := parseEngine(r.required("backend"))
	if err != nil {
		r.fail(err)
	}
	s := &siliconApart{
		count: r.batch("concurrency"), prompt: r.count("isl"), output: r.count("osl"), measured: r.measured(siliconFigures),
	}
	for _, end := range []struct {
		name string
		pool *pool
	}{{"prefill", &s.prefill}, {"decode", &s.decode}} {
		d := c.deploy(r, r.required("model"), r.required("gpu"), r.required("precision"), r.count(end.name+"_tp"))
		d.spread(r, end.name+"_dp", end.name+"_moe_ep")
		if r.err != nil {
			return nil
		}
		if d.tensor > 16 && d.data == 0 { // the accelerators of a wide-EP worker, whose attention is data-parallel
			d.data, d.tensor = d.tensor, 1
		}
		d.engine = engine
		d.setDefaults()
		d.narrowCache()
		*end.pool = pool{deployment: d, workers: r.optionalCount(end.name+"_workers", 1)}
	}
	s.prefill.tokenBudget = max(16384, s.prompt) * max(1, s.prefill.data)
	s.decode.maxSequences = max(s.decode.maxSequences, s.count)
	s.decode.tokenBudget = max(s.decode.tokenBudget, s.decode.maxSequences)
	known := "workers unknown, "
	if r.text("prefill_workers") != "" && r.text("decode_workers") != "" {
		known = fmt.Sprintf("%d prefill, %d decode, ", s.prefill.workers, s.decode.workers)
	}
	if s.prefill.workers > maxBatch || s.decode.workers > maxBatch {
		r.fail(fmt.Errorf("workers: found %d and %d, want at most %d", s.prefill.workers, s.decode.workers, maxBatch))
		return nil
	}
	s.place = place{Group: s.decode.group(), file: r.table.file, line: r.line}
	s.name = fmt.Sprintf("%sconcurrency %d, %d in, %d out", known, s.count, s.prompt, s.output)
	return s
}

func (s *siliconApart) at() place { return s.place }

// compare implements experiment.
func (s *siliconApart) compare(ctx context.Context, p *Physics) ([]Comparison, error) {
	load, err := closedLoop(s.count, waves(s.count), s.prompt, s.output, drawnLength)
	if err != nil {
		return nil, err
	}
	all, err := s.serve(ctx, p, load)
	if err != nil {
		return nil, err
	}
	return s.place.compare(s.measured, all.figuresOfWaves(s.count)), nil
}
