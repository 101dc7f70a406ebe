package speculation

import (
	"fmt"

	"github.com/llmsim/llmsim/sim"
)

// estimate is an acceptance rate as it has been observed, recent drafts weighing more: accepted
// tokens over tokens looked at, those after a rejection left out, which is the likelihood estimate
// of a geometric law that is cut off.
type estimate struct{ accepted, tried float64 }

// prior returns the estimate of somebody who has seen weight tokens, of which a share was accepted.
func prior(rate, weight float64) estimate { return estimate{rate * weight, weight} }

func (e *estimate) learn(length, accepted int) {
	e.accepted += float64(accepted)
	e.tried += float64(min(accepted+1, length))
}

// fade brings e nearer to the prior: what is long ago counts less.
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

// Adaptive takes the length that gives most tokens a second at the acceptance rate that it
// observes, one for all requests: the goodput of SmartSpec (Liu et al. 2024, arXiv:2406.14066,
// section 4).
type Adaptive struct {
	first, now estimate
	keep       float64
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

// Length implements Lengths. Memory fades with each step, so that drafting that did not pay is
// tried again.
func (a *Adaptive) Length(o *Outlook) int {
	a.now.fade(a.first, a.keep)
	return o.best(a.now.mean)
}

// Learn implements Learner.
func (a *Adaptive) Learn(_ *sim.Sequence, length, accepted int) { a.now.learn(length, accepted) }

// PerRequest gives each request the length that its own acceptance so far is worth: a token is
// drafted where its chance to be accepted, over the time that it costs, is above the rate at which
// the batch gives tokens. That is the condition of the optimum of a ratio, found by going on from
// the ratio of the step before (Dinkelbach, Management Science 13(7), 1967).
type PerRequest struct {
	first estimate
	worth float64 // least chance to be accepted for which a token is drafted
	// Of the step before: its sequences, the tokens drafted in a row for them, and the tokens
	// expected.
	sequences, drafted int
	tokens             float64
	// tried is the number of drafted tokens of a sequence that were looked at: those accepted, and
	// the first one rejected of each draft.
	tried sim.PerSequence[int]
}

// NewPerRequest returns the policy that expects the given acceptance rate in (0, 1) of a new
// request, as if it had seen weight tokens of it, at least 1.
func NewPerRequest(initial float64, weight int) (*PerRequest, error) {
	if err := checkEstimate(initial, "weight", weight); err != nil {
		return nil, err
	}
	return &PerRequest{first: prior(initial, float64(weight))}, nil
}

// Length implements Lengths: the longest that any request may have.
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
