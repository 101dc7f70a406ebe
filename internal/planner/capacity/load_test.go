package capacity

import (
	"fmt"
	"testing"
)

// What bounds the rate of a replica is not more than requests ask for in the long run, whichever
// are drawn, also where a few of them are very long; and it is not much less.
func TestWorkInTheLongRun(t *testing.T) {
	const seeds = 12
	var prompts, stored, lowPrompts, lowStored [seeds]float64
	for seed := range seeds {
		s, _ := prepared(t, fmt.Sprintf(`
model: llama-3.1-8b
workload: {rate: 5/s, prompt: {distribution: lognormal, mean: 600, cv: 2, max: 30000}, output: {distribution: exponential, mean: 200, max: 4000}}
slo: {ttft: 1s, tpot: 40ms}
menu: {hardware: [h100-sxm], tensor: [1]}
seed: %d
`, seed))
		l := s.load()
		prompts[seed], stored[seed] = l.Prompt/l.Requests, l.Stored/l.Requests
		lowPrompts[seed], lowStored[seed] = l.Low.Prompt/l.Requests, l.Low.Stored/l.Requests
	}
	for name, figures := range map[string][2][seeds]float64{"prompts": {prompts, lowPrompts},
		"stored": {stored, lowStored}} {
		mean := 0.0
		for _, v := range figures[0] {
			mean += v / seeds
		}
		for seed, low := range figures[1] {
			if low > mean || low < 0.85*mean {
				t.Errorf("%s: the bound of seed %d is %g, the mean of all seeds %g", name, seed,
					low, mean)
			}
		}
	}
}
