package evidence

import (
	"fmt"
	"math"
	"slices"
	"sync"
)

const (
	// leastBias is the smallest bias that is told, as a logarithm: 5 %.
	leastBias = 0.0488
	// sureBias is the number of standard errors beyond which a bias is no accident.
	sureBias = 2
	// priorFreedom is the number of rows as which the typical spread counts beside a server's own:
	// the degrees of freedom that the fit and the ranges take errors to have.
	priorFreedom = 4
	// manyRows is the number of rows from which on a server tells its own spread.
	manyRows = 5
)

// bias returns the mean of the logarithms of measured over predicted times of a server, and its
// standard error:
//
//	se² = s²/√n + leastOwn²,  s² = (4·s₀² + (n−1)·sd²) / (n+3)
//
// where sd is the standard deviation of the n rows, and s₀ is that of a typical server. n rows of
// one server count as √n, as in the fit, because they share a machine and a client; a repeat of the
// server would differ by leastOwn.
func (e *Error) bias() (mean, standardError float64) {
	mean, squares := e.moments()
	n, typical := float64(e.Rows), typicalSpreads()[e.Quantity]
	variance := (float64(priorFreedom*typical*typical) + squares) / (priorFreedom + n - 1)
	return mean, math.Sqrt(variance/math.Sqrt(n) + float64(leastOwn*leastOwn))
}

// biasInWords tells the bias of predictions for a server; "" where its rows show none.
func (e *Error) biasInWords() string {
	if e.Residuals == "" {
		return ""
	}
	mean, standardError := e.bias()
	far := math.Abs(mean) / standardError
	if math.Abs(mean) < leastBias || far <= sureBias {
		return ""
	}
	if e.Quantity == Rate {
		mean = -mean // the residual is that of the time for a token
	}
	return fmt.Sprintf(" Measured %ss are %.3g times the predicted ones, typically: that is %.2g "+
		"standard errors from 1.", e.Quantity, math.Exp(mean), far)
}

// moments returns the mean of the residuals of a server's rows, and the sum of the squares of their
// differences from it. An outlier counts as mostOff.
func (e *Error) moments() (mean, squares float64) {
	rows := e.Residuals.Rows()
	for i := range rows {
		rows[i].Off = max(-mostOff, min(mostOff, rows[i].Off))
		mean += rows[i].Off / float64(len(rows))
	}
	for _, r := range rows {
		squares += float64((r.Off - mean) * (r.Off - mean))
	}
	return mean, squares
}

// typicalSpreads returns by metric the standard deviation of the rows of a server: the median over
// the servers with manyRows or more, since a few are spread much wider.
var typicalSpreads = sync.OnceValue(func() map[string]float64 {
	deviations := map[string][]float64{}
	list := measured()
	for i := range list {
		if e := &list[i]; e.Rows >= manyRows {
			_, squares := e.moments()
			deviations[e.Quantity] = append(deviations[e.Quantity],
				math.Sqrt(squares/float64(e.Rows-1)))
		}
	}
	spreads := map[string]float64{}
	for metric, list := range deviations {
		slices.Sort(list)
		spreads[metric] = list[len(list)/2]
	}
	return spreads
})
