package fit

import (
	"context"
	"fmt"
	"math"
	"slices"
)

// A fit finds the slopes of all rows a few times, and takes a few steps with each, which costs little. It ends where the loss no
// longer falls by enoughGain.
const (
	mostSlopes    = 6
	stepsPerSlope = 4
	enoughGain    = 0.002
)

// solve minimises the loss from x on. It returns where it ends, and the last slopes.
func (p *problem) solve(ctx context.Context, x point) (*linearised, error) {
	errors, err := p.predict(ctx, x)
	if err != nil {
		return nil, err
	}
	weights := p.weights(func(*row) bool { return true })
	loss := p.loss(x, errors, weights)
	for n := 1; ; n++ {
		p.progress(fmt.Sprintf("round %d: loss %.1f over %d rows and %d constants", n, loss, len(p.rows), len(p.parameters)))
		l, err := p.linearise(ctx, x, errors)
		if err != nil {
			return nil, err
		}
		l.weights = weights
		before := loss
		if loss, err = p.descend(ctx, l, loss); err != nil {
			return nil, err
		}
		if n == mostSlopes || loss > before*(1-enoughGain) {
			return l, nil
		}
		x, errors = l.at, l.errors
	}
}

// descend takes steps with the same slopes as long as they lead down, and returns the loss where it ends. Where predictions bend so
// much that a step leads up, it takes a half or a quarter of it.
func (p *problem) descend(ctx context.Context, l *linearised, loss float64) (float64, error) {
	for range stepsPerSlope {
		step, err := l.step()
		if err != nil {
			return 0, err
		}
		lower := false
		for part := 1.0; part >= 0.25 && !lower; part /= 2 {
			x := p.moved(l.at, step, part)
			errors, err := p.predict(ctx, x)
			if err != nil {
				return 0, err
			}
			if newLoss := p.loss(x, errors, l.weights); newLoss < loss {
				l.at, l.errors, loss, lower = x, errors, newLoss, true
			}
		}
		if !lower {
			break
		}
	}
	return loss, nil
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

// known tells which parameters the rows determine: those of which they say more than is believed without them.
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

// refit minimises the loss over the rows that keep accepts, from the solution for all rows and with its slopes. The loss is nearly
// that of the solution's neighbourhood, so that few steps lead to its own minimum, wherever they start.
func (p *problem) refit(ctx context.Context, solution *linearised, keep func(*row) bool) (*values, error) {
	l := *solution
	l.weights = p.weights(keep)
	var err error
	if l.errors, err = p.predict(ctx, l.at); err != nil {
		return nil, err
	}
	if _, err = p.descend(ctx, &l, p.loss(l.at, l.errors, l.weights)); err != nil {
		return nil, err
	}
	v := p.valuesAt(l.at)
	p.forget(v, l.weights)
	return v, nil
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
