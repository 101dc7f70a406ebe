package fit

import (
	"cmp"
	"context"
	"math"
	"slices"

	"github.com/llmsim/llmsim/internal/validation"
)

// problem is rows of measurements and the parameters on which their predictions depend.
type problem struct {
	data       *validation.Data // what is fitted to
	rows       []row
	parameters []parameter
	// kinds are the kinds of parameters.
	kinds   []kind
	shipped *values
	// links names the constants of the link within a node by accelerator.
	links map[string]string
	// progress tells people what is going on.
	progress func(string)
}

// newProblem looks on what the predictions of the data depend. It also returns the report of the shipped constants.
func newProblem(ctx context.Context, data *validation.Data, progress func(string)) (*problem, *validation.Report, error) {
	w := newWitness()
	all, err := data.Compare(ctx, w.physics())
	if err != nil {
		return nil, nil, err
	}
	p := &problem{data: thin(data, all), shipped: w.shipped, parameters: parameters(w.shipped), links: w.links, progress: progress}
	some, err := p.data.Compare(ctx, w.physics())
	if err != nil {
		return nil, nil, err
	}
	p.rows = rowsOf(some)
	p.connect()
	return p, all, nil
}

// connect notes on which parameters each row may depend.
func (p *problem) connect() {
	places := map[kind]map[string]int{} // by owner
	for j := range p.parameters {
		k := &p.parameters[j]
		if places[k.kind] == nil {
			places[k.kind] = map[string]int{}
			p.kinds = append(p.kinds, k.kind)
		}
		places[k.kind][k.owner] = j
	}
	for i := range p.rows {
		r := &p.rows[i]
		owner := map[scope]string{accelerator: r.GPU, link: p.links[r.GPU], engine: family(cmp.Or(r.Engine, launcher))}
		for _, kind := range p.kinds {
			place, ok := places[kind][owner[kind.scope]]
			if !ok || r.Engine == "" && kind.scope == engine && kind != launched {
				place = -1
			}
			r.parameters = append(r.parameters, place)
		}
	}
}

// prior is how improbable the parameters are without measurements, after a step from x.
func (p *problem) prior(x point, step []float64) float64 {
	sum := 0.0
	for j := range x {
		z := (x[j] + step[j] - p.parameters[j].centre) / p.parameters[j].deviation
		sum += z * z / 2
	}
	return sum
}

// predict returns the errors of the rows at x.
func (p *problem) predict(ctx context.Context, x point) ([]float64, error) {
	report, err := p.data.Compare(ctx, p.valuesAt(x).physics())
	if err != nil {
		return nil, err
	}
	return logErrors(report, p.rows), nil
}

// nudge is the change of a parameter, in logarithms, by which slopes are found: larger than the jumps that rounding to steps and
// batches makes, smaller than what bends the loss.
const nudge = 0.03

// linearise finds the slopes of all rows around x, where their errors are known.
func (p *problem) linearise(ctx context.Context, x point, errors []float64) (*linearised, error) {
	l := &linearised{problem: p, at: x, errors: errors, slopes: make([][]float64, len(p.rows))}
	for i := range l.slopes {
		l.slopes[i] = make([]float64, len(p.kinds))
	}
	for k, kind := range p.kinds {
		moved := slices.Clone(x)
		for j := range p.parameters {
			if p.parameters[j].kind == kind {
				moved[j] -= nudge
			}
		}
		touched := p.data.Where(func(table string, g validation.Group) bool { return kind.touches(table, &g) })
		report, err := touched.Compare(ctx, p.valuesAt(moved).physics())
		if err != nil {
			return nil, err
		}
		nudged := logErrors(report, p.rows)
		for i := range p.rows {
			if slope := (errors[i] - nudged[i]) / nudge; !math.IsNaN(slope) {
				l.slopes[i][k] = slope
			}
		}
	}
	return l, nil
}

// weights returns the weights of the rows that keep accepts, and 0 for others.
func (p *problem) weights(keep func(*row) bool) []float64 {
	w := make([]float64, len(p.rows))
	for i := range p.rows {
		if keep(&p.rows[i]) {
			w[i] = p.rows[i].weight
		}
	}
	return w
}

// loss is what is minimised, at x.
func (p *problem) loss(x point, errors, weights []float64) float64 {
	sum := p.prior(x, make([]float64, len(x)))
	for i, e := range errors {
		if !math.IsNaN(e) && weights[i] > 0 {
			loss, _, _ := robust(e / p.rows[i].deviation)
			sum += weights[i] * loss
		}
	}
	return sum
}
