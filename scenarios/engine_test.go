package scenarios

import (
	"math"
	"testing"
)

// The presets' times can be changed one by one; a slower host takes longer for all that is its
// work.
func TestEngineTimesAreTheScenarios(t *testing.T) {
	const alone = "model: llama-3.1-8b\nhardware: h100-sxm\nworkload: {arrivals: at-once, " +
		"prompt: 10, output: 101, requests: 1}\n"
	tpot := func(overrides ...string) float64 { return runYAML(t, alone, overrides...).MeanTPOT }
	base := tpot("engine.step=1ms")
	for _, c := range []struct {
		overrides []string
		longer    float64
	}{
		{[]string{"engine.step=3ms"}, 2},
		{[]string{"engine.step=1ms", "hardware.host=1"}, 0},
		{[]string{"engine.step=1ms", "engine.sequence=1us", "hardware.host=3"}, 2 * 1.001},
		{[]string{"engine.step=1ms", "engine.host-step=1s"}, 1000 - (base - 1)},
	} {
		if got := tpot(c.overrides...) - base; math.Abs(got-c.longer) > 0.03 {
			t.Errorf("%v: a step takes %g ms longer, want %g", c.overrides, got, c.longer)
		}
	}
}
