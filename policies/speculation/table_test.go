package speculation_test

import (
	"bytes"
	"io"
	"strings"
	"testing"

	"github.com/llmsim/llmsim/internal/engine/generate"
	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/policies/speculation"
)

// What the engine writes, the simulator reads.
func TestReadsTheEnginesTable(t *testing.T) {
	var text bytes.Buffer
	err := generate.AcceptanceTable{
		Drafter: "ngram-2-4", Algorithm: "chen", Gamma: 3, Temperature: 1, Steps: 100, Tokens: 150,
		Accepted: []int64{70, 20, 0, 10},
		Positions: []generate.Position{
			{Position: 1, Drafted: 60, Accepted: 30, Rate: 0.5},
			{Position: 2, Drafted: 30, Accepted: 10, Rate: 1.0 / 3},
			{Position: 3, Drafted: 10, Accepted: 10, Rate: 1},
		},
	}.Write(&text)
	testkit.OK(t, err)
	table, err := speculation.ReadTable(io.MultiReader(strings.NewReader("\ufeff"), &text))
	testkit.OK(t, err)
	if a := table.Acceptance(); len(a) != 1 || len(a[0]) != 3 || a[0][0] != 0.5 ||
		a[0][1] != 1.0/3 || a[0][2] != 1 || table.Match() != 0.6 {
		t.Errorf("acceptance %v, match %v", a, table.Match())
	}
}

func TestBadTables(t *testing.T) {
	for text, want := range map[string]string{
		"":                                 "not an acceptance table",
		`[1, 2]`:                           "not an acceptance table",
		`{}`:                               "no drafted tokens",
		`{"steps": 10, "positions": []}`:   "no drafted tokens",
		`{"steps": 10, "positions": [{}]}`: "no drafted tokens",
		`{"steps": 10, "positions": [{"drafted": 5, "accepted": 6}]}`:                                "position 1: 6 of 5",
		`{"steps": 10, "positions": [{"drafted": 11, "accepted": 6}]}`:                               "position 1: 6 of 11",
		`{"steps": 10, "positions": [{"drafted": 9, "accepted": 6}, {"drafted": 7, "accepted": 1}]}`: "position 2: 1 of 7",
		`{"steps": 10, "positions": [{"drafted": 9, "accepted": -1}]}`:                               "position 1: -1 of 9",
		`{"steps": 10, "positions": [{"drafted": 99999999999999999999, "accepted": 1}]}`:             "not an acceptance table",
	} {
		if table, err := speculation.ReadTable(strings.NewReader(text)); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, %v; want %q", text, table, err, want)
		}
	}
}

// A table is refused, or gives rates and a share of steps between 0 and 1.
func FuzzReadTable(f *testing.F) {
	f.Add(`{"steps": 10, "positions": [{"drafted": 9, "accepted": 6}, {"drafted": 6, "accepted": 1}]}`)
	f.Fuzz(func(t *testing.T, text string) {
		var table *speculation.Table
		var err error
		testkit.Bounded(t, len(text),
			func() { table, err = speculation.ReadTable(strings.NewReader(text)) })
		if err != nil {
			return
		}
		if m := table.Match(); !(m > 0 && m <= 1) {
			t.Fatalf("match %v", m)
		}
		for _, rate := range table.Acceptance()[0] {
			if !(rate >= 0 && rate <= 1) {
				t.Fatalf("rate %v", rate)
			}
		}
	})
}
