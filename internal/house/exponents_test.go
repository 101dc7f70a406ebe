package house

import (
	"regexp"
	"strings"
	"testing"
)

// Text for people prints figures with units.Significant, which writes no exponent. The verbs of
// package fmt do, of large figures and of small ones.
func TestTextForPeopleHasNoExponents(t *testing.T) {
	verb := regexp.MustCompile(`%[-+ 0-9]*\.[0-9]*[geEG]`)
	for name, src := range goFiles(t) {
		shown := false
		for _, room := range []string{"internal/report/", "internal/planner/compare/",
			"internal/planner/sweep/", "internal/planner/tuning/", "internal/planner/support.go"} {
			shown = shown || strings.HasPrefix(name, room)
		}
		if !shown || strings.HasSuffix(name, "_test.go") {
			continue
		}
		for i, line := range strings.Split(string(src), "\n") {
			if verb.MatchString(line) {
				t.Errorf("%s:%d: prints a figure that may have an exponent; use "+
					"units.Significant: %s", name, i+1, strings.TrimSpace(line))
			}
		}
	}
}
