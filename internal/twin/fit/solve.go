package fit

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/llmsim/llmsim/internal/twin/observed"
	"github.com/llmsim/llmsim/internal/units"
	"github.com/llmsim/llmsim/models/steptime"
	"github.com/llmsim/llmsim/scenarios"
)

// problem is the data of a fit, and the server that is to repeat them.
type problem struct {
	server *Server
	runs   []observed.Run
	data   []datum
	steps  []stepGroup
	free   []bool // by factor: whether it can have an effect
}

// errUntimed is the error for requests that cannot be replayed.
var errUntimed = errors.New("found requests without the times at which they were sent, want " +
	"them: without these the load is not known; name their column with --map arrival=COLUMN")

// newProblem prepares a fit.
func newProblem(server *Server, runs []observed.Run, hold float64) (*problem, error) {
	p := &problem{server: server, runs: runs, data: data(runs, hold)}
	simulation, err := server.build(scenarios.Factors{})
	if err != nil {
		return nil, err
	}
	defer simulation.Source.Close()
	clock := simulation.Steps().Clock
	load := simulation.Source.Summary()
	context := max(1, int(load.Prompt+load.Output/2))
	for i := range runs {
		if len(runs[i].Steps) > 0 {
			p.steps = append(p.steps, stepData(i, &runs[i], hold, clock, context)...)
		}
	}
	for i := range runs {
		if r := &runs[i]; r.Load.Untimed {
			return nil, fmt.Errorf("run %s: %w", r.Name, errUntimed)
		}
		if err := runs[i].CheckSummary(); err != nil {
			return nil, err
		}
	}
	if !p.hasFitted() {
		return nil, tooLittle(runs, hold)
	}
	alone := simulation.Servers()[0].Parallel.GPUs() == 1
	for _, f := range Factors() {
		p.free = append(p.free, !f.Asked && !(f.Name == "exchanges" && alone) &&
			!(f.Name == "request" && len(p.data) == 0))
	}
	return p, nil
}

// hasFitted reports whether any datum is fitted to, the rate left out that latencies of requests
// make.
func (p *problem) hasFitted() bool {
	for i := range len(p.data) + len(p.steps) {
		if d := p.datum(i); p.fitted(d) &&
			(d.quantity != Rate || len(p.runs[d.run].Requests) == 0) {
			return true
		}
	}
	return false
}

// tooLittle returns the error for runs without a group that is fitted to: it says what the run with
// most has, and how much is needed.
func tooLittle(runs []observed.Run, hold float64) error {
	requests, steps := 0, 0
	for i := range runs {
		r := &runs[i]
		steps = max(steps, len(r.Steps))
		sent := 0.0
		for j := range r.Intervals {
			if v := &r.Intervals[j]; max(v.TTFT, v.TPOT, v.E2E) > 0 {
				sent += v.Requests
			}
		}
		requests = max(requests, int(sent))
		for _, f := range figures() {
			n := 0
			for j := range r.Requests {
				if q := &r.Requests[j]; !q.Failed && q.Output > 0 && f.measured(q) > 0 {
					n++
				}
			}
			requests = max(requests, n)
		}
	}
	rest := ""
	if hold > 0 {
		rest = fmt.Sprintf(" before the last %s of the time, which is held out (--hold)",
			units.Percent(hold))
	}
	switch {
	case requests > 0:
		return fmt.Errorf("too little to fit to: found %s with latencies in a run, want at least "+
			"%d%s", units.Plural(requests, "request"), fewest, rest)
	case steps > 0:
		return fmt.Errorf("too little to fit to: found %s in a run, want at least %d of prompts, "+
			"of decoding, or of both together%s", units.Plural(steps, "step"),
			fewest*groupsOfSteps, rest)
	}
	return errors.New("nothing to fit to: no run has latencies or times of steps")
}

