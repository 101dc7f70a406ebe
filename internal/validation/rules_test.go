package validation

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/llmsim/llmsim/internal/strict"
	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/scenarios"
)

// Every rule is of a table that is read, has conditions that can be read, and sets what some reader
// asks for.
func TestRulesAreWellFormed(t *testing.T) {
	sets := []string{"refuse", "weights", "drop TTFT", "drop prefill rate"}
	for _, u := range rules() {
		_, known := readers()[u.Table]
		_, format := dtypes[u.Value]
		if !known || !readable(u.When) || u.When == "" || !slices.Contains(sets, u.Sets) ||
			u.Value == "" || u.Sets == "weights" && !format {
			t.Errorf("%+v", u)
		}
	}
}

// readable reports whether conditions can be read.
func readable(when string) bool {
	return !slices.ContainsFunc(strings.Fields(when), func(one string) bool {
		return !condition.MatchString(one) || one != strings.ToLower(one)
	})
}

// Every key is of a table that is read, has conditions that can be read, and is one that scenarios
// have, or a limit or the version.
func TestKeysAreKnown(t *testing.T) {
	own := []string{"sequences", "tokens", "version"}
	for _, k := range keys() {
		if readers()[k.Table] == nil {
			t.Errorf("keys.csv: nothing reads %s", k.Table)
		}
		document, err := strict.Parse("", []byte("{}"))
		testkit.OK(t, err)
		if !readable(k.When) || k.Value == "" || !slices.Contains(own, k.Key) &&
			document.Set(k.Key+"=1", &scenarios.Scenario{}) != nil {
			t.Errorf("%+v", k)
		}
	}
}

// A negated condition holds of exactly the rows of which the condition does not hold.
func TestNegatedConditionsAreTheReverse(t *testing.T) {
	columns := map[string]int{"a": 0, "b": 1}
	r := &row{table: &table{columns: columns}}
	for _, r.fields = range [][]string{{"", "7"}, {"One", "x"}, {"one two", "12"}, {"3", ""}} {
		for _, column := range append(slices.Sorted(maps.Keys(columns)), "a|b") {
			for _, is := range []string{"=", "=one", "~o|3", "^one|x", ">6"} {
				if yes := r.holds(column + is); yes == r.holds(column+"!"+is) {
					t.Errorf("%q: %s%s and its reverse are both %v", r.fields, column, is, yes)
				}
			}
		}
	}
}
