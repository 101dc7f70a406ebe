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
	// counts has all steps, and verifying the decoding sequences of steps that verify drafts.
	counts, verifying steptime.WorkCounts
	// decodeSteps is the number of steps in which sequences decode, and promptSteps the number of
	// steps with prompts.
	decodeSteps, promptSteps int64
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
		for range pools[i].size {
			w.byReplica = append(w.byReplica, &w.meters[i])
		}
	}
	return w
}

// total returns the FLOPs of all pools, the FLOPs of the decoding sequences in steps that verify
// drafts, and the number of their tokens.
func (w *fleetWork) total() (all, verifying float64, tokens int64) {
	for i := range w.meters {
		m := &w.meters[i]
		all += m.work().FLOPs
		verifying += m.clock.WorkOf(&m.verifying).FLOPs
		tokens += m.verifying.DecodeTokens
	}
	return all, verifying, tokens
}

// add adds a leap.
func (m *workMeter) add(l *sim.Leap) {
	m.clock.Count(&m.counts, l)
	if l.DecodeTokens > l.Decodes {
		decoding := *l
		decoding.Prefill = nil
		m.clock.Count(&m.verifying, &decoding)
	}
	m.divide(l)
	m.decodes.add(l)
	if len(l.Prefill) > 0 {
		m.promptSteps += l.Steps
	}
	if l.Decodes > 0 {
		m.decodeSteps += l.Steps
	}
}

// work returns the work of all steps.
func (m *workMeter) work() steptime.Work { return m.clock.WorkOf(&m.counts) }

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
	tokens := max(batch, int(math.Round(float64(m.counts.DecodeTokens)/steps)))
	each := float64(m.counts.Context) / decodes
	context := max(int64(batch), int64(math.Round(each*float64(batch))))
	return &sim.Step{Decodes: batch, DecodeTokens: tokens, Context: context}
}
