package doc_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/llmsim/llmsim/internal/report/doc"
)

// A narrow text has the same words, in lines of at most 80 columns, and what fits stays as it is.
func TestNarrowKeepsTheWords(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		words := rapid.SliceOf(rapid.StringMatching(`( {0,20}|\n)[a-zé%+]{1,20}`)).Draw(t, "words")
		given := strings.Join(words, rapid.SampledFrom([]string{" ", "  "}).Draw(t, "between"))
		got := doc.Narrow(given)
		if a, b := strings.Fields(got), strings.Fields(given); strings.Join(a, " ") !=
			strings.Join(b, " ") {
			t.Errorf("%q has other words than %q", got, given)
		}
		fits := true
		for line := range strings.SplitSeq(given, "\n") {
			fits = fits && utf8.RuneCountInString(line) <= 80
		}
		if fits && got != given {
			t.Errorf("%q became %q", given, got)
		}
		for line := range strings.SplitSeq(got, "\n") {
			if n := utf8.RuneCountInString(line); n > 80 {
				t.Errorf("%d columns: %q", n, line)
			}
		}
	})
}
