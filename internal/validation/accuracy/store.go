package accuracy

import (
	_ "embed"
	"sync"

	"github.com/llmsim/llmsim/internal/files"
)

// RowName is where a measured figure stands.
type RowName struct {
	File     string `csv:"file"`
	Line     int    `csv:"line"`
	Quantity string `csv:"quantity"`
}

// Row returns where a comparison stands.
func (c *Comparison) Row() RowName { return RowName{c.File, c.Line, c.Quantity} }

// RowError is a row of the store of errors, from which the gate, goals' groups, biases, ranges and
// what results tell of their accuracy follow: how far off the prediction of a figure is, under the
// constants that ship and under constants that were fitted without it. The latter are logarithms of
// the measured over the predicted time; a rate counts as the time of its inverse, and what only
// goals have, such as power, as it is.
type RowError struct {
	RowName
	// Error is of the constants that ship, in percent, when it was last recorded; nil for figures
	// that no group of the gate has.
	Error *float64 `csv:"error_pct" format:"%.2f"`
	// Group is of a fit without any row of the same engine, accelerator and model; nil for figures
	// that were not left out. Part says in which half of these rows this one is, Half is of a fit
	// without that half, and Other of a fit without the other one; nil where the rows cannot be
	// halved.
	Group *float64 `csv:"group" format:"%.4f"`
	Part  *int     `csv:"part"`
	Half  *float64 `csv:"half" format:"%.4f"`
	Other *float64 `csv:"other_half" format:"%.4f"`
	// Release is of a fit without any row of the engine under a release within a few months; nil
	// where the release is not known by date.
	Release *float64 `csv:"release" format:"%.4f"`
}

// errors.csv has the errors of the tables that the constants were fitted to. A fit writes it
// (llmsim validate DIR --fit), and a test renews the errors of the constants that ship.
//
//go:embed errors.csv
var errorsCSV string

// stored has the rows of errors.csv by their places.
var stored = sync.OnceValue(func() map[RowName]*RowError {
	all := map[RowName]*RowError{}
	list := files.MustReadTable[RowError]("errors.csv", errorsCSV)
	for i := range list {
		all[list[i].RowName] = &list[i]
	}
	return all
})

// leftOut returns the errors of a row that was left out of the fit; nil for others.
func (c *Comparison) leftOut() *RowError {
	if e := stored()[c.Row()]; e != nil && e.Group != nil {
		return e
	}
	return nil
}