// predict returns the predicted figure of each datum, then of each group of steps. Runs without
// data that are wanted are not simulated, and their figures are NaN.
func (p *problem) predict(ctx context.Context, f scenarios.Factors,
	wanted func(d *datum) bool) ([]float64, error) {
	list := make([]float64, 0, len(p.data)+len(p.steps))
	outcomes := make([]*requestRecorder, len(p.runs))
	for i := range p.data {
		d := &p.data[i]
		if !wanted(d) {
			list = append(list, math.NaN())
			continue
		}
		if outcomes[d.run] == nil {
			o, err := p.server.run(ctx, f, &p.runs[d.run])
			if err != nil {
				return nil, err
			}
			outcomes[d.run] = o
		}
		list = append(list, d.predicted(outcomes[d.run]))
	}
	if len(p.steps) == 0 {
		return list, nil
	}
	clock, err := p.server.clock(f)
	if err != nil {
		return nil, err
	}
	return append(list, p.times(clock, wanted)...), nil
}

func (p *problem) times(c *steptime.Clock, wanted func(d *datum) bool) []float64 {
	list := make([]float64, len(p.steps))
	for i := range p.steps {
		list[i] = math.NaN()
		if g := &p.steps[i]; wanted(&g.datum) {
			list[i] = g.predict(c)
		}
	}
	return list
}

// datum returns the i-th datum, of requests or of steps.
func (p *problem) datum(i int) *datum {
	if i < len(p.data) {
		return &p.data[i]
	}
	return &p.steps[i-len(p.data)].datum
}

// fitted reports whether a datum is one that is fitted to. The E2E latency is what TTFT and TPOT
// make it, so that it counts only where these are not known; figures of a whole part are in its
// groups' figures.
func (p *problem) fitted(d *datum) bool {
	if d.held {
		return false
	}
	if d.quantity == E2E && slices.ContainsFunc(p.data, func(e datum) bool {
		return e.run == d.run && e.quantity == TPOT
	}) {
		return false
	}
	return !d.whole || !slices.ContainsFunc(p.data, func(e datum) bool {
		return e.run == d.run && !e.whole
	})
}

// robust returns the weight of an error of z deviations: small errors count by their square, large
// ones by their size (soft L1: Charbonnier et al., IEEE Trans. Image Processing 6(2), 1997).
func robust(z float64) float64 { return 1 / math.Sqrt(1+z*z) }

// slopeStep is the step of the slopes, in deviations of the prior: well above the effect of
// requests that change their places in the batch, which would look like a small slope.
const slopeStep = 0.4

// mostRounds bounds the rounds of a fit; each finds the slopes anew. It ends earlier where a round
// gains less than enoughGain.
const (
	mostRounds = 8
	enoughGain = 0.002
)

// leastPart is the least part of a step that is tried: near the capacity of a server, latencies
// follow factors in a straight line over a small part of it only.
const leastPart = 0.01

// solution is where a fit ended.
type solution struct {
	at point
	// slopes are derivatives of the logarithm of each predicted figure by each factor.
	slopes [][]float64
	// covariance is the covariance of the factors' logarithms.
	covariance *mat.SymDense
	predicted  []float64
}

// solve finds the most probable factors, from a point.
func (p *problem) solve(ctx context.Context, from point) (*solution, error) {
	s := &solution{at: slices.Clone(from)}
	var err error
	if s.predicted, err = p.predict(ctx, s.at.factors(), p.fitted); err != nil {
		return nil, err
	}
	for range mostRounds {
		if s.slopes, err = p.slopes(ctx, s); err != nil {
			return nil, err
		}
		loss := p.loss(s.at, s.predicted)
		step, err := p.step(s)
		if err != nil {
			return nil, err
		}
		moved := false
		for part := 1.0; part > leastPart && !moved; part /= 2 {
			next := slices.Clone(s.at)
			for j := range next {
				next[j] += part * step[j]
			}
			next.within()
			predicted, err := p.predict(ctx, next.factors(), p.fitted)
			if err != nil {
				return nil, err
			}
			if p.loss(next, predicted) < loss {
				s.at, s.predicted, moved = next, predicted, true
			}
		}
		if !moved || p.loss(s.at, s.predicted) > (1-enoughGain)*loss {
			break
		}
	}
	if s.slopes, err = p.slopes(ctx, s); err != nil {
		return nil, err
	}
	return s, p.spread(s)
}

