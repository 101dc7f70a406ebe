// Package speculation holds the policies of speculative decoding (Leviathan, Kalman and Matias,
// ICML 2023, arXiv:2211.17192; Chen et al., arXiv:2302.01318): a cheap drafter proposes tokens, and
// the model verifies them all in one step.
//
// A Speculator has four parts. An Acceptance says how likely drafted tokens are accepted. A Shape
// says whether drafts are chains or trees. A Drafter says what drafting costs. A Lengths decides
// how many tokens are drafted in each step. The package also has the closed forms of the papers, to
// which the simulation converges.
package speculation

import (
	"fmt"

	"github.com/llmsim/llmsim/sim"
)

// Config holds the parts and settings of a Speculator.
type Config struct {
	Acceptance Acceptance
	Shape      Shape
	Drafter    Drafter
	Lengths    Lengths
	// Verify predicts the times of the model's steps.
	Verify sim.StepClock
	// Match is the share of steps in (0, 1] in which the drafter has a proposal for a sequence; 0
	// means all steps.
	Match float64
	// Recompute is true if the drafter computes accepted tokens again, because it needs features
	// that only the model computes.
	Recompute bool
	// Ahead is true if drafter and model work at the same time. While a draft is verified, the next
	// one is made as if all of it were accepted; otherwise the next one is thrown away (PEARL: Liu
	// et al., ICLR 2025, arXiv:2408.11850, section 4). The drafter needs accelerators of its own.
	Ahead bool
	// Cold is true if prompts are computed on another replica, so that the drafter still has to
	// compute them.
	Cold bool
	// Step is the host's time for a step with drafts, and Sequence its time for each sequence that
	// has a draft. The accelerators wait for both.
	Step, Sequence sim.Time
	// TokenBudget bounds the tokens of the decoding sequences in a step, drafts included; 0 means
	// no bound. Drafts are shortened to keep it.
	TokenBudget int
	// Seed determines which tokens are accepted.
	Seed uint64
}

// Speculator drafts tokens for one replica, and draws how many of them are accepted.
type Speculator struct {
	c         Config
	drafts    []Draft // by length
	states    sim.PerSequence[state]
	byRequest ByRequest
	learner   Learner
	outlook   Outlook

	step       uint64 // the number of the next step
	leap       leap
	length     int  // that all sequences of the step have, or at most have
	load, late Load // of the step: all drafts, and the ones that were not made ahead
	flops      float64
	accepted   []int64 // by number of tokens accepted: drafts
}

// state is a Speculator's state of one sequence.
type state struct {
	draws
	met  bool
	kind int // of its text: how easily it is drafted, see Acceptance
	// length is the number of tokens in a row of the latest draft.
	length int
	// behind is the number of tokens before the newest one that the drafter still has to compute.
	behind int
	ready  bool // the next draft was made while the last one was verified
}

var _ sim.LeapSpeculator = (*Speculator)(nil)

// New returns the speculator, or an error that says what is wrong with its parts.
func New(c Config) (*Speculator, error) {
	drafts, err := c.Shape.Drafts(c.Acceptance)
	switch {
	case err != nil:
		return nil, err
	case !(c.Match >= 0 && c.Match <= 1):
		return nil, fmt.Errorf("match is %v, want more than 0 and at most 1", c.Match)
	case c.Step < 0 || c.Sequence < 0:
		return nil, fmt.Errorf("the host's time is %v a step and %v a sequence, want 0 or more",
			c.Step, c.Sequence)
	}
	p := &Speculator{c: c, drafts: drafts}
	p.byRequest, _ = c.Lengths.(ByRequest)
	p.learner, _ = c.Lengths.(Learner)
	switch c.Lengths.(type) {
	case Fixed, *ByBatch:
		p.leap.able = !c.Ahead && !p.matching()
	}
	p.load.Sequences = make([]int, len(drafts))
	p.late.Sequences = make([]int, len(drafts))
	p.outlook = Outlook{speculator: p}
	p.accepted = make([]int64, len(drafts))
	return p, nil
}

// Plan implements sim.Speculator.
func (p *Speculator) Plan(b *sim.Batch) {
	p.outlook.look(b.Decodes(), b.Context())
	p.length = min(p.c.Lengths.Length(&p.outlook), p.outlook.most)
	p.load.clear(&p.drafts[p.length])
	p.late.clear(&p.drafts[p.length])
}

