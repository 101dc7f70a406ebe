package scenarios

import (
	"math"

	"github.com/llmsim/llmsim/sim"
)

// The mean lengths, in tokens, of which the cycle of a user is predicted where a trace has the
// requests: those of a workload without lengths of its own, about.
const (
	usualPrompt = 500
	usualOutput = 250
)

// cycle returns a function that predicts the mean time from a user's request to the next, for users
// who share the replicas of the pools evenly: see workload.Users.Cycle. It ignores cached prompts,
// drafts and limits of the batch, so that it is only good for spreading users over a cycle.
func cycle(pools []pool, users int) func(prompt, output float64, pause sim.Time) sim.Time {
	return func(prompt, output float64, pause sim.Time) sim.Time {
		if prompt == 0 {
			prompt, output = usualPrompt, usualOutput
		}
		decoding, replicas := &pools[0], 0
		for i := range pools {
			if p := &pools[i]; p.role != sim.Prefill {
				decoding, replicas = p, replicas+p.size
			}
		}
		share := max(1, float64(users)/float64(max(1, replicas)))
		room := share // sequences that the KV cache holds
		if tokens := float64(decoding.Plan.Tokens); tokens > 0 {
			room = max(1, min(room, math.Floor(tokens/(prompt+output))))
		}
		clock, stages := decoding.Clock.Aside(), max(1, decoding.Parallel.Pipeline)
		one := int(math.Ceil(prompt))
		alone := clock.Duration(&sim.Step{Prefill: []sim.Chunk{{New: one, Last: true}}})
		// answer is the time of an answer among others: its steps, and the prompts of the others,
		// of which each comes in once meanwhile.
		answer := func(batch float64) float64 {
			n := max(1, int(batch)/stages)
			step := clock.Duration(&sim.Step{Decodes: n, DecodeTokens: n,
				Context: int64(float64(n) * (prompt + output/2))})
			return math.Ceil(output)*float64(step)*float64(stages) + math.Ceil(batch)*float64(alone)
		}
		// More sequences take longer, and users who wait longer think for less of their time. So
		// the batch grows from 1 to where both agree.
		batch := 1.0
		for range 20 {
			takes := answer(batch)
			batch = min(room, math.Ceil(share*takes/(takes+float64(pause))))
		}
		// Users for whom there is no room wait for their turn.
		takes := max(answer(batch)+float64(pause), answer(batch)*math.Ceil(share)/room)
		return sim.Time(min(takes, float64(sim.Never/2)))
	}
}
