package fit

import (
	"math"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/optimize"
)

// freedom is the number of degrees of freedom of the errors' distribution: few, for some servers
// are not what their rows say.
const freedom = 4.0

// robust is the loss of an error of z deviations, with its first derivative and a curvature: the
// negative logarithm of Student's t distribution, under which an outlier pulls less the further it
// is off (Lange, Little and Taylor, Journal of the American Statistical Association 84, 1989). The
// curvature is the parabola's above the loss that touches it at z, which is never negative.
func robust(z float64) (loss, first, curvature float64) {
	w := (freedom + 1) / (freedom + z*z)
	return (freedom + 1) / 2 * math.Log1p(z*z/freedom), w * z, w
}

// linearised is the loss around a point, where predictions are taken to be linear in the
// parameters.
type linearised struct {
	problem *problem
	prediction
	slopes  [][]float64
	weights []float64 // by row; 0 for rows left out
	free    []bool    // by parameter: whether it may move; nil for all
}

// stepDeviation is how far a parameter is trusted to move along its tangent, in logarithms.
const stepDeviation = 1

// terms calls f with each row's weight, error in deviations and the deviation, after a step.
func (l *linearised) terms(step []float64, f func(i int, weight, z, deviation float64)) {
	for i := range l.problem.rows {
		r := &l.problem.rows[i]
		if l.weights[i] == 0 || math.IsNaN(l.errors[i]) {
			continue
		}
		e := l.errors[i]
		for k, j := range r.parameters {
			if j >= 0 {
				e += l.slopes[i][k] * step[j]
			}
		}
		f(i, l.weights[i], e/r.deviation, r.deviation)
	}
}

func (l *linearised) loss(step []float64) float64 {
	sum := l.problem.prior(l.at, step)
	l.terms(step, func(_ int, weight, z, _ float64) {
		loss, _, _ := robust(z)
		sum += weight * loss
	})
	for _, s := range step {
		sum += s * s / (2 * stepDeviation * stepDeviation)
	}
	return sum
}

func (l *linearised) gradient(grad, step []float64) {
	for j := range step {
		p := &l.problem.parameters[j]
		grad[j] = (l.at[j]+step[j]-p.centre)/(p.deviation*p.deviation) +
			step[j]/(stepDeviation*stepDeviation)
	}
	l.terms(step, func(i int, weight, z, deviation float64) {
		_, first, _ := robust(z)
		for k, j := range l.problem.rows[i].parameters {
			if j >= 0 {
				grad[j] += weight * first / deviation * l.slopes[i][k]
			}
		}
	})
	for j := range grad {
		if !l.moves(j) {
			grad[j] = 0
		}
	}
}

// moves reports whether a parameter is free.
func (l *linearised) moves(j int) bool { return l.free == nil || l.free[j] }

func (l *linearised) hessian(h *mat.SymDense, step []float64) {
	h.Zero()
	for j := range step {
		p := &l.problem.parameters[j]
		h.SetSym(j, j, 1/(p.deviation*p.deviation)+1/(stepDeviation*stepDeviation))
	}
	l.terms(step, func(i int, weight, z, deviation float64) {
		_, _, second := robust(z)
		slopes, places := l.slopes[i], l.problem.rows[i].parameters
		for a, ja := range places {
			if ja < 0 || slopes[a] == 0 || !l.moves(ja) {
				continue
			}
			for b, jb := range places[:a+1] {
				if jb >= 0 && slopes[b] != 0 && l.moves(jb) {
					h.SetSym(ja, jb, h.At(ja, jb)+
						weight*second*slopes[a]*slopes[b]/(deviation*deviation))
				}
			}
		}
	})
}

// step returns the step that makes the loss least, near the point.
func (l *linearised) step() ([]float64, error) {
	start := make([]float64, len(l.at))
	result, err := optimize.Minimize(
		optimize.Problem{Func: l.loss, Grad: l.gradient, Hess: l.hessian}, start,
		&optimize.Settings{GradientThreshold: 1e-4, MajorIterations: 50}, &optimize.Newton{})
	if result == nil {
		return nil, err
	}
	// A line search that finds nothing better has arrived.
	return result.X, nil
}

// covariance returns how well the rows determine the parameters, given rows and priors.
func (l *linearised) covariance() (*mat.SymDense, error) {
	n := len(l.at)
	h := mat.NewSymDense(n, nil)
	l.hessian(h, make([]float64, n))
	for j := range n {
		h.SetSym(j, j, h.At(j, j)-1/(stepDeviation*stepDeviation))
	}
	var c mat.Cholesky
	c.Factorize(h)
	return h, c.InverseTo(h)
}
