package lesson

import (
	"bytes"
	"math"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/llmsim/llmsim/internal/report/doc"
	"github.com/llmsim/llmsim/internal/testkit"
)

// The probabilities after a rejection and those of accepted drafts make up the
// target's law; many drafts come as near to it, and to the share accepted, as chance allows; and
// the text keeps to 80 columns.
func TestDraftsKeepTheLaw(t *testing.T) {
	for seed := range uint64(5) {
		s := NewDrafts(seed)
		for _, w := range s.Words {
			if law := w.Draft*w.Accept + (1-s.Chance)*w.Residual; math.Abs(law-w.Target) > 1e-12 {
				t.Errorf("%s comes out with probability %g, want %g", w.Word, law, w.Target)
			}
		}
		for _, toss := range s.Tosses {
			if (toss.Out == toss.Drafted) != toss.Accepted {
				t.Errorf("%+v: a rejected word comes out, or an accepted one does not", toss)
			}
		}
		for _, tally := range s.Tallies {
			// Five standard deviations of a share, and of a sum of six.
			far := 2.5 / math.Sqrt(float64(tally.Drafts))
			if math.Abs(tally.Accepted-s.Chance) > far || tally.Distance > 2*far {
				t.Errorf("%+v, want %g accepted and a distance below %g", tally, s.Chance, 2*far)
			}
		}
		var out bytes.Buffer
		testkit.OK(t, doc.Print(&out, s.Blocks()))
		for line := range strings.SplitSeq(out.String(), "\n") {
			if utf8.RuneCountInString(line) > 80 {
				t.Errorf("%q is longer than 80 columns", line)
			}
		}
	}
}
