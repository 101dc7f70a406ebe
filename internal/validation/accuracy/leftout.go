package accuracy

import (
	_ "embed"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"
	"sync"

	"github.com/llmsim/llmsim/internal/files"
)

// left_out.csv has the errors of rows in predictions with constants that were fitted without them
// (llmsim validate DIR --fit).
//
//go:embed left_out.csv
var leftOutCSV string

// RowName is where a measured figure stands.
type RowName struct {
	File     string `csv:"file"`
	Line     int    `csv:"line"`
	Quantity string `csv:"quantity"`
}

// Row returns where a comparison stands.
func (c *Comparison) Row() RowName { return RowName{c.File, c.Line, c.Quantity} }

// Left is how far off predictions of a row were under constants that were fitted without it:
// logarithms of the measured over the predicted time. A rate counts as the time of its inverse.
type Left struct {
	RowName
	// Group is of a fit without any row of the same engine, accelerator and model. Part says in
	// which half of these rows this one is, Half is of a fit without that half, and Other of a fit
	// without the other one; nil where the rows cannot be halved.
	Group float64  `csv:"group" format:"%.4f"`
	Part  *int     `csv:"part"`
	Half  *float64 `csv:"half" format:"%.4f"`
	Other *float64 `csv:"other_half" format:"%.4f"`
	// Release is of a fit without any row of the engine under a release within a few months; nil
	// where the release is not known by date.
	Release *float64 `csv:"release" format:"%.4f"`
}

// leftOut has the rows of left_out.csv by their places.
var leftOut = sync.OnceValue(func() map[RowName]*Left {
	all := map[RowName]*Left{}
	list := files.MustReadTable[Left]("left_out.csv", leftOutCSV)
	for i := range list {
		all[list[i].RowName] = &list[i]
	}
	return all
})

// Halves says of each row of a group which half it is in: every second shape of prompts and answers
// is in the second half, or every second load where there is one shape. It is nil where all rows
// have one load.
func Halves(rows []Comparison) map[RowName]int {
	for _, name := range []func(*Comparison) string{shapeOf,
		func(c *Comparison) string { return fmt.Sprintf("%9.3f %s", c.Load.Users, c.Case) }} {
		halves := map[string]int{}
		for i := range rows {
			halves[name(&rows[i])] = 0
		}
		if len(halves) < 2 {
			continue
		}
		for i, one := range slices.Sorted(maps.Keys(halves)) {
			halves[one] = i % 2
		}
		of := map[RowName]int{}
		for i := range rows {
			of[rows[i].Row()] = halves[name(&rows[i])]
		}
		return of
	}
	return nil
}

// shapeOf names the lengths and the release of a row: rows of one shape differ in their load alone,
// and have most of their error in common.
func shapeOf(c *Comparison) string {
	load, lengths, _ := strings.Cut(c.Case, ", ")
	if !strings.Contains(lengths, " in, ") {
		lengths, _, _ = strings.Cut(load, " ")
	}
	return c.Version + " " + lengths
}

// WriteLeftOut writes left_out.csv: groups and releases are the predictions of rows without their
// group and without their release, and halves of both halves without the first and without the
// second; of says which half a row is in.
func WriteLeftOut(w io.Writer, groups, releases *Report, halves [2]*Report,
	of map[RowName]int) error {
	var without [3]map[RowName]float64
	for i, r := range []*Report{halves[0], halves[1], releases} {
		without[i] = map[RowName]float64{}
		for _, s := range r.served() {
			without[i][s.Row()] = s.deviation
		}
	}
	var list []Left
	for _, s := range groups.served() {
		left := Left{RowName: s.Row(), Group: unsigned(s.deviation)}
		half, halved := of[left.RowName]
		if halved {
			left.Part = &half
		}
		for i, into := range map[int]**float64{half: &left.Half, 1 - half: &left.Other,
			2: &left.Release} {
			if x, known := without[i][left.RowName]; known && (halved || i == 2) {
				x = unsigned(x)
				*into = &x
			}
		}
		list = append(list, left)
	}
	return files.WriteTable(w, list)
}

// unsigned returns 0 for −0 after four digits, as all machines write it.
func unsigned(x float64) float64 { return math.Round(x*1e4)/1e4 + 0 }
