package planner

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/llmsim/llmsim/internal/report/doc"
	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/scenarios"
	"github.com/llmsim/llmsim/scenarios/deployment"
	"github.com/llmsim/llmsim/scenarios/evidence"
)

// known returns a row whose evidence has a grade and the spread of TPOT.
func known(accelerator string, tensor, tokens int, grade evidence.Grade,
	spread float64) SupportRow {
	return SupportRow{Accelerator: accelerator, Tensor: tensor, KVTokens: tokens,
		Evidence: &evidence.Evidence{Grade: grade, Spread: evidence.Spread{TPOT: spread,
			TTFT: 2 * spread}}}
}

// near adds the nearest measured server to a row.
func near(r SupportRow, model string, differs ...string) SupportRow {
	r.Evidence.Nearest = &deployment.Key{Model: model, Engine: "vllm", Accelerator: "h100",
		Weights: "fp8"}
	r.Evidence.Differs = differs
	return r
}

// Degrees of which the same is known are one line, with the range of their memory; others are
// lines of their own, the best known first, and every row is in one line or cannot be served.
func TestLinesOfTheMatrix(t *testing.T) {
	m := &SupportMatrix{Model: "m", Rows: []SupportRow{
		known("a", 1, 1000, evidence.Formula, 0.3), known("a", 2, 2000, evidence.Measured, 0.1),
		known("a", 4, 4000, evidence.Measured, 0.1), known("a", 8, 8000, evidence.Measured, 0.1),
		{Accelerator: "z", Unfit: "too large"},
		near(known("b", 1, 500, evidence.Relative, 0.2), "other", "engine", "layers of 7"),
		near(known("b", 2, 900, evidence.Relative, 0.2), "other", "layers of 8"),
		near(known("b", 4, 900, evidence.Relative, 0.25), "other", "layers of 8"),
		known("c", 1, 500, evidence.Measured, 0.1), known("c", 4, 500, evidence.Measured, 0.1),
	}}
	table, unfit := m.lines()
	var got []string
	for i := range table {
		got = append(got, strings.Join(table[i].cells()[:4], " "))
	}
	want := []string{"a 2–8 2–8 measured", "c 1,4 0.5 measured", "b 1 0.5 " +
		string(evidence.Relative), "b 2 0.9 " + string(evidence.Relative), "b 4 0.9 " +
		string(evidence.Relative), "a 1 1 " + string(evidence.Formula)}
	if !slices.Equal(got, want) || !slices.Equal(unfit, []string{"z"}) {
		t.Errorf("lines %q, want %q; unfit %q", got, want, unfit)
	}
	cells := table[0].cells()
	low, high := math.Exp(-0.1*evidence.Width80), math.Exp(0.1*evidence.Width80)
	if want := fmt.Sprintf("%+.0f to %+.0f%%", 100*(low-1), 100*(high-1)); cells[4] != want ||
		cells[5] == want {
		t.Errorf("ranges %q, want %q", cells[4:], want)
	}
	if got := relatives(table); len(got) != 2 ||
		got[0] != "b: the nearest measured server is of other (fp8) under vllm on h100, whose "+
			"model has layers of 7" || !strings.HasSuffix(got[1], "layers of 8") {
		t.Errorf("relatives %q", got)
	}
	if got := relatives([]line{{accelerator: "x", nearest: "m"},
		{accelerator: "y", nearest: "m"}, {accelerator: "x", nearest: "m"},
		{accelerator: "w"}}); len(got) != 1 || !strings.HasPrefix(got[0], "x, y: ") ||
		strings.Contains(got[0], "whose model") {
		t.Errorf("relatives %q", got)
	}
	own := known("a", 1, 1, evidence.Measured, 1).Evidence
	if nearestOf(own) != "" {
		t.Error("a server that was measured itself rests on another")
	}
	for list, want := range map[string]string{"1": "1", "1 2": "1,2", "2 4 8": "2–8",
		"1 2 4 8": "1–8", "1 2 8": "1,2,8", "8": "8", "1 4": "1,4"} {
		l := line{}
		for _, word := range strings.Fields(list) {
			var n int
			fmt.Sscan(word, &n)
			l.degrees = append(l.degrees, n)
		}
		if got := l.tensor(); got != want {
			t.Errorf("degrees %s are printed %q, want %q", list, got, want)
		}
	}
	// Two lines are one only if all that is known is the same.
	same := table[0]
	for i, change := range []func(l *line){func(l *line) {}, func(l *line) { l.accelerator = "q" },
		func(l *line) { l.grade = evidence.Formula }, func(l *line) { l.tpot = "q" },
		func(l *line) { l.ttft = "q" }, func(l *line) { l.nearest = "q" }} {
		other := same
		if change(&other); same.knows(&other) != (i == 0) || other.knows(&same) != (i == 0) {
			t.Errorf("change %d: %+v is known as %+v is", i, same, other)
		}
	}
	var kinds string
	for _, b := range m.Blocks() {
		kinds += map[doc.Kind]string{doc.Heading: "H", doc.Table: "T", doc.Gap: "/", doc.Item: "i",
			doc.Text: "t"}[b.Kind]
		if b.Kind == doc.Table && (len(b.Rows) != len(table) || !slices.Equal(b.Left,
			[]int{0, 3})) {
			t.Errorf("the table has %d rows, and the columns of words %v", len(b.Rows), b.Left)
		}
	}
	all := m.Blocks()
	if kinds != "HT/ii/ttt" || !strings.HasSuffix(all[len(all)-1].Words, "of: z.") ||
		all[0].Words != "m" {
		t.Errorf("the parts are %s; the last: %s", kinds, all[len(all)-1].Words)
	}
	m.Rows = m.Rows[:3]
	if n := len(m.Blocks()); n != 6 {
		t.Errorf("%d parts where all can be served, want 6", n)
	}
}

// A matrix has a row for each degree that fits, whose memory grows with the degree, or one that
// says why no degree fits. An override applies to all; a name that nobody knows is refused.
func TestRowsOfTheMatrix(t *testing.T) {
	q := SupportQuestion{Model: "llama-3.1-70b", Accelerators: []string{"h100-sxm", "l4"},
		Overrides: []string{"memory.utilization=0.8"}}
	m, err := Support(context.Background(), q)
	testkit.OK(t, err)
	degrees := map[string][]int{}
	before := 0
	for _, r := range m.Rows {
		degrees[r.Accelerator] = append(degrees[r.Accelerator], r.Tensor)
		if (r.Unfit == "") != (r.Tensor > 0) || (r.Evidence == nil) != (r.Unfit != "") ||
			r.Unfit == "" && r.Accelerator == "h100-sxm" && r.KVTokens <= before {
			t.Errorf("row %+v after %d tokens", r, before)
		}
		before = r.KVTokens
	}
	// 141 GB of weights need more than 80 % of two times 80 GB, and fit in four times. In 80 % of
	// eight times 24 GB no room is left for a cache.
	if got := fmt.Sprint(degrees); m.Model != q.Model || got != "map[h100-sxm:[4 8] l4:[0]]" {
		t.Errorf("degrees %s", got)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := Support(ctx, q); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	for _, bad := range []SupportQuestion{
		{Model: "llama-3.1-8c", Accelerators: q.Accelerators},
		{Model: q.Model, Accelerators: []string{"h1000"}},
		{Model: q.Model, Accelerators: q.Accelerators, Overrides: []string{"batching=vllm-9"}},
	} {
		if _, err := Support(context.Background(), bad); !scenarios.IsInputError(err) {
			t.Errorf("%+v: error %v, want one of the input", bad, err)
		}
	}
}
