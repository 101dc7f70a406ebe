package timeline

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/big"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/llmsim/llmsim/internal/report/doc"
	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/policies"
	"github.com/llmsim/llmsim/scenarios"
	"github.com/llmsim/llmsim/sim"
)

func build(t *testing.T, set ...string) *scenarios.Simulation {
	t.Helper()
	file, err := scenarios.Load("chat", append(set, "workload.requests=120")...)
	testkit.OK(t, err)
	s, err := file.Build(policies.Default())
	testkit.OK(t, err)
	return s
}

// many are settings under which a request has many parts.
var many = []string{"workload.rate=60/s", "batching=vllm-v0", "parallelism.pipeline=2"}

func recordWaterfalls(t *testing.T, set ...string) []Waterfall {
	t.Helper()
	ctx := context.Background()
	id, err := Slowest(ctx, build(t, set...))
	testkit.OK(t, err)
	l, err := RecordLife(ctx, build(t, set...), id)
	testkit.OK(t, err)
	return []Waterfall{{"a name", l}}
}

// The trace of a request ends with it, and is the same each time, although the run goes on for a
// moment.
func TestTracesEndWithTheRequest(t *testing.T) {
	path := filepath.Join(t.TempDir(), "trace.json")
	var first []byte
	for range 5 {
		s := build(t)
		trace, err := NewTrace(path, TraceEvents, s.Ledger)
		testkit.OK(t, err)
		l, err := RecordLife(context.Background(), s, 7, trace)
		testkit.OK(t, trace.Close(err))
		data := []byte(testkit.Read(t, path))
		if words := fmt.Sprintf("the run up to %v; what came later is left out", l.Last); !bytes.
			Contains(data, []byte(words)) {
			t.Errorf("the trace ends with %q, want %q", data[max(0, len(data)-100):], words)
		}
		if first == nil {
			first = data
		}
		if !bytes.Equal(first, data) {
			t.Errorf("a trace has %d bytes, and again %d", len(first), len(data))
		}
	}
}

// The decimal numbers of the document add up to the latency exactly.
func TestDocumentAddsUp(t *testing.T) {
	data, err := json.Marshal(NewDocument(recordWaterfalls(t, many...)))
	testkit.OK(t, err)
	var d struct {
		Waterfalls []struct {
			E2E           json.Number `json:"e2el_ms"`
			Totals, Parts []struct {
				Span json.Number `json:"ms"`
			}
		}
	}
	testkit.OK(t, json.Unmarshal(data, &d))
	number := func(n json.Number) *big.Rat {
		r, ok := new(big.Rat).SetString(n.String())
		if !ok {
			t.Fatalf("%q is no number", n)
		}
		return r
	}
	w := d.Waterfalls[0]
	totals, parts := new(big.Rat), new(big.Rat)
	for _, p := range w.Totals {
		totals.Add(totals, number(p.Span))
	}
	for _, p := range w.Parts {
		parts.Add(parts, number(p.Span))
	}
	want := number(w.E2E)
	if len(w.Parts) < mostParts || totals.Cmp(want) != 0 || parts.Cmp(want) != 0 {
		t.Errorf("%d parts add up to %v ms, totals to %v ms, not %v ms", len(w.Parts), parts,
			totals, want)
	}
}

// The text keeps to 80 columns and a number of lines, and where nothing is left out its lines
// follow each other over the whole life.
func TestText(t *testing.T) {
	for _, set := range [][]string{nil, many} {
		all := recordWaterfalls(t, set...)
		var text bytes.Buffer
		testkit.OK(t, doc.Print(&text, Waterfalls(all)))
		for line := range strings.Lines(text.String()) {
			if utf8.RuneCountInString(strings.TrimSuffix(line, "\n")) > 80 {
				t.Errorf("%q is longer than 80 columns", line)
			}
		}
		rows, left := all[0].rows()
		if len(rows) > mostParts {
			t.Errorf("%v: %d lines", set, len(rows))
		}
		at, steps := all[0].Arrival, int64(0)
		for i := range rows {
			if rows[i].From != at && left == 0 {
				t.Errorf("%v: line %d begins at %v, not %v", set, i, rows[i].From, at)
			}
			at = rows[i].To
			steps += rows[i].Steps
		}
		want := int64(0)
		for _, p := range all[0].Parts {
			want += p.Steps
		}
		if left == 0 && (at != all[0].End || steps != want) {
			t.Errorf("%v: lines end at %v with %d steps, not %v with %d", set, at, steps,
				all[0].End, want)
		}
	}
}

