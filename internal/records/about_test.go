package records

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/llmsim/llmsim/internal/testkit"
)

// A copy of a store, as git clone makes one, lists the same records in the same order with the same
// times, authors and notes, and the same one is the latest, whatever the times of the files are.
func TestCopiesOfAStoreAreAlike(t *testing.T) {
	base := t.TempDir()
	n := 0
	rapid.Check(t, func(rt *rapid.T) {
		n++
		here := filepath.Join(base, string(rune('a'+n%26))+time.Now().Format("150405.000000000"))
		s := Open(here)
		var latest string
		for range rapid.IntRange(1, 6).Draw(rt, "puttings") {
			rate := rapid.SampledFrom([]string{"1/s", "2/s", "3/s"}).Draw(rt, "rate")
			id, err := s.Put(scenarioRecord(rate), About{Written: time.Now().UTC(),
				Author: rapid.SampledFrom([]string{"ann", "bob"}).Draw(rt, "author"),
				Host:   "desk", Note: rate})
			testkit.OK(rt, err)
			latest = id
		}
		there := here + "-copy"
		testkit.OK(rt, os.CopyFS(there, os.DirFS(here)))
		at := time.Unix(rapid.Int64Range(0, 2e9).Draw(rt, "time of files"), 0)
		testkit.OK(rt, filepath.WalkDir(there, func(path string, _ os.DirEntry, err error) error {
			testkit.OK(rt, err)
			at = at.Add(-time.Minute)
			return os.Chtimes(path, at, at)
		}))
		e, err := Open(there).Get(Latest)
		testkit.OK(rt, err)
		if e.ID != latest || e.Note == "" {
			rt.Errorf("the latest is %.12s (%+v), want %.12s", e.ID, e.About, latest)
		}
		a, _, err := s.List()
		testkit.OK(rt, err)
		b, _, err := Open(there).List()
		testkit.OK(rt, err)
		if len(a) != len(b) {
			rt.Fatalf("%d records, and %d in the copy", len(a), len(b))
		}
		for i := range a {
			if a[i].ID != b[i].ID || a[i].About != b[i].About {
				rt.Errorf("%.12s %+v, and in the copy %.12s %+v", a[i].ID, a[i].About, b[i].ID,
					b[i].About)
			}
		}
		_, err = Open(there).Remove(latest)
		testkit.OK(rt, err)
		if left, err := os.ReadDir(filepath.Join(there, "about")); err != nil ||
			len(left) != len(a)-1 {
			rt.Errorf("after a removal there is more about %d records of %d: %v", len(left),
				len(a)-1, err)
		}
	})
}
