package fit

import (
	"github.com/llmsim/llmsim/internal/validation/accuracy"
)

// Error is the median absolute relative error of a quantity of a table, in percent, under several
// sets of constants.
type Error struct {
	accuracy.Target
	// N is the number of rows.
	N int `json:"n"`
	// Shipped and Fitted are the errors with the constants that come with the program and with
	// those fitted to all rows.
	Shipped float64 `json:"shipped_pct"`
	Fitted  float64 `json:"fitted_pct"`
	// WithoutModel and WithoutAccelerator are the errors where all rows of the same model, or of
	// the same accelerator, were left out of the fit; nil where that cannot be done.
	WithoutModel       *float64 `json:"without_model_pct"`
	WithoutAccelerator *float64 `json:"without_accelerator_pct"`
	// Ratio is the larger of the errors left out over Fitted; 0 where nothing can be left out. A
	// fit with a constant for each server has any ratio, one that describes machines about 1.
	Ratio float64 `json:"left_out_over_fitted,omitempty"`
}

// mostRatio is the ratio of the errors left out and in the fit that is told as too large.
const mostRatio = 1.3

// ratio returns the larger of the errors left out over the fitted one.
func (e *Error) ratio() float64 {
	worst := 0.0
	for _, without := range []*float64{e.WithoutModel, e.WithoutAccelerator} {
		if without != nil {
			worst = max(worst, *without)
		}
	}
	if e.Fitted == 0 {
		return 0
	}
	return worst / e.Fitted
}

// errorsOf compares the reports. Quantities with a target come first, then the other ones that are
// fitted to.
func errorsOf(shipped, fitted, models, accelerators *accuracy.Report) []Error {
	var list []Error
	before := lines(shipped)
	after, noModel, noAccelerator := byTarget(lines(fitted)), byTarget(lines(models)),
		byTarget(lines(accelerators))
	for _, line := range before {
		e := Error{Target: line.Target, N: line.N, Shipped: line.Median,
			Fitted: after[line.Target].Median}
		if without, ok := noModel[line.Target]; ok && !isKernelTable(line.Table) {
			e.WithoutModel = &without.Median
		}
		if without, ok := noAccelerator[line.Target]; ok {
			e.WithoutAccelerator = &without.Median
		}
		e.Ratio = e.ratio()
		list = append(list, e)
	}
	return list
}

// lines returns the errors of a report by target, and without a target for other quantities that
// are fitted to.
func lines(r *accuracy.Report) []accuracy.TargetResult {
	if r == nil {
		return nil
	}
	summary := r.Summary()
	list := summary.Targets
	aimed := map[[2]string]bool{}
	for _, t := range list {
		aimed[[2]string{t.Table, t.Quantity}] = true
	}
	for _, t := range summary.Tables {
		for _, q := range t.Quantities {
			if find(t.Name, q.Quantity) != nil && !aimed[[2]string{t.Name, q.Quantity}] {
				list = append(list,
					accuracy.TargetResult{
						Target: accuracy.Target{Table: t.Name, Quantity: q.Quantity}, N: q.N,
						Median: q.Median})
			}
		}
	}
	return list
}

func byTarget(list []accuracy.TargetResult) map[accuracy.Target]accuracy.TargetResult {
	m := map[accuracy.Target]accuracy.TargetResult{}
	for _, r := range list {
		m[r.Target] = r
	}
	return m
}
