package scenarios

import (
	"github.com/llmsim/llmsim/hardware"
	"github.com/llmsim/llmsim/models/steptime"
	"github.com/llmsim/llmsim/sim"
)

// exchangeTimes copies the times that e gives into the preset, and the preset's other times into e.
// It reports whether the preset changed.
func (e *Engine) exchangeTimes(preset *steptime.Engine) (changed bool) {
	for _, pair := range []struct {
		asked  *Span
		preset *hardware.Seconds
	}{
		{&e.Request, &preset.Request},
		{&e.Step, &preset.Step},
		{&e.Sequence, &preset.Sequence},
		{&e.Layer, &preset.Layer},
		{&e.HostStep, &preset.HostStep},
		{&e.HostSequence, &preset.HostSequence},
		{&e.Launch, &preset.Launch},
		{&e.LaunchPrompt, &preset.LaunchPrompt},
	} {
		if *pair.asked > 0 && *pair.asked != Span(sim.Seconds(float64(*pair.preset))) {
			changed = true
			*pair.preset = hardware.Seconds(sim.Time(*pair.asked).Seconds())
		}
		*pair.asked = Span(sim.Seconds(float64(*pair.preset)))
	}
	return changed
}
