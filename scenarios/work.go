package scenarios

import (
	"github.com/llmsim/llmsim/models/steptime"
	"github.com/llmsim/llmsim/sim"
)

// workMeter is a sim.Observer that adds up what the steps computed and moved.
type workMeter struct {
	clock *steptime.Clock
	total steptime.Work
	// Of the steps that verify drafts: the arithmetic of the sequences that decode, and their tokens.
	verifyFLOPs  float64
	verifyTokens int64
	// Sums over the steps in which someone decodes, for the mean of them.
	decodeSteps, decodes, decodeTokens, context int64
}

// Steps implements sim.Observer. The work of a leap is that of its middle step times their number: it is affine in the context.
func (m *workMeter) Steps(l *sim.Leap) {
	context := l.Context + int64(l.Decodes)*(l.Steps-1)/2
	step := sim.Step{Decodes: l.Decodes, DecodeTokens: l.DecodeTokens, Context: context, Prefill: l.Prefill}
	w := m.clock.Work(&step)
	m.total.FLOPs += float64(float64(l.Steps) * w.FLOPs)
	m.total.Bytes += float64(float64(l.Steps) * w.Bytes)
	if l.DecodeTokens > l.Decodes {
		step.Prefill = nil
		m.verifyFLOPs += m.clock.Work(&step).FLOPs
		m.verifyTokens += int64(l.DecodeTokens)
	}
	if l.Decodes > 0 {
		m.decodeSteps += l.Steps
		m.decodes += l.Steps * int64(l.Decodes)
		m.decodeTokens += l.Steps * int64(l.DecodeTokens)
		m.context += l.Steps * context
	}
}

// Finished implements sim.Observer.
func (m *workMeter) Finished(*sim.Sequence) {}

// Rejected implements sim.Observer.
func (m *workMeter) Rejected(*sim.Request, sim.Rejection) {}

// Sampled implements sim.Observer.
func (m *workMeter) Sampled(sim.Time, int, sim.State) {}
