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

// Every rule is of a table that is read, or of a set that a reader asks for, has conditions that
// can be read, and says what some reader asks for: or a key that scenarios have, a limit or the
// like, or a column that the conditions of another rule name.
func TestRulesAreWellFormed(t *testing.T) {
	words := map[string]bool{"refuse": true, "weights": true, "drop TTFT": true,
		"drop prefill rate": true, "sequences": true, "tokens": true, "rank-sequences": true,
		"rank-tokens": true, "version": true, "cache": true, "least": true}
	asked := map[string]bool{"flags": true, "inferencex": true, "nightly": true, "variant": true,
		"built": true}
	for _, u := range allRules() {
		for one := range strings.FieldsSeq(u.When) {
			if m := condition.FindStringSubmatch(one); m != nil {
				words[m[1]] = true
			}
		}
	}
	for _, u := range allRules() {
		_, known := readers()[u.Table]
		_, format := dtypes[u.Value]
		document, err := strict.Parse("", []byte("{}"))
		testkit.OK(t, err)
		if !known && !asked[u.Table] || !readable(u.When) || u.Value == "" ||
			u.Key == "weights" && !format || u.Key == "refuse" && u.When == "" ||
			!words[u.Key] && document.Set(u.Key+"=1", &scenarios.Scenario{}) != nil {
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
