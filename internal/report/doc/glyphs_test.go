package doc

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/llmsim/llmsim/internal/testkit"
)

var update = flag.Bool("update", false, "write the golden file")

// TestTerminalCharts as they are printed, to be looked at: testdata/glyphs.txt.
func TestTerminalCharts(t *testing.T) {
	var b strings.Builder
	rising := make([]float64, 400)
	for i := range rising {
		rising[i] = float64(i * i)
	}
	fmt.Fprintf(&b, "rising        |%s|\n", Spark(rising, 40, rising[len(rising)-1]))
	fmt.Fprintf(&b, "hardly any    |%s|\n", Spark([]float64{0, 0, 0.001, 0, 1, 0}, 40, 1))
	fmt.Fprintf(&b, "nothing       |%s|\n", Spark(make([]float64, 100), 40, 0))
	for _, share := range []float64{0, 0.01, 0.3, 0.5, 0.99, 1} {
		fmt.Fprintf(&b, "bar %4g      |%s|\n", share, Bar(share, 20))
	}
	for _, change := range []float64{-1.5, -0.4, 0, 0.2, 3} {
		fmt.Fprintf(&b, "change %+4g   |%s|%s|\n", change, Change(change, 5, true),
			Change(change, 5, false))
	}
	fmt.Fprintf(&b, "stack         |%s|\n", Stack([]float64{40, 0.1, 5, 30}, 100, 40))
	fmt.Fprintf(&b, "stack, full   |%s|\n", Stack([]float64{140, 1, 5}, 100, 40))
	for _, value := range []float64{1, 30, 300, 2000} {
		fmt.Fprintf(&b, "scale %4g    |%s|\n", value, Scale(value, 0.5, 4000, 300, 40))
	}
	const path = "testdata/glyphs.txt"
	if *update {
		testkit.OK(t, os.MkdirAll("testdata", 0o777))
		testkit.OK(t, os.WriteFile(path, []byte(b.String()), 0o666))
	}
	want := testkit.Read(t, path)
	if diff := cmp.Diff(string(want), b.String()); diff != "" {
		t.Errorf("other charts than %s (-want +got):\n%s", path, diff)
	}
}

// Charts are as wide as they should be, whatever the numbers.
func TestWidths(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.SliceOfN(rapid.Float64Range(0, 1e6), 1, 300).Draw(t, "values")
		width := rapid.IntRange(1, 80).Draw(t, "width")
		x := rapid.Float64Range(1e-3, 1e6).Draw(t, "x")
		for name, c := range map[string]struct {
			chart string
			want  int
		}{
			"Spark":  {Spark(values, width, x), min(width, len(values))},
			"Bar":    {Bar(x/1e6, width), width},
			"Change": {Change(x-500, width, true), 2*width + 1},
			"Stack":  {Stack(values, x, width), width},
			"Scale":  {Scale(x, 1e-3, 1e6, 10, width), width},
		} {
			if got := utf8.RuneCountInString(c.chart); got != c.want {
				t.Fatalf("%s is %d wide, want %d: %q", name, got, c.want, c.chart)
			}
		}
	})
}
