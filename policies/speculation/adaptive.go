package speculation

import (
	"fmt"

	"github.com/llmsim/llmsim/sim"
)

// estimate is an observed acceptance rate, in which recent drafts have more weight. It is the
// number of accepted tokens divided by the number of examined tokens; tokens after a rejection are
// not examined. This is the maximum-likelihood estimate of a truncated geometric distribution.
// 0 <= accepted <= tried, and tried is above 0.
type estimate struct{ accepted, tried float64 }

// prior returns the estimate that would follow from weight examined tokens with an accepted share.
func prior(rate, weight float64) estimate { return estimate{rate * weight, weight} }

func (e *estimate) learn(length, accepted int) {
	e.accepted += float64(accepted)
	e.tried += float64(min(accepted+1, length))
}

// fade brings e nearer to the prior, so that old drafts count less.
func (e *estimate) fade(to estimate, keep float64) {
	e.accepted = to.accepted + float64(keep*(e.accepted-to.accepted))
	e.tried = to.tried + float64(keep*(e.tried-to.tried))
}

func (e *estimate) rate() float64 { return e.accepted / e.tried }

// mean returns the mean number of tokens a step at the estimated rate.
func (e *estimate) mean(length int) float64 {
	mean, reach := 1.0, 1.0
	for range length {
		reach *= e.rate()
		mean += reach
	}
	return mean
}

// Adaptive takes the length that gives the most tokens a second at the observed acceptance rate,
// which is one rate for all requests. This is the goodput of SmartSpec (Liu et al. 2024,
// arXiv:2406.14066, section 4).
type Adaptive struct {
	first, now estimate // at the beginning, which does not change, and of all drafts so far
	keep       float64  // the weight that old drafts keep from one step to the next, in [0, 1)
}

// NewAdaptive returns the policy that begins with the given acceptance rate in (0, 1), and
// remembers about memory steps, at least 1.
func NewAdaptive(initial float64, memory int) (*Adaptive, error) {
	if err := checkEstimate(initial, "memory", memory); err != nil {
		return nil, err
	}
	first := prior(initial, 10)
	return &Adaptive{first: first, now: first, keep: 1 - 1/float64(memory)}, nil
}

// Length implements Lengths. Old observations lose weight with each step, so that drafting is tried
// again after a time in which it did not pay.
func (a *Adaptive) Length(o *Outlook) int {
	a.now.fade(a.first, a.keep)
	return o.best(a.now.mean)
}

// Learn implements Learner.
func (a *Adaptive) Learn(_ *sim.Sequence, length, accepted int) { a.now.learn(length, accepted) }

// PerRequest chooses the length for each request by the request's own acceptance so far. A token is
// drafted if its probability to be accepted, divided by the time that it costs, is above the rate
// at which the batch gives tokens. This is the condition for the optimum of a ratio. Each step uses
// the ratio of the step before (Dinkelbach, Management Science 13(7), 1967).
type PerRequest struct {
	first estimate
	worth float64 // least chance to be accepted for which a token is drafted
	// The figures of the step before: its sequences, the tokens drafted in a row for them, and the
	// expected tokens.
	sequences, drafted int
	tokens             float64
	// tried is the number of examined tokens of a sequence: the accepted ones, and the first
	// rejected token of each draft.
	tried sim.PerSequence[int]
}

// NewPerRequest returns the policy. A new request starts with the given acceptance rate in (0, 1),
// as if weight tokens of it had been examined, at least 1.
func NewPerRequest(initial float64, weight int) (*PerRequest, error) {
	if err := checkEstimate(initial, "weight", weight); err != nil {
		return nil, err
	}
	return &PerRequest{first: prior(initial, float64(weight))}, nil
}

// Length implements Lengths. It returns the longest draft that any request may have.
func (p *PerRequest) Length(o *Outlook) int {
	most := o.Most()
	if most == 0 {
		return 0
	}
	plain := o.Time(0).Seconds()
	perToken := (o.Time(most).Seconds() - plain) / float64(most) // one more for every sequence
	rate := 1 / plain
	if n := float64(p.sequences); n > 0 {
		rate = p.tokens / n / (plain + float64(perToken*float64(p.drafted)/n))
	}
	p.worth = rate * perToken
	p.sequences, p.drafted, p.tokens = 0, 0, 0
	return most
}

// LengthOf implements ByRequest.
func (p *PerRequest) LengthOf(s *sim.Sequence, length int) int {
	own := estimate{p.first.accepted + float64(s.Accepted), p.first.tried + float64(*p.tried.Of(s))}
	n, chance := 0, own.rate()
	p.tokens++
	for n < length && chance > p.worth {
		n++
		p.tokens += chance
		chance *= own.rate()
	}
	p.sequences++
	p.drafted += n
	return n
}

// Learn implements Learner.
func (p *PerRequest) Learn(s *sim.Sequence, length, accepted int) {
	*p.tried.Of(s) += min(accepted+1, length)
}

func checkEstimate(initial float64, name string, tokens int) error {
	if !(initial > 0 && initial < 1) {
		return fmt.Errorf("initial acceptance is %v, want more than 0 and less than 1", initial)
	}
	if tokens < 1 {
		return fmt.Errorf("%s is %d, want at least 1", name, tokens)
	}
	return nil
}
