package candidate

import (
	"math"

	"github.com/llmsim/llmsim/policies/speculation"
	"github.com/llmsim/llmsim/scenarios"
	"github.com/llmsim/llmsim/sim"
)

// drafting bounds what the speculative decoding of a server brings.
type drafting struct {
	// reach is, for each kind of request, the chance that a step gives a sequence at least 1, 2, …
	// tokens beside the model's own. Sometimes reports whether there is no draft for a sequence in
	// some steps.
	reach     [][]float64
	sometimes bool
	batch     float64 // the most sequences of a step
	source    *speculation.Speculator
	known     map[waiting]float64
}

// waiting is a number of tokens to come within a time, where a plain step and one with drafts take
// as long as they do.
type waiting struct {
	tokens                 int
	plain, drafted, within sim.Time
}

// NewDrafting looks at the speculative decoding of a server's replica; nil without drafts.
func NewDrafting(s *scenarios.Simulation, batch float64) *drafting {
	p := s.Speculators()[0]
	if p == nil {
		return nil
	}
	match := s.Scenario.Speculation.Match
	return &drafting{reach: p.Reach(), sometimes: match > 0 && match < 1, batch: batch, source: p,
		known: map[waiting]float64{}}
}

// Mean bounds the tokens that a step gives a sequence on average over a long run, where requests of
// all kinds are as frequent: Leviathan et al. 2023 (arXiv:2211.17192), equation 1, for each kind.
// Kinds that get fewer take more steps for the same tokens, so that it is the harmonic mean.
func (d *drafting) Mean() float64 {
	steps := 0.0
	for _, reach := range d.reach {
		tokens := 1.0
		for _, chance := range reach {
			tokens += chance
		}
		steps += 1 / tokens
	}
	return float64(len(d.reach)) / steps
}

// Least bounds the time of a step in which a sequence has a draft, given the time of a plain one.
func (d *drafting) Least(r *sim.Request, plain sim.Time) sim.Time {
	if d.sometimes {
		return plain
	}
	return max(plain, d.source.Least(int64(r.Prompt)+1, d.batch))
}

// inTime bounds the chance that a sequence gets its tokens within a time, with a replica to itself,
// over all kinds of requests.
func (d *drafting) inTime(w waiting) float64 {
	chance, known := d.known[w]
	if !known {
		for _, reach := range d.reach {
			if len(d.reach)*w.tokens <= mostExact {
				chance += walkChance(reach, w)
			} else {
				chance += chernoffTail(reach, w)
			}
		}
		chance /= float64(len(d.reach))
		d.known[w] = chance
	}
	return chance
}

// mostExact bounds the tokens, over all kinds, whose chance is found exactly.
const mostExact = 200

// walkChance returns the chance that K steps with drafts, for some K that a policy may choose as it
// goes, and plain steps in the time that they leave, give all tokens in time. What drafts give is
// drawn anew at each, whatever was chosen before, so that the tokens of K of them are a random
// walk; the chance is that it ever reaches what plain steps leave to it.
func walkChance(reach []float64, w waiting) float64 {
	done := 0.0
	accepted := []float64{1} // the chance of each number, and that the walk goes on
	for k := 0; w.within >= sim.Time(k)*w.drafted; k++ {
		enough := w.tokens - k - int((w.within-sim.Time(k)*w.drafted)/w.plain)
		if enough <= 0 {
			return 1
		}
		for n := enough; n < len(accepted); n++ {
			done += accepted[n]
		}
		accepted = accepted[:min(enough, len(accepted))]
		next := make([]float64, len(accepted)+len(reach))
		for n, chance := range accepted {
			before := 1.0
			for i, at := range reach {
				next[n+i] += float64(chance * (before - at))
				before = at
			}
			next[n+len(reach)] += float64(chance * before)
		}
		accepted = next
	}
	return min(1, done)
}

// chernoffTail bounds that chance from above. A step with drafts brings X = 1 + accepted −
// drafted/plain tokens more than plain steps would in its time, and these must come to what plain
// steps lack: P(max Σ X ≥ lack) ≤ max(1, E[exp(θX)])^n / exp(θ·lack) for at most n steps and any θ
// > 0, by Doob's inequality for the submartingale exp(θ·ΣX), as in Chernoff's bound.
func chernoffTail(reach []float64, w waiting) float64 {
	plain := w.plain.Seconds()
	lack := float64(w.tokens) - w.within.Seconds()/plain
	loss, n := w.drafted.Seconds()/plain-1, math.Floor(w.within.Seconds()/w.drafted.Seconds())
	if lack <= 0 {
		return 1
	}
	least := 0.0 // its logarithm
	for theta := 1.0 / 256; theta <= 8; theta *= math.Sqrt2 {
		moment, before := 0.0, 1.0
		for i, at := range reach {
			moment += float64((before - at) * math.Exp(theta*float64(i)))
			before = at
		}
		moment += float64(before * math.Exp(theta*float64(len(reach))))
		each := math.Log(moment) - float64(theta*loss)
		least = min(least, float64(n*max(0, each))-float64(theta*lack))
	}
	return math.Exp(least)
}
