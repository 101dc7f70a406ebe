package fit

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/llmsim/llmsim/internal/validation/accuracy"
)

// A fit finds the slopes of all rows a few times, and takes a few steps with each set of slopes,
// which costs little. It ends when the loss falls by less than enoughGain.
const (
	mostSlopes    = 8
	stepsPerSlope = 3
	enoughGain    = 0.002
)

// solve minimises the loss from x on. It returns where it ends, and the last slopes.
func (p *problem) solve(ctx context.Context, x point) (*linearised, error) {
	around, err := p.predict(ctx, x)
	if err != nil {
		return nil, err
	}
	weights := p.weights(func(*row) bool { return true })
	for n := 1; ; n++ {
		p.pool(around.at)
		loss := p.loss(around.at, around.errors, weights)
		p.progress(fmt.Sprintf("round %d: loss %.1f over %d rows and %d constants", n, loss,
			len(p.rows), len(p.parameters)))
		l, err := p.linearise(ctx, around)
		if err != nil {
			return nil, err
		}
		l.weights = weights
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

// known reports which parameters the rows determine: the parameters about which the rows say more
// than the prior does.
func (p *problem) known(l *linearised) (known []bool, deviations []float64, err error) {
	deviations, err = l.deviations()
	if err != nil {
		return nil, nil, err
	}
	known = make([]bool, len(deviations))
	for j, d := range deviations {
		known[j] = d < p.parameters[j].deviation/math.Sqrt2
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
