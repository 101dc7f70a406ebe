package plots

import (
	"testing"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/recorder"

	"github.com/llmsim/llmsim/internal/report/page"
	"github.com/llmsim/llmsim/internal/testkit"
)

// However long a run was, a picture has no more to draw than it can show: a line has at most a low
// and a high point in each column, and a stroke never has enough of them to take long.
func TestPicturesCostWhatTheyShow(t *testing.T) {
	for _, n := range []int{0, 1, 10, 10_000, 200_000} {
		requests, state := make([]page.Request, n), make([]page.Point, n)
		random := uint64(n)
		for i := range n {
			random = random*6364136223846793005 + 1442695040888963407
			value := float64(random >> 40)
			requests[i] = page.Request{TTFT: value, TPOT: value / 7, E2E: 9 * value}
			state[i] = page.Point{At: float64(i), Running: int(random >> 60),
				Waiting: int(random >> 50), KV: value / (1 << 24)}
		}
		latencies, err := Latencies(requests, nil)
		testkit.OK(t, err)
		queue, memory, err := State(state)
		testkit.OK(t, err)
		for p, lines := range map[*plot.Plot]int{latencies: 3, queue: 2, memory: 1} {
			const column = 2 * 2 // a low and a high point, each at the end of a level stretch
			drawn, longest := strokes(p)
			if most := lines*column*(thinColumns+4) + 200; drawn > most {
				t.Errorf("%d requests: %q draws %d points, want at most %d", n, p.Title.Text, drawn,
					most)
			}
			if p != latencies && longest > 2*pieceLength {
				t.Errorf("%d requests: %q draws %d points at once", n, p.Title.Text, longest)
			}
		}
	}
}

// strokes returns the points of all that p strokes, and of the longest stroke.
func strokes(p *plot.Plot) (all, longest int) {
	var canvas recorder.Canvas
	width, height, _ := Print.size()
	p.Draw(draw.NewCanvas(&canvas, width, height))
	for _, action := range canvas.Actions {
		if s, ok := action.(*recorder.Stroke); ok {
			all += len(s.Path)
			longest = max(longest, len(s.Path))
		}
	}
	return all, longest
}
