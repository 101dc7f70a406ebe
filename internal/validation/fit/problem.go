package fit

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/gonum/mat"

	"github.com/llmsim/llmsim/hardware"
	"github.com/llmsim/llmsim/internal/validation"
	"github.com/llmsim/llmsim/internal/validation/accuracy"
	"github.com/llmsim/llmsim/models"
)

// problem is rows of measurements and the parameters on which their predictions depend.
type problem struct {
	data       *validation.Data // what is fitted to
	rows       []row
	parameters []parameter
	// kinds are the kinds of parameters.
	kinds []kind
	// only names the owners that are fitted; nil for all.
	only    []string
	shipped *values
	models  *models.Catalog
	catalog hardware.Catalog
	// accelerators names the constants by accelerator, links by the link within a node.
	accelerators, links map[string]string
	// otherMemory has the accelerators whose shares of the bandwidth are means, of no parameter.
	otherMemory map[string]bool
	// hosts is the deviation of the hosts of machines from the typical ones, in logarithms.
	hosts float64
	// progress says what is going on, for people.
	progress func(string)
}

// newProblem looks on what the predictions of the data depend. It also returns the report of the
// shipped constants.
func newProblem(ctx context.Context, data *validation.Data, owners []string,
	progress func(string)) (*problem, *accuracy.Report, error) {
	known, err := models.Load()
	if err != nil {
		return nil, nil, err
	}
	catalog, err := hardware.Load()
	if err != nil {
		return nil, nil, err
	}
	w := newWitness()
	all, err := data.Compare(ctx, w.physics())
	if err != nil {
		return nil, nil, err
	}
	list, err := parameters(w.shipped, owners)
	if err != nil {
		return nil, nil, err
	}
	p := &problem{data: thin(data, all), shipped: w.shipped, parameters: list,
		accelerators: w.accelerators, links: w.links, otherMemory: w.otherMemory, models: known,
		catalog:  catalog,
		progress: progress, only: owners}
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
		for _, owner := range k.owners {
			places[k.kind][owner] = j
		}
	}
	for i := range p.rows {
		r := &p.rows[i]
		owner := map[scope]string{accelerator: p.accelerators[r.GPU], link: p.linkOf(r),
			engine:  family(cmp.Or(r.Engine, launcher)),
			machine: r.Machine(r.table)}
		if strings.HasPrefix(r.Engine, apart) {
			delete(owner, accelerator)
		}
		if a, err := p.models.Lookup(r.Model); err == nil && a.Experts() != nil {
			owner[routing] = models.RoutingOf(a.Family, models.Routings()).Name
		}
		for _, kind := range p.kinds {
			name := owner[kind.scope]
			if kind == drawn && name != "" {
				name = models.Routings()[0].Name
			}
			place, ok := places[kind][name]
			if !ok || r.Engine == "" && kind.scope == engine && kind != launched ||
				p.otherMemory[r.GPU] && kind.isShare() {
				place = -1
			}
			r.parameters = append(r.parameters, place)
		}
	}
}

