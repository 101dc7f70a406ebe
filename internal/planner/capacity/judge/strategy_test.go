package judge

import (
	"context"
	"errors"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/llmsim/llmsim/internal/testkit"
)

// costs is a space of candidates that cost at least their bound.
type costs struct {
	Ordered[int]
	bounds, exact []int
	tried         []int
	best          int // the least cost that is known; −1 where none is
}

func (c *costs) Try(_ context.Context, some []int) error {
	for _, i := range some {
		if c.tried = append(c.tried, i); c.best < 0 || c.exact[i] < c.best {
			c.best = c.exact[i]
		}
	}
	return nil
}

// A search finds the cheapest of all candidates, tries none twice, and none whose bound is above
// the cost of a candidate that was tried in an earlier turn.
func TestSearchFindsTheCheapest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := &costs{best: -1}
		for range rapid.IntRange(0, 30).Draw(t, "candidates") {
			bound := rapid.IntRange(0, 40).Draw(t, "bound")
			c.bounds = append(c.bounds, bound)
			c.exact = append(c.exact, bound+rapid.IntRange(0, 20).Draw(t, "more"))
			c.Open = append(c.Open, len(c.Open))
		}
		slices.SortFunc(c.Open, func(a, b int) int { return c.bounds[a] - c.bounds[b] })
		c.AtOnce = rapid.IntRange(1, 5).Draw(t, "at once")
		c.MayWin = func(i int) bool { return c.best < 0 || c.bounds[i] < c.best }
		testkit.OK(t, Search(context.Background(), c))
		if len(c.exact) > 0 && c.best != slices.Min(c.exact) {
			t.Fatalf("found %d, the cheapest costs %d", c.best, slices.Min(c.exact))
		}
		for k, i := range c.tried {
			if slices.Contains(c.tried[:k], i) {
				t.Fatalf("%d was tried twice", i)
			}
			for _, j := range c.tried[:max(0, k-c.AtOnce+1)] {
				if c.exact[j] <= c.bounds[i] {
					t.Fatalf("%d with the bound %d was tried, although %d costs %d", i,
						c.bounds[i], j, c.exact[j])
				}
			}
		}
	})
}

// The least number is found to the asked precision, wherever the search begins, no number is tried
// twice, and none above the most or known.
func TestLeastFindsTheLeast(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := Least{Low: rapid.IntRange(0, 20).Draw(t, "low"),
			Step: rapid.IntRange(0, 5).Draw(t, "step"), Near: rapid.IntRange(1, 4).Draw(t, "near")}
		l.Most = l.Low + rapid.IntRange(1, 300).Draw(t, "range")
		l.First = rapid.IntRange(l.Low+1, l.Most).Draw(t, "first")
		least := rapid.IntRange(l.Low+1, l.Most+20).Draw(t, "least")
		if l.First < l.Most && l.Step == 0 {
			l.Step = 1 // nothing else leads up
		}
		if least <= l.Most+1 && rapid.Bool().Draw(t, "known") {
			l.High = l.Most + 1
		}
		var tried []int
		got, err := l.Find(func(n int) (bool, error) {
			if slices.Contains(tried, n) || n <= l.Low || n > l.Most {
				t.Fatalf("%d is tried after %v", n, tried)
			}
			tried = append(tried, n)
			return n >= least, nil
		})
		testkit.OK(t, err)
		switch {
		case l.High == 0 && least > l.Most:
			if got != 0 {
				t.Fatalf("found %d, and none up to %d suffices", got, l.Most)
			}
		case got < least || got >= least+l.Near:
			t.Fatalf("found %d, the least is %d, to be found to %d", got, least, l.Near)
		}
	})
}

// An error ends the search for the least number, and ErrStop does without one.
func TestLeastStops(t *testing.T) {
	broken := errors.New("broken")
	l := Least{First: 1, Most: 9, Step: 1, Near: 1}
	for _, err := range []error{broken, ErrStop} {
		n, got := l.Find(func(n int) (bool, error) {
			if n > 2 {
				return false, err
			}
			return false, nil
		})
		if n != 0 || errors.Is(got, broken) != (err == broken) {
			t.Errorf("%v: found %d, error %v", err, n, got)
		}
	}
}
