package diagnosis

import (
	"slices"
	"testing"

	"github.com/llmsim/llmsim/metrics"
	"github.com/llmsim/llmsim/scenarios"
)

// A run has a table of its latencies; one with parts has a table of each kind too, a row for each
// part, as wide as the header.
func TestTablesHaveTheirRows(t *testing.T) {
	r := &scenarios.Result{}
	if rows := latencies(r).Rows; len(rows) != 4 || len(parts(r)) > 0 {
		t.Errorf("rows of a run without parts: %q", rows)
	}
	r = &scenarios.Result{Pools: []scenarios.PoolResult{{Name: "new", Hardware: "h100-sxm"},
		{Name: "old", Hardware: "a100-80gb-sxm"}}}
	r.Classes = map[string]metrics.ClassSummary{
		"chat": {Endings: metrics.Endings{Completed: 7, Cancelled: 3}}}
	r.Tenants = map[string]metrics.ClassSummary{"shop": {}, "archive": {}}
	tables := parts(r)
	if len(tables) != 3 {
		t.Fatalf("%d tables, want 3", len(tables))
	}
	for i, names := range [][]string{{"chat"}, {"archive", "shop"}, {"new", "old"}} {
		var got []string
		for _, row := range tables[i].Rows {
			got = append(got, row[0])
			if len(row) != len(tables[i].Header) {
				t.Errorf("%v under %v", row, tables[i].Header)
			}
		}
		if !slices.Equal(got, names) {
			t.Errorf("rows of %v, want %v", got, names)
		}
	}
	if row := tables[0].Rows[0]; row[1] != "7 of 10" || row[4] != "3" {
		t.Errorf("7 completed and 3 cancelled requests are shown as %v", row)
	}
}
