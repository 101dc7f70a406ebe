package fit

import (
	"context"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"
)

// leastGain is by how much a factor has to lower the loss to be fitted: the logarithm of how many
// times more probable what was measured is with it, at the best factors.
const leastGain = 3

// leastSpan is the ratio of the largest to the smallest load from which a factor is fitted as a
// function of load.
const leastSpan = 2

// asked reports whether the data can ask for a factor: for a round trip, the first tokens were
// timed; for load, the runs have loads that differ by leastSpan.
func (p *problem) asked(f *Factor) bool {
	if f.trip() {
		return slices.ContainsFunc(p.data, func(d datum) bool { return d.quantity == TTFT })
	}
	least, most := p.users()
	held := false
	for i := range len(p.data) + len(p.steps) {
		held = held || p.datum(i).held
	}
	return f.Asked && held && most > 0 && most >= leastSpan*least
}

// users returns the smallest and the largest mean numbers of requests in flight of the runs; 0
// where they are not known.
func (p *problem) users() (least, most float64) {
	for i := range p.runs {
		for _, users := range p.runs[i].Users() {
			if most == 0 || users < least {
				least = users
			}
			most = max(most, users)
		}
	}
	return math.Round(least*100) / 100, math.Round(most*100) / 100
}

// solveWithAsked solves without the factors that data have to ask for, and then with each of them.
// A factor stays free if it lowers the loss by leastGain and differs from its neutral value by more
// than its standard deviation; load also has to lower the mean error of what was held out. It
// returns the problem with the factors that stayed free.
func (p *problem) solveWithAsked(ctx context.Context) (*problem, *solution, error) {
	s, err := p.solve(ctx, make(point, len(p.free)))
	if err != nil {
		return nil, nil, err
	}
	for j, f := range Factors() {
		if !p.asked(&f) {
			continue
		}
		q := *p
		q.free = slices.Clone(p.free)
		q.free[j] = true
		from := make(point, len(q.free)) // the others may be where the slope of load leads nowhere
		if f.Name != "load" {
			from = s.at
			if gain, err := q.promised(ctx, s, j); err != nil {
				return nil, nil, err
			} else if gain < leastGain {
				continue
			}
		}
		t, err := q.solve(ctx, from)
		if err != nil {
			return nil, nil, err
		}
		better := p.loss(s.at, s.predicted)-q.loss(t.at, t.predicted) >= leastGain &&
			math.Abs(t.at[j]) > calibration*math.Sqrt(t.covariance.At(j, j))
		if better && f.Name == "load" {
			before, err := p.heldOut(ctx, s)
			if err != nil {
				return nil, nil, err
			}
			after, err := q.heldOut(ctx, t)
			if err != nil {
				return nil, nil, err
			}
			better = after < before
		}
		if better {
			p, s = &q, t
		}
	}
	return p, s, nil
}

// promised returns by how much a step that factor j takes part in would lower the loss, if
// predictions were linear.
func (p *problem) promised(ctx context.Context, s *solution, j int) (float64, error) {
	only := *p
	only.free = make([]bool, len(p.free))
	only.free[j] = true
	slopes, err := only.slopes(ctx, s)
	if err != nil {
		return 0, err
	}
	t := *s
	t.slopes = nil
	for i := range s.slopes {
		row := slices.Clone(s.slopes[i])
		row[j] = slopes[i][j]
		t.slopes = append(t.slopes, row)
	}
	_, g := p.information(&t)
	step, err := p.step(&t)
	if err != nil {
		return 0, err
	}
	return mat.Dot(g, mat.NewVecDense(len(step), step)) / 2, nil
}

// heldOut returns the mean error of what was held out, in logarithms; infinite without any.
func (p *problem) heldOut(ctx context.Context, s *solution) (float64, error) {
	held := func(d *datum) bool { return d.held && all(d) }
	predicted, err := p.predict(ctx, s.at.factors(), held)
	sum, n := 0.0, 0
	for i, x := range predicted {
		if d := p.datum(i); held(d) && x > 0 {
			sum += math.Abs(math.Log(x / d.measured))
			n++
		}
	}
	if n == 0 {
		return math.Inf(1), err
	}
	return sum / float64(n), err
}