// The shortest of too many parts are left out, whatever their order.
func TestLongestPartsAreShown(t *testing.T) {
	w := Waterfall{Life: new(Life)}
	var spans []sim.Time
	for i := range 2 * mostParts {
		p := Part{Kind: Prefill, From: w.End, Replica: i}
		p.To = p.From + sim.Time(1+i*29%31)
		w.End = p.To
		w.Parts = append(w.Parts, p)
		spans = append(spans, p.Span())
	}
	rows, left := w.rows()
	if len(rows) != mostParts || left != mostParts {
		t.Fatalf("%d lines, %d left out", len(rows), left)
	}
	for _, r := range rows {
		longer := 0
		for _, s := range spans {
			if s > r.Span() {
				longer++
			}
		}
		if longer >= mostParts {
			t.Errorf("a part of %v is shown, and %d are longer", r.Span(), longer)
		}
	}
}

// A run ends with the last request that is looked at, answered or not: there is no need for the
// others, however many there are. The slowest of equals is the first.
func TestRunsEndWithTheLastLife(t *testing.T) {
	ctx, stop := context.WithTimeout(context.Background(), time.Minute)
	defer stop()
	many := []string{"workload.requests=1000000000", "workload.duration=20000h"}
	l, err := RecordLife(ctx, build(t, many...), 3)
	testkit.OK(t, err)
	if l.ID != 3 || l.Last <= l.Arrival {
		t.Errorf("%+v", l)
	}
	if _, err := RecordLife(ctx, build(t, append(many, "workload.patience=1us")...),
		3); err == nil || ctx.Err() != nil {
		t.Errorf("a user who goes away: %v", err)
	}
	for _, set := range [][]string{many, append(many, "workload.patience=1us")} {
		c, err := RecordChart(ctx, "c", build(t, set...), 2, 3, false)
		testkit.OK(t, err)
		answered := len(set) == 2
		if (len(c.Rows) == 3) != answered || c.End == 0 {
			t.Errorf("%v: %d rows, the end at %v", set, len(c.Rows), c.End)
		}
		for i, row := range c.Rows {
			if row.ID != int64(2+i) || row.Last > c.End {
				t.Errorf("row %d is request %d, ends at %v of %v", i, row.ID, row.Last, c.End)
			}
		}
	}
	var s slowest
	s.id = -1
	for _, q := range []struct {
		id   int64
		took sim.Time
	}{{7, 2}, {5, 3}, {4, 3}, {6, 3}, {1, 2}} {
		one := &sim.Sequence{LastToken: q.took}
		one.ID = q.id
		s.Finished(one)
	}
	if s.id != 4 {
		t.Errorf("the slowest is request %d, want 4", s.id)
	}
}

// A request that is not there, or has no answer, has no waterfall.
func TestNoWaterfall(t *testing.T) {
	ctx := context.Background()
	if _, err := RecordLife(ctx, build(t), 120); !scenarios.IsInputError(err) ||
		!strings.Contains(err.Error(), "want a number from 0 to 119") {
		t.Errorf("a request too many: %v", err)
	}
	never := []string{"workload.patience=1us"}
	if _, err := RecordLife(ctx, build(t, never...), 3); err == nil ||
		!strings.Contains(err.Error(), "request 3 has no waterfall: it was cancelled") {
		t.Errorf("a user who goes away: %v", err)
	}
	if _, err := Slowest(ctx, build(t, never...)); err == nil {
		t.Error("the slowest of no answers is known")
	}
}
