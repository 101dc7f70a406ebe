package validation

import (
	"context"
	"fmt"
	"slices"

	"github.com/llmsim/llmsim/hardware"
	"github.com/llmsim/llmsim/internal/validation/accuracy"
	servers "github.com/llmsim/llmsim/scenarios/deployment"
	"github.com/llmsim/llmsim/sim"
)

// A trial is a server of a row under a load, with what was measured of it. Most tables consist
// of trials: a rowSpec says which load and which limits their columns are about.
type trial struct {
	deployment
	accuracy.Place
	measured []accuracy.Measurement
	// count is the number of clients, of requests or of sequences; prompt and output are lengths in
	// tokens; drawn lengths are at least the share least of them.
	count, prompt, output int
	least                 float64
	// load returns the requests; figures sums up what became of them. Where figures is nil, they
	// are means and percentiles of latencies, and the output rate.
	load    func() (sim.Source, error)
	figures func(*outcome) map[string]float64
	// steps predicts figures from single steps; nil where a load is simulated.
	steps func(*accuracy.Physics) (map[string]float64, error)
	// full returns the mean time of a step in seconds and what it asks of an accelerator, where
	// the batch is always full, of count sequences; nil elsewhere.
	full func(*accuracy.Physics) (mean float64, usage hardware.Usage, err error)
	// apart is the servers where prefill and decode are apart; nil for one server.
	apart *disaggregated
	// rehearsable reports whether slopes of the figures follow from a sample of steps.
	rehearsable bool
}

// rowSpec says what the rows of a table are.
type rowSpec struct {
	// chooses reports whether the row belongs to the table; refuses returns why a row is left out,
	// or "". Both may be nil.
	chooses func(*row) bool
	refuses func(*row) string
	// format returns the number format of the weights in place of the column of dtypes, if not nil.
	format func(*row) string
	// describe sets the limits, the load and the name of a trial from its row, and the engine where
	// the kind has no column for it. It returns why the row is left out, or "".
	describe func(c *catalogs, r *row, t *trial) (why string)
}

// trials returns what reads a table of such rows.
func trials(s rowSpec) func(c *catalogs, t *table) []experiment {
	return func(c *catalogs, t *table) []experiment {
		return t.trials(func(r *row) (x *trial, why string) {
			if s.chooses != nil && !s.chooses(r) {
				return nil, ""
			}
			if s.refuses != nil {
				if why := s.refuses(r); why != "" {
					return nil, why
				}
			}
			if x = s.trial(c, r); r.err == nil {
				why = s.describe(c, r, x)
			}
			return x, why
		})
	}
}

// trials returns the trials of rows. Of a row that does not belong to the table read returns nil,
// and of one that is left out why.
func (t *table) trials(read func(*row) (x *trial, why string)) (list []experiment) {
	t.each(func(r *row) {
		x, why := read(r)
		switch {
		case r.err != nil:
		case why != "":
			t.skip("%s", why)
		case x != nil:
			x.Group, x.File, x.Line = x.group(), t.file, r.line
			list = append(list, x)
		}
	})
	return list
}

// trial returns the server of a row, with what was measured of it.
func (s *rowSpec) trial(c *catalogs, r *row) *trial {
	k, tensor := r.table.kind, 1
	if k.Tensor != "" {
		tensor = r.countOf(k.Tensor)
	}
	format := s.format
	if format == nil {
		format = func(r *row) string { return r.value(k.DType) }
	}
	x := &trial{measured: r.figures(), least: 1}
	x.deployment = c.deploy(r, r.value(k.Model), r.value(k.GPU), format(r), tensor)
	if k.Engine != "" {
		x.engine = r.engine(k.Engine)
	}
	if k.Count != "" {
		x.count = r.batch(k.Count)
	}
	if k.Prompt != "" {
		x.prompt = r.count(k.Prompt)
	}
	if k.Output != "" {
		x.output = r.count(k.Output)
	}
	return x
}

func (t *trial) at() accuracy.Place { return t.Place }

// key returns the server's; servers apart have no key.
func (t *trial) key() servers.Key {
	if t.apart != nil {
		return servers.Key{}
	}
	return t.deployment.key()
}

// compare implements experiment.
func (t *trial) compare(ctx context.Context, p *accuracy.Physics) ([]accuracy.Comparison, error) {
	if t.steps != nil {
		predicted, err := t.steps(p)
		return t.Place.Compare(t.measured, predicted), err
	}
	load, err := t.load()
	if err != nil {
		return nil, err
	}
	serve := t.serve
	if t.apart != nil {
		serve = t.apart.serve
	}
	all, err := serve(ctx, p, load)
	if err != nil {
		return nil, err
	}
	figures := (*outcome).latenciesAndRate
	if t.figures != nil {
		figures = t.figures
	}
	list := t.Place.Compare(t.measured, figures(all))
	if t.rehearsable {
		list = rehearsable(list, all.rehearsal)
	}
	return list, nil
}

// drop removes measured figures that say nothing, and counts why.
func (t *trial) drop(r *row, why string, drops func(quantity string) bool) {
	before := len(t.measured)
	t.measured = slices.DeleteFunc(t.measured,
		func(m accuracy.Measurement) bool { return drops(m.Quantity) })
	if len(t.measured) < before {
		r.table.skip("%s", why)
	}
}

// closed makes the load of the trial its number of clients; each sends its next request when the
// last one is answered.
func (t *trial) closed() {
	t.load = func() (sim.Source, error) {
		return closedLoop(t.count, waves(t.count), t.prompt, t.output, t.least)
	}
	t.figures = func(o *outcome) map[string]float64 { return o.figuresOfWaves(t.count) }
	t.rehearsable = true
	t.Name = fmt.Sprintf("concurrency %d, %d in, %d out", t.count, t.prompt, t.output)
}

// atOnce makes the load of the trial its number of requests, which are queued at once.
func (t *trial) atOnce() {
	t.load = func() (sim.Source, error) { return atOnce(t.count, t.prompt, t.output), nil }
	t.rehearsable = true
	t.Name = fmt.Sprintf("%d requests, %d in, %d out", t.count, t.prompt, t.output)
}

// inSteps predicts quantities as the times of single steps, in ms.
func (t *trial) inSteps(of map[string]*sim.Step) {
	t.steps = func(p *accuracy.Physics) (map[string]float64, error) {
		clock, err := t.clock(p)
		if err != nil {
			return nil, err
		}
		times := map[string]float64{}
		for quantity, step := range of {
			times[quantity] = clock.Duration(step).Milliseconds()
		}
		return times, nil
	}
}

// inKernels predicts quantities from the times of the kernels of a step, by name.
func (t *trial) inKernels(kind allReduceKind, step *sim.Step,
	sum func(kernelTimes) map[string]float64) {
	t.steps = func(p *accuracy.Physics) (map[string]float64, error) {
		k, err := t.kernels(p, kind)
		if err != nil {
			return nil, err
		}
		return sum(k.times(step)), nil
	}
}

// measuredWithDrafts names the measured and the predicted figures of a trial so.
func (t *trial) measuredWithDrafts() {
	for i := range t.measured {
		t.measured[i].Quantity += accuracy.WithDrafts
	}
	t.figures = func(o *outcome) map[string]float64 {
		figures := map[string]float64{}
		for name, value := range o.latenciesAndRate() {
			figures[name+accuracy.WithDrafts] = value
		}
		return figures
	}
	t.rehearsable = false
}
