package sim_test

import (
	"context"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/llmsim/llmsim/sim"
)

// Time never wraps: a run ends when its steps sum to, or with an error that names the request that
// would outlast time.
func TestTimeDoesNotWrap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		output := rapid.IntRange(1, 1000).Draw(t, "output")
		exact := rapid.Float64Range(0.01, 10).Draw(t, "share of time") * sim.Never.Seconds()
		step := sim.Seconds(exact / float64(output))
		c := oneReplica(affineClock{base: step})
		c.Source = &listSource{requests: []sim.Request{{Prompt: 1, Output: output}}}
		c.MaxLeap = rapid.SampledFrom([]int64{0, 1, 7}).Draw(t, "maxLeap")
		c.Replicas[0].Stages = rapid.IntRange(1, 2).Draw(t, "stages")
		exact *= float64(c.Replicas[0].Stages)
		r, err := sim.Run(context.Background(), c)
		switch longest := sim.Never.Seconds(); {
		case exact < 0.999*longest &&
			(err != nil || r.End != step*sim.Time(output*c.Replicas[0].Stages)):
			t.Fatalf("%d steps of %v end at %v (%v)", output, step, r.End, err)
		case exact > 1.001*longest && (err == nil || !strings.Contains(err.Error(), "request 0 ")):
			t.Fatalf("%d steps of %v end at %v (%v)", output, step, r.End, err)
		}
	})
}
