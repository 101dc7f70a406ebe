package bench

import (
	"context"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/llmsim/llmsim/internal/testkit"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// What a request costs stays within a bound in each case. Counts of this kind do not depend on how
// fast or busy the machine is.
func TestRequestsCostNoMoreThanBefore(t *testing.T) {
	for _, c := range Cases() {
		if c.Interval || c.Out {
			continue // they run several simulations, or the base's
		}
		n, err := Count(context.Background(), &c)
		if err != nil {
			t.Fatal(c.Name, err)
		}
		t.Logf("%s: %+v", c.Name, n)
		if m := c.Most; n.Steps > m.Steps || n.Allocations > m.Allocations ||
			n.Bytes > m.Bytes {
			t.Errorf("%s: a request costs %+v, allowed: %+v", c.Name, n, m)
		}
	}
}

// BenchmarkCases runs the cases from YAML to the summary; an operation is one request.
func BenchmarkCases(b *testing.B) {
	for _, c := range Cases() {
		if c.Interval || c.Out {
			continue
		}
		b.Run(c.Name, func(b *testing.B) {
			b.ReportAllocs()
			s, err := c.Build(b.N)
			testkit.OK(b, err)
			b.ResetTimer()
			r, err := s.Run(context.Background())
			if err != nil || r.Completed != int64(b.N) {
				b.Fatal(r, err)
			}
		})
	}
}

// The bounds of a median hold with the chance that they claim: the binomial one.
func TestBounds(t *testing.T) {
	for n, want := range map[int]struct {
		from       int
		confidence float64
	}{1: {0, 0}, 3: {0, 0.75}, 5: {0, 0.9375}, 7: {0, 0.984375}, 8: {1, 0.9296875},
		11: {2, 0.9345703125}} {
		if from, c := bounds(n); from != want.from || math.Abs(c-want.confidence) > 1e-12 {
			t.Errorf("%d pairs: %d and %v, want %+v", n, from, c, want)
		}
	}
	p := compare([]float64{2, 1, 4}, []float64{1, 1, 1})
	if p.Ratio != 2 || p.From != 1 || p.To != 4 || p.Pairs != 3 {
		t.Errorf("found %+v", p)
	}
}

// The pictures of growth have a line for each axis.
func TestDraw(t *testing.T) {
	dir, cases := t.TempDir(), Growth()
	results := make([]Result, len(cases))
	for i := range results {
		results[i] = Result{Microseconds: 1, Memory: 1e6}
	}
	testkit.OK(t, Draw(dir, cases, results))
	for _, name := range []string{"growth-time.svg", "growth-memory.svg"} {
		text, err := os.ReadFile(filepath.Join(dir, name))
		testkit.OK(t, err)
		for _, axis := range []string{"requests", "replicas", "tokens of an output", "requests/s"} {
			if !strings.Contains(string(text), ">"+axis+"<") {
				t.Errorf("%s does not name %q", name, axis)
			}
		}
	}
}
