package scenarios

import (
	"github.com/llmsim/llmsim/hardware"
	"github.com/llmsim/llmsim/models/steptime"
	"github.com/llmsim/llmsim/sim"
)

// findEngine looks up the preset and puts in the times that the scenario changes. The others are filled into the scenario.
func (b *builder) findEngine() {
	e := &b.s.Engine
	e.Preset = orDefault(e.Preset, "vllm-v1")
	engine, err := steptime.FindEngine(e.Preset)
	if err != nil {
		b.problem("engine.preset", "%v", err)
		return
	}
	for _, pair := range []struct {
		asked  *Span
		preset *hardware.Seconds
	}{
		{&e.Request, &engine.Request},
		{&e.Step, &engine.Step},
		{&e.Sequence, &engine.Sequence},
		{&e.Layer, &engine.Layer},
		{&e.HostStep, &engine.HostStep},
		{&e.HostSequence, &engine.HostSequence},
		{&e.Launch, &engine.Launch},
		{&e.LaunchPrompt, &engine.LaunchPrompt},
	} {
		if *pair.asked > 0 && *pair.asked != Span(sim.Seconds(float64(*pair.preset))) {
			b.Physics.Adjusted = true
			*pair.preset = hardware.Seconds(sim.Time(*pair.asked).Seconds())
		}
		*pair.asked = Span(sim.Seconds(float64(*pair.preset)))
	}
	e.Slowdown = orDefault(e.Slowdown, 1)
	engine.Graph = orDefault(e.Graph, engine.Graph)
	e.Graph = engine.Graph
	b.Engine = engine
	b.Physics.Given, b.Physics.Slowdown = b.s.Steps.given(), e.Slowdown
}
