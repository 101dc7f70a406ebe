package validation

import (
	"maps"
	"slices"
	"strings"
	"testing"
)

// Every rule is of a table that is read, has conditions that can be read, and sets what some reader
// asks for.
func TestRulesAreWellFormed(t *testing.T) {
	sets := []string{"refuse", "weights", "drop TTFT", "drop prefill rate"}
	for _, u := range rules() {
		_, known := readers()[u.Table]
		_, format := dtypes[u.Value]
		broken := slices.ContainsFunc(strings.Fields(u.When), func(one string) bool {
			return !condition.MatchString(one) || one != strings.ToLower(one)
		})
		if !known || broken || u.When == "" || !slices.Contains(sets, u.Sets) ||
			u.Value == "" || u.Sets == "weights" && !format {
			t.Errorf("%+v", u)
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
				yes, no := rule{When: column + is}, rule{When: column + "!" + is}
				if yes.fits(r) == no.fits(r) {
					t.Errorf("%q: %s and its reverse are both %v", r.fields, yes.When, yes.fits(r))
				}
			}
		}
	}
}
