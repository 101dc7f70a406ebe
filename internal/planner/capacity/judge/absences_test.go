package judge

import (
	"math"
	"testing"

	"github.com/llmsim/llmsim/internal/planner/capacity/candidate"
)

// Interruptions of all replicas at once are as frequent for each replica as its own, and those of a
// fleet do not depend on how large it is.
func TestAbsencesAreDrawnAtTheRate(t *testing.T) {
	for _, together := range []float64{0, 0.4, 1} {
		p := candidate.Interruption{Rate: 1.0 / 3600, Together: together, Notice: 60, Away: 300}
		const within = 3000 * 3600.0
		drawn, larger := p.Draw(4, within, 7), p.Draw(6, within, 7)
		for k, list := range drawn {
			away := 0.0
			for i, a := range list {
				away += a.To - a.From
				if a != larger[k][i] || i > 0 && a.From < list[i-1].To {
					t.Fatalf("absence %d of replica %d: %v", i, k, a)
				}
			}
			if share := away / within; math.Abs(share/p.Down()-1) > 0.1 {
				t.Errorf("together %g: replica %d is away for %g of the time, want %g", together, k,
					share, p.Down())
			}
		}
		if same := drawn[0][0] == drawn[1][0]; same != (together == 1) {
			t.Errorf("together %g: the first absences of two replicas are alike: %v", together,
				same)
		}
	}
}
