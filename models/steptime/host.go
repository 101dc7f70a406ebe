package steptime

import "github.com/llmsim/llmsim/sim"

// hostFloor returns the time that the host needs for a step of the given tokens and sequences, to
// launch it and to schedule the next one. A step cannot be shorter.
func (c *Clock) hostFloor(tokens, sequences int, prompts bool) sim.Time {
	var floor float64
	switch {
	case tokens <= c.engine.Graph:
	case prompts:
		floor = c.layers*float64(c.engine.LaunchPrompt) +
			c.latentLayers*float64(c.engine.LaunchLatent)
	default:
		floor = c.layers * float64(c.engine.Launch)
	}
	if c.engine.Lookahead > 0 {
		floor = max(floor, c.hostWork(sequences))
	}
	return sim.Seconds(floor * c.constants.Host)
}

// serial returns the time for which the accelerators wait for the host in a step of the given
// sequences.
func (c *Clock) serial(sequences int) sim.Time {
	wait := float64(c.engine.Step) + float64(sequences)*float64(c.engine.Sequence)
	if c.engine.Lookahead == 0 {
		wait += c.hostWork(sequences)
	}
	return sim.Seconds(wait * c.constants.Host)
}

// hostWork returns the seconds in which the reference host schedules a step of the given sequences
// and handles what comes out.
func (c *Clock) hostWork(sequences int) float64 {
	return float64(c.engine.HostStep) + float64(sequences)*float64(c.engine.HostSequence)
}

// Handover returns the host's time that delays the first token of a request that continues at
// another replica.
func (c *Clock) Handover() sim.Time {
	return sim.Seconds(float64(c.engine.Handover) * c.constants.Host)
}

// RequestLatency returns the host's time that delays the first token of a request, without steps.
func (c *Clock) RequestLatency() sim.Time {
	return sim.Seconds(float64(c.engine.Request) * c.constants.Host)
}
