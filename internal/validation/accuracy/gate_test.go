package accuracy

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// The gate notices a group that all others hide, and a row that is gone, however recorded rows are
// grouped: the error of one group alone moves, or one row of all is missing.
func TestTheGateSeesASingleGroup(t *testing.T) {
	var rows []RowError
	for _, e := range stored() {
		if e.Error != nil {
			rows = append(rows, *e)
		}
	}
	slices.SortFunc(rows, func(a, b RowError) int {
		return strings.Compare(fmt.Sprint(a.RowName), fmt.Sprint(b.RowName))
	})
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.IntRange(leastGroup, 40).Draw(t, "rows of a group")
		points := rapid.Float64Range(Worsening+0.1, 50).Draw(t, "points worse")
		worse := rapid.IntRange(0, len(rows)/size-1).Draw(t, "the group that is worse")
		gone := rapid.IntRange(0, len(rows)-1).Filter(func(i int) bool { return i/size != worse }).
			Draw(t, "the row that is gone")
		r := &Report{Tables: []Table{{}}}
		for i, e := range rows {
			if i == gone {
				continue
			}
			percent, at := *e.Error, i/size
			if at == worse {
				percent += math.Copysign(points, percent)
			}
			r.Tables[0].Rows = append(r.Tables[0].Rows, Comparison{
				Group: Group{Engine: "e", Model: fmt.Sprint("m", at)}, Table: "served",
				File: e.File, Line: e.Line,
				Quantity: e.Quantity, Measured: 1, Predicted: 1 + percent/100})
		}
		quantities := map[string]int{}
		for i := range r.Tables[0].Rows {
			if c := &r.Tables[0].Rows[i]; c.Model == fmt.Sprint("m", worse) {
				quantities[gated(c)]++
			}
		}
		maps.DeleteFunc(quantities, func(_ string, n int) bool { return n < leastGroup })
		lost := fmt.Sprintf("%s:%d, %s, is", rows[gone].File, rows[gone].Line, rows[gone].Quantity)
		list, _ := r.Worsened()
		others := slices.DeleteFunc(slices.Clone(list), func(s string) bool {
			return strings.HasPrefix(s, fmt.Sprintf("e m%d ", worse)) || strings.HasPrefix(s, lost)
		})
		if len(list) != len(quantities)+1 || len(others) > 0 {
			t.Fatalf("%v; want m%d in %v and %q alone", list, worse, quantities, lost)
		}
	})
}
