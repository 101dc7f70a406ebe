package validation

import (
	"math/rand/v2"
	"slices"
	"sync"

	"github.com/llmsim/llmsim/internal/validation/accuracy"
	"github.com/llmsim/llmsim/models/steptime"
	"github.com/llmsim/llmsim/sim"
)

// rehearsal is a sample of the steps of a simulated run. Under other physics the server would do
// nearly the same steps in other times, so that what becomes of its figures follows from the
// sample, at a hundredth of the time of a simulation.
type rehearsal struct {
	// clock returns the clock under physics; last, or why there is no such clock, is the one under
	// the physics that were asked for last. The mutex guards all three.
	clock   func(p *accuracy.Physics) (*steptime.Clock, error)
	mutex   sync.Mutex
	physics *accuracy.Physics
	last    *steptime.Clock
	failed  error
	// prompts are steps that compute prompts, decodes leaps of steps that do not.
	prompts, decodes reservoir
	// request and token are what a request and each token of its prompt cost besides steps, in ms;
	// 0 where that does not count.
	request, token float64
	// tokens is the number of tokens of all prompts, completed the number of prompts.
	tokens, completed float64
	rng               *rand.Rand
}

// reservoirSize is the number of steps of each kind that are kept: enough for slopes within a few
// percent.
const reservoirSize = 12

// reservoir keeps some of the leaps that it is shown, each with the same chance (Vitter, ACM Trans.
// Mathematical Software 11(1), 1985, algorithm R).
type reservoir struct {
	kept []rehearsed
	seen int
}

// rehearsed is a step like several that were made.
type rehearsed struct {
	step  sim.Step
	steps float64
	// took is the time of all, waiting the number of sequences that had their first token and got
	// no token meanwhile or one a step.
	took    float64
	waiting float64
}

func newRehearsal(clock func(p *accuracy.Physics) (*steptime.Clock, error)) *rehearsal {
	return &rehearsal{clock: clock, rng: rand.New(rand.NewPCG(0, 0))}
}

// see shows the rehearsal a leap of the run.
func (r *rehearsal) see(l *sim.Leap) {
	into := &r.decodes
	if len(l.Prefill) > 0 {
		into = &r.prompts
	}
	for i := range l.Prefill {
		r.tokens += float64(l.Prefill[i].New)
		if l.Prefill[i].Last {
			r.completed++
		}
	}
	into.seen++
	at := len(into.kept)
	if at == reservoirSize {
		if at = r.rng.IntN(into.seen); at >= reservoirSize {
			return
		}
	} else {
		into.kept = append(into.kept, rehearsed{})
	}
	prompts := slices.Clone(l.Prefill)
	for i := range prompts {
		prompts[i].Sequence = nil // it would keep the whole simulation in memory
	}
	into.kept[at] = rehearsed{
		step: sim.Step{
			Decodes: l.Decodes, DecodeTokens: l.DecodeTokens,
			Context: l.ContextSum() / l.Steps, Prefill: prompts,
		},
		steps: float64(l.Steps), took: (l.End - l.Start).Seconds(),
		waiting: float64(max(l.Decodes, l.Running-len(l.Prefill))),
	}
}

// sums returns, scaled to all leaps that were shown, the time of all steps, that time for each
// sequence that waits for a token, and the time of steps with prompts alone. Nil means the times of
// the run itself.
func (r *rehearsal) sums(clock sim.StepClock) (all, gaps, prompts float64) {
	for _, from := range []*reservoir{&r.prompts, &r.decodes} {
		scale := float64(from.seen) / float64(max(1, len(from.kept)))
		for i := range from.kept {
			k := &from.kept[i]
			seconds := k.took
			if clock != nil {
				seconds = k.steps * clock.Duration(&k.step).Seconds()
			}
			all += scale * seconds
			gaps += scale * seconds * k.waiting
			if from == &r.prompts {
				prompts += scale * seconds
			}
		}
	}
	return all, gaps, prompts
}

// figure returns about what a figure of the run would be under other physics, and whether that is
// known without a simulation.
func (r *rehearsal) figure(c *accuracy.Comparison, p *accuracy.Physics) (float64, bool) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if r.physics != p {
		r.physics = p
		r.last, r.failed = r.clock(p)
	}
	if r.failed != nil {
		return 0, false
	}
	all, gaps, prompts := r.sums(nil)
	newAll, newGaps, newPrompts := r.sums(r.last)
	switch accuracy.QuantityFamily(c.Quantity) {
	case "output rate", "capacity":
		return c.Predicted * all / newAll, all > 0
	case "TPOT", "E2E":
		return c.Predicted * newGaps / gaps, gaps > 0
	case "TTFT":
		if prompts == 0 {
			return 0, false
		}
		had, has := r.request+r.token*r.meanPrompt(), 0.0
		if had > 0 {
			request, token := r.last.RequestLatency()
			has = request.Milliseconds() + token.Milliseconds()*r.meanPrompt()
		}
		return (c.Predicted-min(had, 0.9*c.Predicted))*newPrompts/prompts + has, true
	}
	return 0, false
}

// meanPrompt returns the mean number of tokens of the prompts that were completed.
func (r *rehearsal) meanPrompt() float64 { return r.tokens / max(1, r.completed) }

// rehearsable lets comparisons be rehearsed.
func rehearsable(list []accuracy.Comparison, r *rehearsal) []accuracy.Comparison {
	if r == nil {
		return list
	}
	for i := range list {
		c := list[i]
		list[i].Rehearsal = func(p *accuracy.Physics) (float64, bool) { return r.figure(&c, p) }
	}
	return list
}
