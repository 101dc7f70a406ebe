package plots

import (
	"math"
	"slices"
	"testing"

	"gonum.org/v1/plot/plotter"
	"pgregory.net/rapid"
)

// A thinned line is part of the line, in its order and from end to end. It reaches as high and as
// low as the line does in any stretch that is two columns wide, and has no more points than columns
// can show.
func TestThin(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		line := make(plotter.XYs, rapid.IntRange(1, 8*thinColumns).Draw(t, "points"))
		height := rapid.SampledFrom([]int{1, 10, 1 << 20}).Draw(t, "height")
		random := rapid.Uint64().Draw(t, "seed")
		x := 0.0
		for i := range line {
			random = random*6364136223846793005 + 1442695040888963407
			line[i] = plotter.XY{X: x, Y: float64(int(random>>33) % height)}
			x += float64(random >> 62) // points may share an X
		}
		kept := downsample(line)
		if len(kept) > max(2*thinColumns+4, len(line)) || len(line) > 3*thinColumns &&
			len(kept) > 2*thinColumns+4 {
			t.Fatalf("%d of %d points are kept", len(kept), len(line))
		}
		if kept[0] != line[0] || kept[len(kept)-1] != line[len(line)-1] {
			t.Fatalf("the line ends at %v and %v, thinned at %v and %v", line[0], line[len(line)-1],
				kept[0], kept[len(kept)-1])
		}
		left := line
		for _, point := range kept {
			at := slices.Index(left, point)
			if at < 0 {
				t.Fatalf("%v is not on what is left of the line", point)
			}
			left = left[at:]
		}
		width := (line[len(line)-1].X - line[0].X) / thinColumns
		from := rapid.Float64Range(0, thinColumns-2).Draw(t, "from") * width
		low, high := span(line, from, from+width)
		least, most := span(kept, from-width, from+2*width)
		if least > low || most < high {
			t.Fatalf("from %g the line spans %g to %g, thinned %g to %g", from, low, high, least,
				most)
		}
	})
}

// span returns the lowest and the highest Y of the points with an X in a range.
func span(line plotter.XYs, from, to float64) (low, high float64) {
	low, high = math.Inf(1), math.Inf(-1)
	for _, p := range line {
		if p.X >= from && p.X <= to {
			low, high = min(low, p.Y), max(high, p.Y)
		}
	}
	return low, high
}

// Pieces share their ends, and together are the line.
func TestPieces(t *testing.T) {
	for n := range 4 * pieceLength {
		line := make(plotter.XYs, n+1)
		for i := range line {
			line[i].X = float64(i)
		}
		list := pieces(line)
		joined := slices.Clone(list[0])
		for i, piece := range list[1:] {
			if last := list[i][len(list[i])-1]; piece[0] != last {
				t.Fatalf("piece %d of %d points starts at %v, the one before ends at %v", i+1, n+1,
					piece[0], last)
			}
			joined = append(joined, piece[1:]...)
		}
		if !slices.Equal(joined, line) {
			t.Fatalf("the pieces of %d points are %v", n+1, joined)
		}
	}
}
