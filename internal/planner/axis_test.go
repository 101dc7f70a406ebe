package planner

import (
	"slices"
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