// slopeStepFrom returns the step from a value of a logarithm over which a slope is taken.
func (f *Factor) slopeStepFrom(from float64) float64 {
	step := slopeStep * f.Prior
	if least, _ := f.bounds(); from > 0 && from-step >= least {
		return -step
	}
	return step
}

// slopes finds by how much each figure follows each factor.
func (p *problem) slopes(ctx context.Context, s *solution) ([][]float64, error) {
	list := make([][]float64, len(s.predicted))
	for i := range list {
		list[i] = make([]float64, len(s.at))
	}
	for j := range s.at {
		if !p.free[j] {
			continue
		}
		x := slices.Clone(s.at)
		h := Factors()[j].slopeStepFrom(x[j])
		x[j] += h
		there, err := p.predict(ctx, x.factors(), p.fitted)
		if err != nil {
			return nil, err
		}
		for i := range list {
			if slope := math.Log(there[i]/s.predicted[i]) / h; !math.IsNaN(slope) &&
				!math.IsInf(slope, 0) {
				list[i][j] = slope
			}
		}
	}
	return list, nil
}

// residual returns the logarithm of measured over predicted, in deviations, and whether the datum
// counts.
func (p *problem) residual(i int, predicted []float64) (z float64, counts bool) {
	d := p.datum(i)
	z = math.Log(d.measured/predicted[i]) / d.deviation
	return z, p.fitted(d) && !math.IsNaN(z) && !math.IsInf(z, 0)
}

func (p *problem) loss(x point, predicted []float64) float64 {
	sum := 0.0
	for j, f := range Factors() {
		off := x[j] / f.Prior
		sum += off * off / 2
	}
	for i := range predicted {
		if z, counts := p.residual(i, predicted); counts {
			sum += math.Sqrt(1+z*z) - 1
		}
	}
	return sum
}

// information returns the matrix of second derivatives of the loss, and its gradient's negative.
func (p *problem) information(s *solution) (*mat.SymDense, *mat.VecDense) {
	n := len(s.at)
	h, g := mat.NewSymDense(n, nil), mat.NewVecDense(n, nil)
	for j, f := range Factors() {
		h.SetSym(j, j, 1/(f.Prior*f.Prior))
		g.SetVec(j, -s.at[j]/(f.Prior*f.Prior))
	}
	for i := range s.predicted {
		z, counts := p.residual(i, s.predicted)
		if !counts {
			continue
		}
		d, w := p.datum(i).deviation, robust(z)
		for a, slope := range s.slopes[i] {
			g.SetVec(a, g.AtVec(a)+w*z*slope/d)
			for b := range a + 1 {
				h.SetSym(a, b, h.At(a, b)+w*slope*s.slopes[i][b]/(d*d))
			}
		}
	}
	return h, g
}

// step returns the step of Gauss and Newton.
func (p *problem) step(s *solution) ([]float64, error) {
	h, g := p.information(s)
	var c mat.Cholesky
	if !c.Factorize(h) {
		return nil, errors.New("the fit has no single solution")
	}
	var x mat.VecDense
	if err := c.SolveVecTo(&x, g); err != nil {
		return nil, err
	}
	return x.RawVector().Data, nil
}

// spread finds the covariance of the factors. Errors that are larger than their deviations widen
// it.
func (p *problem) spread(s *solution) error {
	h, _ := p.information(s)
	var c mat.Cholesky
	if !c.Factorize(h) {
		return errors.New("the fit has no single solution")
	}
	s.covariance = &mat.SymDense{}
	return c.InverseTo(s.covariance)
}
