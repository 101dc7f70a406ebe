package scenarios

import (
	"math"

	"github.com/llmsim/llmsim/models/steptime"
	"github.com/llmsim/llmsim/sim"
)

// workMeter adds up what the steps of the replicas of a pool computed and moved.
type workMeter struct {
	clock *steptime.Clock
	// counts has the leaps whose work is linear in it, and others is the work of all others.
	linear bool
	counts steptime.WorkCounts
	others steptime.Work
	// The arithmetic of the decoding sequences in steps that verify drafts, and the number of their
	// tokens.
	verifyFLOPs  float64
	verifyTokens int64
	// Sums over the steps in which sequences decode, from which the mean step follows.
	decodeSteps, decodes, decodeTokens, context int64
	// promptSteps is the number of steps with prompts, and promptTokens the number of prompt tokens
	// in them.
	promptSteps, promptTokens int64
	// prompts and decoding divide the time of steps between the two.
	prompts, decoding sim.Time
}

// fleetWork is a sim.Observer that adds up the work of each pool.
type fleetWork struct {
	sim.NopObserver
	meters    []workMeter
	byReplica []*workMeter
}

func newFleetWork(pools []pool) *fleetWork {
	w := &fleetWork{meters: make([]workMeter, len(pools))}
	for i := range pools {
		w.meters[i].clock, w.meters[i].linear = pools[i].Clock, pools[i].Clock.LinearWork()
		for range pools[i].size {
			w.byReplica = append(w.byReplica, &w.meters[i])
		}
	}
	return w
}

// Steps implements sim.Observer.
func (w *fleetWork) Steps(l *sim.Leap) { w.byReplica[l.Replica].add(l) }

// total returns the work of all pools.
func (w *fleetWork) total() workMeter {
	var sum workMeter
	for i := range w.meters {
		m := &w.meters[i]
		work := m.work()
		sum.others.FLOPs += work.FLOPs
		sum.others.Bytes += work.Bytes
		sum.verifyFLOPs += m.verifyFLOPs
		sum.verifyTokens += m.verifyTokens
		sum.decodeSteps += m.decodeSteps
		sum.decodes += m.decodes
		sum.decodeTokens += m.decodeTokens
		sum.context += m.context
	}
	return sum
}

// add adds a leap.
func (m *workMeter) add(l *sim.Leap) {
	if m.linear && l.DecodeTokens == l.Decodes {
		m.counts.Add(l)
	} else {
		m.addSteps(l)
	}
	m.divide(l)
	if len(l.Prefill) > 0 {
		m.promptSteps += l.Steps
	}
	for i := range l.Prefill {
		m.promptTokens += l.Steps * int64(l.Prefill[i].New)
	}
	if l.Decodes > 0 {
		m.decodeSteps += l.Steps
		m.decodes += l.Steps * int64(l.Decodes)
		m.decodeTokens += l.Steps * int64(l.DecodeTokens)
		m.context += l.ContextSum()
	}
}

// addSteps adds the work of a leap that is not linear in counts.
func (m *workMeter) addSteps(l *sim.Leap) {
	step := sim.Step{Decodes: l.Decodes, DecodeTokens: l.DecodeTokens, Context: l.Context,
		Prefill: l.Prefill}
	if l.DecodeTokens > l.Decodes || l.Ends != nil {
		m.addVerified(&step, l)
		return
	}
	for done := int64(0); done < l.Steps; {
		done += m.addWork(&step, l.Steps-done)
	}
}

// work returns the work of all leaps.
func (m *workMeter) work() steptime.Work {
	w := m.clock.WorkOf(&m.counts)
	w.FLOPs += m.others.FLOPs
	w.Bytes += m.others.Bytes
	return w
}

// addVerified adds the work of steps that verify drafts.
func (m *workMeter) addVerified(step *sim.Step, l *sim.Leap) {
	for i := range l.Steps {
		if l.Contexts != nil {
			step.Context = l.Contexts[i]
		}
		w := m.clock.Work(step)
		m.others.FLOPs += w.FLOPs
		m.others.Bytes += w.Bytes
		if l.DecodeTokens > l.Decodes {
			if step.Prefill = nil; len(l.Prefill) > 0 {
				w = m.clock.Work(step)
			}
			m.verifyFLOPs += w.FLOPs
			m.verifyTokens += int64(l.DecodeTokens)
		}
	}
}

// addWork adds the work of the first steps of a leap, and returns their number. Their work is
// affine in the context, so it is their number times the mean of the first and the last step. It
// moves the step on to the context after them.
func (m *workMeter) addWork(step *sim.Step, most int64) int64 {
	w, n := m.clock.Work(step), int64(step.Decodes)
	steps := most
	if most > 1 {
		if at := m.clock.WorkThrough(step.Decodes, step.Context); at < math.MaxInt64 {
			steps = min(most, 1+(at-step.Context)/n)
		}
	}
	if steps > 1 {
		step.Context += n * (steps - 1)
		last := m.clock.Work(step)
		w.FLOPs, w.Bytes = (w.FLOPs+last.FLOPs)/2, (w.Bytes+last.Bytes)/2
	}
	if steps < most {
		step.Context += n
	}
	m.others.FLOPs += float64(float64(steps) * w.FLOPs)
	m.others.Bytes += float64(float64(steps) * w.Bytes)
	return steps
}

// divide adds the time of a leap to that of prompts and decoding. Of a step for both, decoding
// counts the time that it would take alone, and prompts count the rest.
func (m *workMeter) divide(l *sim.Leap) {
	decoding := l.End - l.Start
	if len(l.Prefill) > 0 {
		alone := sim.Time(0)
		if l.Decodes > 0 {
			alone = m.clock.Decode(l.Decodes, l.Context).At(l.Context)
		}
		decoding = min(alone, decoding)
	}
	m.decoding += decoding
	m.prompts += l.End - l.Start - decoding
}

// meanDecode returns the mean of the steps in which sequences decoded, or nil if none did.
func (m *workMeter) meanDecode() *sim.Step {
	if m.decodeSteps == 0 {
		return nil
	}
	steps, decodes := float64(m.decodeSteps), float64(m.decodes)
	batch := max(1, int(math.Round(decodes/steps)))
	tokens := max(batch, int(math.Round(float64(m.decodeTokens)/steps)))
	context := max(int64(batch), int64(math.Round(float64(m.context)/decodes*float64(batch))))
	return &sim.Step{Decodes: batch, DecodeTokens: tokens, Context: context}
}
