package planner

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/llmsim/llmsim/internal/testkit"
)

func TestAxes(t *testing.T) {
	for text, want := range map[string][]string{
		"hardware=a100-80gb,h100":                {"a100-80gb", "h100"},
		"workload.rate=1/s..4/s:4":               {"1/s", "2/s", "3/s", "4/s"},
		"workload.rate=1/s..2/s:3":               {"1/s", "1.5/s", "2/s"},
		"hardware.price=$1/h..$3/h:2":            {"$1/h", "$3/h"},
		"parallelism.tensor=1,2..8:4":            {"1", "2", "4", "6", "8"},
		"workload.prompt={min: 1, max: 2},'a,b'": {"{min: 1, max: 2}", "'a,b'"},
	} {
		a, err := ParseAxis(text)
		if err != nil || !slices.Equal(a.Values, want) {
			t.Errorf("%s gives %q (%v), want %q", text, a.Values, err, want)
		}
	}
	for text, want := range map[string]string{
		"hardware":            "want key=value",
		"=a":                  "want key=value",
		"rate=1/s..4/s":       "want a range such as",
		"rate=1/s..4/min:3":   "same unit at both ends",
		"rate=1/s..4/s:1":     "whole number from 2",
		"rate=1/s,,2/s":       "not empty",
		"rate=1/s,1/s":        "differ",
		"rate=fast..slow:3":   "want a range such as",
		"rate=1/s..2/s:three": "whole number from 2",
	} {
		if _, err := ParseAxis(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %q in it", text, err, want)
		}
	}
}

// The grid has every combination once, and changes the last axis fastest.
func TestGrid(t *testing.T) {
	points, err := Grid([]Axis{{"a", []string{"1", "2"}}, {"b", []string{"x", "y", "z"}}})
	testkit.OK(t, err)
	var names []string
	for _, p := range points {
		names = append(names, p.String())
	}
	want := []string{"a=1 b=x", "a=1 b=y", "a=1 b=z", "a=2 b=x", "a=2 b=y", "a=2 b=z"}
	if !slices.Equal(names, want) {
		t.Errorf("got %q, want %q", names, want)
	}
	if _, err := Grid([]Axis{{"a", []string{"1"}}, {"a", []string{"2"}}}); err == nil {
		t.Error("a key varied twice is not refused")
	}
}

func FuzzParseAxis(f *testing.F) {
	f.Add("workload.rate=1/s..40/s:8")
	f.Add("k={a: 'x,y'},[1,2]")
	f.Fuzz(func(t *testing.T, text string) {
		a, err := ParseAxis(text)
		if err == nil && (a.Key == "" || len(a.Values) == 0) {
			t.Errorf("%q gives an axis without key or values: %+v", text, a)
		}
	})
}

// A grid of a million points is the largest; its points are every combination once, whatever the
// axes, and share no memory. A number is read with its unit.
func TestBoundsOfGrids(t *testing.T) {
	axis := func(key string, n int) Axis {
		a := Axis{Key: key}
		for i := range n {
			a.Values = append(a.Values, strconv.Itoa(i))
		}
		return a
	}
	million := Axis{"a", make([]string, mostPoints+1)}
	for n, fits := range map[int]bool{mostPoints: true, mostPoints + 1: false} {
		points, err := Grid([]Axis{{"a", million.Values[:n]}})
		if (err == nil) != fits || fits && len(points) != n {
			t.Errorf("%d points: %d, %v", n, len(points), err)
		}
	}
	points, err := Grid([]Axis{axis("a", 3), axis("b", 1), axis("c", 4)})
	testkit.OK(t, err)
	seen := map[string]bool{}
	for _, p := range points {
		seen[p.String()] = true
		if _ = append(p, Setting{}); len(p) != 3 || !slices.Equal(p.Overrides(),
			strings.Fields(p.String())) {
			t.Errorf("point %v", p)
		}
	}
	if len(seen) != 12 || len(points) != 12 {
		t.Errorf("%d points, %d of them different, want 12", len(points), len(seen))
	}
	if none, err := Grid(nil); err != nil || len(none) != 1 {
		t.Errorf("without axes: %v, %v; want the scenario itself", none, err)
	}
	for _, c := range []struct {
		text, unit string
		x          float64
		ok         bool
	}{{"40/s", "/s", 40, true}, {"$2.5/h", "/h", 2.5, true}, {"7", "", 7, true},
		{"x7", "", 0, false}, {"", "", 0, false}, {"1.2.3", "", 0, false}} {
		if x, unit, ok := Number(c.text); x != c.x || unit != c.unit || ok != c.ok {
			t.Errorf("%q: %g %q %v", c.text, x, unit, ok)
		}
	}
	for text, want := range map[string][]string{
		"k=[a,b],{c: [d,e], f: g},h": {"[a,b]", "{c: [d,e], f: g}", "h"},
		"k=\"a,b\", 'c,\"d'":         {"\"a,b\"", "'c,\"d'"},
		"k=1s..2s:2":                 {"1s", "2s"}, "k=0..1:4": {"0", "0.333333", "0.666667", "1"},
		"k=3..1:3": {"3", "2", "1"},
	} {
		if a, err := ParseAxis(text); err != nil || a.Key != "k" || !slices.Equal(a.Values, want) {
			t.Errorf("%s: %q, %v", text, a.Values, err)
		}
	}
	for _, text := range []string{"k=", "k=1..2:1000001", "k=$1..2:2", "k=1..2", "k=..:2"} {
		if a, err := ParseAxis(text); err == nil {
			t.Errorf("%s: %v is not refused", text, a)
		}
	}
}