// Draft implements sim.Speculator.
func (p *Speculator) Draft(s *sim.Sequence) int {
	d := p.states.Of(s)
	if !d.met {
		d.met, d.kind = true, p.kind(s)
		if p.c.Cold {
			d.behind = s.Stored
		}
	}
	d.length = p.length
	if p.byRequest != nil {
		d.length = p.byRequest.LengthOf(s, p.length)
	}
	if d.length > 0 && p.matching() && !p.matches(s, d) {
		d.length = 0
	}
	if d.length == 0 {
		d.behind, d.ready = d.behind+1, false
		return 0
	}
	p.load.add(s, d)
	if p.c.Ahead && !d.ready {
		p.late.add(s, d)
	}
	d.behind = 0
	return p.drafts[d.length].Tokens
}

// Duration implements sim.Speculator.
func (p *Speculator) Duration(step *sim.Step, verify sim.Time) sim.Time {
	if step.Decodes == 0 {
		p.load.clear(&p.drafts[0])
		p.late.clear(&p.drafts[0])
	}
	p.load.Prefill = step.Prefill
	p.step++
	p.flops += p.c.Drafter.FLOPs(&p.load)
	if !p.c.Ahead {
		return p.together(verify)
	}
	p.flops += p.c.Drafter.FLOPs(&p.late)
	draft := p.c.Drafter.Duration(&p.load)
	return max(verify, draft) + p.c.Drafter.Duration(&p.late) + p.host(p.load.rows())
}

// together returns the time of a step in which model and drafter work in turns.
func (p *Speculator) together(verify sim.Time) sim.Time {
	return verify + p.c.Drafter.Duration(&p.load) + p.host(p.load.rows())
}

// host returns the host's time for a step in which that many sequences have drafts.
func (p *Speculator) host(sequences int) sim.Time {
	if sequences == 0 {
		return 0
	}
	return p.c.Step + p.c.Sequence*sim.Time(sequences)
}

// Accept implements sim.Speculator. The memory may have been too short for the draft; then it is
// not asked.
func (p *Speculator) Accept(s *sim.Sequence, _ int) int {
	d := p.states.Of(s)
	p.draw(s, d, p.step-1)
	n := d.accepted((p.step - 1) % 64)
	p.bookAccepted(s, d, n)
	return n
}

// Settle books that n tokens of the latest draft of s were accepted. It is for callers that find
// this out without Accept.
func (p *Speculator) Settle(s *sim.Sequence, n int) { p.bookAccepted(s, p.states.Of(s), n) }

// bookAccepted books that n tokens of the latest draft d of s were accepted.
func (p *Speculator) bookAccepted(s *sim.Sequence, d *state, n int) {
	p.accepted[n]++
	switch {
	case p.c.Recompute:
		d.behind = n
	case n == d.length:
		d.behind = 1 // the last token was drafted, but not computed by the drafter
	}
	if p.c.Ahead {
		d.ready = n == d.length && p.continues(s, d)
	}
	if p.learner != nil {
		p.learner.Learn(s, d.length, n)
	}
}

// Load returns the drafting of the latest step for which Duration was called. It is valid until the
// next step.
func (p *Speculator) Load() *Load { return &p.load }

// Cost returns the time that the drafting described by l adds to a step, if nothing is drafted
// ahead.
func (p *Speculator) Cost(l *Load) sim.Time { return p.c.Drafter.Duration(l) + p.host(l.rows()) }

// Accepted returns the number of drafts for each number of accepted tokens. It is valid until the
// next step.
func (p *Speculator) Accepted() []int64 { return p.accepted }

// FLOPs returns the number of floating-point operations for drafts so far, of all steps that began.
// Drafts come before the model's part of a step, so they were computed also where the replica fails
// within the step.
func (p *Speculator) FLOPs() float64 { return p.flops }

// clear empties the load, for drafts no longer than d.
func (l *Load) clear(d *Draft) {
	l.Sequences = l.Sequences[:len(d.Expanded)]
	clear(l.Sequences)
	l.Expanded, l.Behind, l.Context, l.Prefill = d.Expanded, 0, 0, nil
}

// add adds the draft of s to the load.
func (l *Load) add(s *sim.Sequence, d *state) {
	for pass := range d.length {
		l.Sequences[pass]++
	}
	l.Behind += d.behind
	l.Context += int64(s.Stored)
}
