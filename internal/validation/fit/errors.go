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
