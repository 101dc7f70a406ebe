package validation

import (
	"context"
	"fmt"
	"slices"

	"github.com/llmsim/llmsim/hardware"
)

var closedLoopColumns = []string{"backend", "model", "gpu", "dtype", "tensor_parallel", "isl", "osl", "concurrency"}

var closedLoopFigures = []figure{{"ttft_ms", "TTFT mean", "ms", 1}, {"tpot_ms", "TPOT mean", "ms", 1}, {"itl_ms", "TPOT mean", "ms", 1}}

// requestsPerClient is how many requests each client sends. The tables do not say; ten is what AIPerf's guides use.
const requestsPerClient = 10

// variedLength is the least share of the nominal lengths, which vary evenly up to them (the random data sets of the usual
// benchmarks do so). With equal lengths all clients would march in step: first tokens would take two to four times as long as
// measured, on every model.
const variedLength = 0.8

// clients is a server under a fixed number of clients that wait for their answers; no prompt is like another.
type clients struct {
	deployment
	place
	count, prompt, output int
	least                 float64
	measured              []measurement
}

func readClosedLoop(c *catalogs, t *table) []experiment {
	var list []experiment
	t.each(func(r *row) {
		backend, err := parseEngine(r.required("backend"))
		if err != nil {
			r.fail(err)
		}
		d := c.deploy(r, r.required("model"), r.required("gpu"), r.required("dtype"), r.count("tensor_parallel"))
		l := &clients{deployment: d, count: r.batch("concurrency"), prompt: r.count("isl"), output: r.count("osl"), least: variedLength, measured: r.measured(closedLoopFigures)}
		if r.err != nil {
			return
		}
		l.engine = backend
		l.setDefaults()
		l.place = place{Group: l.group(), file: t.file, line: r.line, name: fmt.Sprintf("%d clients, %d in, %d out", l.count, l.prompt, l.output)}
		list = append(list, l)
	})
	return list
}

func (l *clients) at() place { return l.place }

// compare implements experiment.
func (l *clients) compare(ctx context.Context, p *Physics) ([]Comparison, error) {
	load, err := closedLoop(l.count, int64(requestsPerClient*l.count), l.prompt, l.output, l.least)
	if err != nil {
		return nil, err
	}
	all, err := l.serve(ctx, p, load)
	if err != nil {
		return nil, err
	}
	return l.place.compare(l.measured, all.figures()), nil
}
