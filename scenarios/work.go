package scenarios

import (
	"math"

	"github.com/llmsim/llmsim/metrics"
	"github.com/llmsim/llmsim/models/steptime"
	"github.com/llmsim/llmsim/sim"
)

// workMeter adds up what the steps of the replicas of a pool computed and moved.
type workMeter struct {
	clock   *steptime.Clock
	decodes decodeMeter
	// counts has all leaps. The work is linear in it, or else it is summed up in total.
	counts steptime.WorkCounts
	linear bool
	total  steptime.Work
	// The arithmetic of the decoding sequences in steps that verify drafts, and the number of their
	// tokens.
	verifyFLOPs  float64
	verifyTokens int64
	// decodeSteps is the number of steps in which sequences decode, and decodeTokens that of their
	// tokens. promptSteps is the number of steps with prompts.
	decodeSteps, decodeTokens, promptSteps int64
	// prompts and decoding divide the time of steps between the two.
	prompts, decoding sim.Time
}

// runObserver is a sim.Observer that sums up latencies and work.
type runObserver struct {
	*metrics.Collector
	work *fleetWork
}

// Steps implements sim.Observer.
func (o runObserver) Steps(l *sim.Leap) {
	o.Collector.Steps(l)
	o.work.byReplica[l.Replica].add(l)
}

// fleetWork adds up the work of each pool.
type fleetWork struct {
	meters    []workMeter
	byReplica []*workMeter
}

func newFleetWork(pools []pool) *fleetWork {
	w := &fleetWork{meters: make([]workMeter, len(pools))}
	for i := range pools {
		w.meters[i].clock = pools[i].Clock
		w.meters[i].linear = pools[i].Clock.LinearWork() && !pools[i].s.drafts()
		for range pools[i].size {
			w.byReplica = append(w.byReplica, &w.meters[i])
		}
	}
	return w
}

// total returns the work of all pools.
func (w *fleetWork) total() workMeter {
	var sum workMeter
	for i := range w.meters {
		m := &w.meters[i]
		work := m.work()
		sum.total.FLOPs += work.FLOPs
		sum.total.Bytes += work.Bytes
		sum.verifyFLOPs += m.verifyFLOPs
		sum.verifyTokens += m.verifyTokens
	}
	return sum
}

// add adds a leap.
func (m *workMeter) add(l *sim.Leap) {
	m.counts.Add(l)
	if !m.linear {
		m.addSteps(l)
	}
	m.divide(l)
	m.decodes.add(l)
	if len(l.Prefill) > 0 {
		m.promptSteps += l.Steps
	}
	if l.Decodes > 0 {
		m.decodeSteps += l.Steps
		m.decodeTokens += l.Steps * int64(l.DecodeTokens)
	}
}

// addSteps adds the work of a leap that is not linear in the counts.
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
	if m.linear {
		return m.clock.WorkOf(&m.counts)
	}
	return m.total
}

// addVerified adds the work of steps that verify drafts.
func (m *workMeter) addVerified(step *sim.Step, l *sim.Leap) {
	for i := range l.Steps {
		if l.Contexts != nil {
			step.Context = l.Contexts[i]
		}
		w := m.clock.Work(step)
		m.total.FLOPs += w.FLOPs
		m.total.Bytes += w.Bytes
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
	m.total.FLOPs += float64(float64(steps) * w.FLOPs)
	m.total.Bytes += float64(float64(steps) * w.Bytes)
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
	steps, decodes := float64(m.decodeSteps), float64(m.counts.Decodes)
	batch := max(1, int(math.Round(decodes/steps)))
	tokens := max(batch, int(math.Round(float64(m.decodeTokens)/steps)))
	each := float64(m.counts.Context) / decodes
	context := max(int64(batch), int64(math.Round(each*float64(batch))))
	return &sim.Step{Decodes: batch, DecodeTokens: tokens, Context: context}
}