// linkOf names the constants of the link between the accelerators of a row.
func (p *problem) linkOf(r *row) string {
	a, err := p.catalog.Accelerator(r.GPU)
	if err != nil {
		return ""
	}
	return p.links[accuracy.ScaleUp(r.table, &a)]
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

// prediction is what constants make of the rows.
type prediction struct {
	at     point
	errors []float64
	// found are the comparisons themselves by row, nil without one.
	found []*accuracy.Comparison
}

// predict simulates the rows at x.
func (p *problem) predict(ctx context.Context, x point) (*prediction, error) {
	report, err := p.data.Compare(ctx, p.valuesAt(x).physics())
	if err != nil {
		return nil, err
	}
	errors, found := logErrors(report, p.rows)
	return &prediction{x, errors, found}, nil
}

// near returns the errors at x, which is near a prediction. Rows that can be rehearsed are not
// simulated again, and of others only the ones that it accepts; the rest keep the errors that they
// had.
func (p *problem) near(ctx context.Context, from *prediction, x point,
	accepts func(table string, g *accuracy.Group) bool) ([]float64, error) {
	physics := p.valuesAt(x).physics()
	errors := slices.Clone(from.errors)
	err := validation.InParallel(ctx, len(p.rows), func(i int) {
		r := &p.rows[i]
		if c := from.found[i]; c != nil && accepts(r.table, &r.Group) {
			if value, ok := c.Rehearse(&physics); ok && value > 0 {
				errors[i] = math.Log(value / c.Measured)
			}
		}
	})
	if err != nil {
		return nil, err
	}
	rest := p.data.Where(func(table string, g accuracy.Group) bool {
		return !rehearsed[table] &&
			accepts(table, &g)
	})
	report, err := rest.Compare(ctx, physics)
	if err != nil {
		return nil, err
	}
	simulated, found := logErrors(report, p.rows)
	for i := range errors {
		if found[i] != nil {
			errors[i] = simulated[i]
		}
	}
	return errors, nil
}

// nudge is the change of a parameter, in logarithms, by which slopes are found: larger than the
// jumps that rounding to steps and batches makes, smaller than what bends the loss.
const nudge = 0.03

// linearise finds the slopes of all rows around a prediction.
func (p *problem) linearise(ctx context.Context, around *prediction) (*linearised, error) {
	l := &linearised{problem: p, prediction: *around, slopes: make([][]float64, len(p.rows))}
	for i := range l.slopes {
		l.slopes[i] = make([]float64, len(p.kinds))
	}
	for k, kind := range p.kinds {
		moved := slices.Clone(around.at)
		for j := range p.parameters {
			if p.parameters[j].kind == kind {
				moved[j] -= nudge
			}
		}
		nudged, err := p.near(ctx, around, moved, func(table string, g *accuracy.Group) bool {
			return p.touches(kind, table, g)
		})
		if err != nil {
			return nil, err
		}
		for i := range p.rows {
			if slope := (around.errors[i] - nudged[i]) / nudge; !math.IsNaN(slope) {
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

// A fit finds the slopes of all rows a few times, and takes a few steps with each set of slopes,
// which costs little. It ends when the loss falls by less than enoughGain.
const (
	mostSlopes    = 8
	stepsPerSlope = 3
	enoughGain    = 0.002
)

// solve minimises the loss from x on, over the free parameters. It returns where it ends, and the
// last slopes. Priors are pooled where all are free, which nil says.
func (p *problem) solve(ctx context.Context, x point, free []bool) (*linearised, error) {
	around, err := p.predict(ctx, x)
	if err != nil {
		return nil, err
	}
	weights := p.weights(func(*row) bool { return true })
	for n := 1; ; n++ {
		if free == nil {
			p.pool(around.at)
		}
		loss := p.loss(around.at, around.errors, weights)
		p.progress(fmt.Sprintf("round %d: loss %.1f over %d rows and %d constants", n, loss,
			len(p.rows), len(p.parameters)))
		l, err := p.linearise(ctx, around)
		if err != nil {
			return nil, err
		}
		l.weights, l.free = weights, free
		if err = p.descend(ctx, l); err != nil {
			return nil, err
		}
		if n == mostSlopes || p.loss(l.at, l.errors, weights) > loss*(1-enoughGain) {
			return l, nil
		}
		around = &l.prediction
	}
}

// descend takes steps with the same slopes as long as they lead down, by rehearsal, and then
// simulates where they end. Where predictions bend so much that a step leads up, it takes a half or
// a quarter of it; where the simulation does not agree, it goes back half of the way or more.
func (p *problem) descend(ctx context.Context, l *linearised) error {
	start := l.prediction
	loss := p.loss(l.at, l.errors, l.weights)
	first := loss
	for range stepsPerSlope {
		step, err := l.step()
		if err != nil {
			return err
		}
		lower := false
		for part := 1.0; part >= 0.25 && !lower; part /= 2 {
			x := p.moved(l.at, step, part)
			errors, err := p.near(ctx, &start, x, func(string, *accuracy.Group) bool {
				return true
			})
			if err != nil {
				return err
			}
			if newLoss := p.loss(x, errors, l.weights); newLoss < loss {
				l.at, l.errors, loss, lower = x, errors, newLoss, true
			}
		}
		if !lower {
			break
		}
	}
	way := make([]float64, len(l.at))
	for j := range way {
		way[j] = l.at[j] - start.at[j]
	}
	l.prediction = start
	for part := 1.0; part >= 0.25; part /= 2 {
		end, err := p.predict(ctx, p.moved(start.at, way, part))
		if err != nil {
			return err
		}
		if p.loss(end.at, end.errors, l.weights) < first {
			l.prediction = *end
			break
		}
	}
	return nil
}

// moved returns x and a part of a step, within the ranges of the parameters.
func (p *problem) moved(x point, step []float64, part float64) point {
	next := slices.Clone(x)
	for j := range next {
		if step[j] != 0 {
			next[j] = p.within(j, next[j]+part*step[j])
		}
	}
	return next
}

// mostVariance is the share of its prior's variance that a constant may keep and count as
// determined: at half, rows and prior are equally precise (MacKay's γ = 1/2, see effective).
const mostVariance = 0.5

// known reports which parameters the rows determine, and the deviations of all: the parameter of
// which they say least is held at its prior, which may let them tell others, until no parameter is
// left that keeps more than mostVariance. Of two that rows tell only together, one is determined.
func (p *problem) known(l *linearised) (known []bool, deviations []float64, err error) {
	c, err := l.covariance()
	if err != nil {
		return nil, nil, err
	}
	deviations = make([]float64, len(l.at))
	for {
		least, share := -1, mostVariance
		for j := range p.parameters {
			prior := p.parameters[j].deviation
			if s := c.At(j, j) / (prior * prior); deviations[j] == 0 && s > share {
				least, share = j, s
			}
		}
		if least < 0 {
			break
		}
		deviations[least] = p.parameters[least].deviation
		c.SymRankOne(c, -1/c.At(least, least), mat.NewVecDense(len(l.at), mat.Col(nil, least, c)))
	}
	known = make([]bool, len(l.at))
	for j := range known {
		if known[j] = deviations[j] == 0; known[j] {
			deviations[j] = math.Sqrt(c.At(j, j))
		}
	}
	return known, deviations, nil
}

// effective returns how many constants the rows determine in all: the sum over the parameters of
// the share of the prior's variance that the rows take away. It is at most the number of
// parameters, and at most the number of rows (MacKay, Bayesian Interpolation, 1992).
func (p *problem) effective(deviations []float64) float64 {
	sum := 0.0
	for j, d := range deviations {
		prior := p.parameters[j].deviation
		sum += 1 - d*d/(prior*prior)
	}
	return sum
}

// without returns the constants fitted to the rows that keep accepts: a step from the solution for
// all rows, with its slopes. Most of the rows stay, so that the loss is nearly the loss of the
// solution's neighbourhood.
func (p *problem) without(solution *linearised, keep func(*row) bool) (*values, []float64, error) {
	l := *solution
	l.weights = p.weights(keep)
	step, err := l.step()
	if err != nil {
		return nil, nil, err
	}
	return p.valuesAt(p.moved(l.at, step, 1)), l.weights, nil
}

// medianError returns the median of the absolute relative errors that belong to logarithmic ones.
func medianError(errors []float64) float64 {
	var list []float64
	for _, e := range errors {
		if !math.IsNaN(e) {
			list = append(list, math.Abs(math.Expm1(e)))
		}
	}
	if len(list) == 0 {
		return 0
	}
	slices.Sort(list)
	return (list[(len(list)-1)/2] + list[len(list)/2]) / 2
}
