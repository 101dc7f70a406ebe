package candidate

import (
	"math"
	"slices"
	"strings"

	"github.com/llmsim/llmsim/internal/planner/capacity/asked"
	"github.com/llmsim/llmsim/policies/speculation"
	"github.com/llmsim/llmsim/scenarios"
	"github.com/llmsim/llmsim/sim"
)

// BoundSlack is by how much bounds are looser than they claim: the step times that they interpolate
// are not quite convex.
const BoundSlack = 1.05

// Pace bounds the times of a server's steps from below.
type Pace struct {
	// Hull is the lower convex hull through the seconds of steps of 1, 2, 3, 4, 6, 8, 12, … tokens,
	// attention left out.
	Hull []point
	// curve has the least seconds of steps in which at least that many sequences decode, attention
	// left out, for growing numbers of them.
	curve []point
	// token is the least time for a token of a prompt in the best of steps, context the least time
	// to attend to a token of context, both in seconds.
	token, context float64
	// Batch is the largest number of sequences of a step, and room the KV memory in tokens; +Inf if
	// it is no bound.
	Batch, room float64
	// Stride is the largest number of tokens that a sequence gains in a step, and mean the average
	// over a long run.
	Stride, Mean float64
	// Shares reports whether prompt tokens may come from a cache.
	Shares bool
	// Watts is the least power of an accelerator while a step runs.
	Watts float64
}

type point struct{ tokens, seconds float64 }

// LargestStep is the number of tokens up to which steps are looked at.
const LargestStep = 1 << 15

// NewPace looks at the steps of a clock.
func NewPace(s *scenarios.Steps) Pace {
	p := Pace{context: contextTime(s), Watts: leastPower(s)}
	for t := 1; t <= LargestStep; t *= 2 {
		p.Hull = appendBelow(p.Hull, point{float64(t), LinearTime(s, t)})
		if half := t + t/2; t > 1 && half < LargestStep { // a tile ends between powers of two
			p.Hull = appendBelow(p.Hull, point{float64(half), LinearTime(s, half)})
		}
	}
	p.curve = curve(s)
	last := p.Hull[len(p.Hull)-1]
	p.token = last.seconds / last.tokens
	if n := len(p.Hull); n > 1 {
		before := p.Hull[n-2]
		p.token = min(p.token, (last.seconds-before.seconds)/(last.tokens-before.tokens))
	}
	return p
}

// Under returns the pace with the limits of a server's policies and memory.
func (p Pace) Under(s *scenarios.Steps) Pace {
	p.Batch, p.room, p.Stride, p.Mean = math.Inf(1), math.Inf(1), 1, 1
	if most, _ := s.Scenario.Batching.Limits(); most > 0 {
		p.Batch = float64(most)
	}
	if kept := s.Memory.State; kept.Windowed == 0 && kept.Fixed == 0 {
		p.room = float64(s.Memory.Tokens)
	}
	if d := s.Scenario.Speculation; d != nil {
		p.Stride += float64(d.Tokens)
		p.Mean = p.Stride
	}
	p.Shares = !slices.Contains([]string{"paged", "contiguous"}, s.Scenario.Memory.Policy)
	return p
}

// appendBelow adds a point to the right of a lower convex hull.
func appendBelow(hull []point, next point) []point {
	for len(hull) >= 2 {
		a, b := hull[len(hull)-2], hull[len(hull)-1]
		if (b.seconds-a.seconds)*(next.tokens-a.tokens) <
			(next.seconds-a.seconds)*(b.tokens-a.tokens) {
			break
		}
		hull = hull[:len(hull)-1]
	}
	return append(hull, next)
}

// Step bounds the seconds of a step of n tokens, attention left out.
func (p *Pace) Step(n float64) float64 {
	for i := 1; i < len(p.Hull); i++ {
		if a, b := p.Hull[i-1], p.Hull[i]; n <= b.tokens || i == len(p.Hull)-1 {
			return max(a.seconds+(b.seconds-a.seconds)*(max(n, 1)-a.tokens)/(b.tokens-a.tokens), 0)
		}
	}
	return p.Hull[0].seconds
}

// Both bounds the seconds for which a server that does both is busy with requests. They take k
// steps together at least: the tokens of their answers, divided by the sequences of a step, which
// the batching policy and the KV memory limit. With steps of n tokens taking f(n), f convex, that
// is at least k·f(N/k) for N tokens in all (Jensen), which grows with k and with N; attention to
// the context comes on top.
func (p *Pace) Both(w *asked.Work) float64 {
	prompt := w.Prompt
	if p.Shares {
		prompt = w.Fresh
	}
	return p.steps(w, prompt+w.Output)
}

// Prefill bounds the seconds for which a server that only computes prompts is busy with requests.
func (p *Pace) Prefill(w *asked.Work) float64 {
	if p.Shares {
		return w.Fresh * p.token
	}
	return w.Prompt * p.token
}

// Decode bounds the seconds for which a server that only decodes is busy with requests. Their first
// tokens come with the prompts.
func (p *Pace) Decode(w *asked.Work) float64 {
	later := *w
	if w.Output > 0 {
		share := (w.Output - w.Requests) / w.Output
		later.Output, later.Stored, later.Own = w.Output*share, w.Stored*share, w.Own*share
	}
	return p.steps(&later, later.Output)
}

// steps bounds the seconds of the steps in which a number of tokens are computed. Sequences may
// share memory, but each attends to its whole context.
func (p *Pace) steps(w *asked.Work, tokens float64) float64 {
	held := w.Stored
	if p.Shares {
		held = w.Own
	}
	k := max(w.Output/p.Batch, held/p.room, w.Output/LargestStep) / p.Mean
	if k <= 0 {
		return tokens * p.token
	}
	return float64(k*p.Step(tokens/k)) + float64(w.Stored/p.Mean*p.context)
}

// paced bounds the seconds for which a server is busy that gives the kept ones of requests their
// tokens within a limit of seconds each, on average over an answer. Prompts are left out. The kept
// ones may be those whose drafts fare best: they take the steps that all take on average but for
// one for each token of the others.
func (p *Pace) paced(w, kept *asked.Work, limit float64) float64 {
	all, tokens := w.Output-w.Requests, kept.Output-kept.Requests
	if tokens <= 0 {
		return kept.Stored * p.context / p.Stride
	}
	steps := max(tokens/p.Stride, all/p.Mean-(all-tokens))
	gain := tokens / steps
	return (float64(tokens*p.share(limit*gain)) + float64(kept.Stored*p.context)) / gain
}

// share bounds a token's share of the seconds of steps, f(n)/n of a step of n sequences, where
// tokens are of steps that take a limit at most on average. So it is the least mean of f(n)/n over
// any shares of the tokens with a mean of f(n) within the limit: the lower convex hull of the
// points (f(n), f(n)/n), at the limit. Nothing is asked of f but that it grows.
func (p *Pace) share(limit float64) float64 {
	var hull []point // seconds of the step, seconds of a token
	for i, c := range p.curve {
		most := p.Batch
		if i+1 < len(p.curve) {
			most = min(most, p.curve[i+1].tokens-1)
		}
		if c.tokens > p.Batch {
			break
		}
		hull = appendBelow(hull, point{c.seconds, c.seconds / max(most, c.tokens)})
	}
	for i := 1; i < len(hull); i++ {
		a, b := hull[i-1], hull[i]
		if b.seconds >= a.seconds {
			return a.seconds
		}
		if limit < b.tokens {
			slope := (b.seconds - a.seconds) / (b.tokens - a.tokens)
			return min(a.seconds, a.seconds+float64(slope*(limit-a.tokens)))
		}
	}
	return hull[len(hull)-1].seconds
}

// mostDecoding is the number of sequences up to which steps are looked at.
const mostDecoding = 4096

// curve looks at the steps of a clock in which sequences decode: each number up to 64, and then
// numbers that grow by a 32nd.
func curve(s *scenarios.Steps) []point {
	var list []point
	for n := 1; n <= mostDecoding; n += max(1, n/32) {
		decode := sim.Step{Decodes: n, DecodeTokens: n, Context: int64(n)}
		list = append(list, point{float64(n), withoutAttention(s, &decode)})
	}
	for i := len(list) - 2; i >= 0; i-- {
		list[i].seconds = min(list[i].seconds, list[i+1].seconds)
	}
	return list
}

// leastPower looks at the watts of an accelerator in steps of sequences that decode, after short
// and after long contexts, and of prompts.
func leastPower(s *scenarios.Steps) float64 {
	least := s.Accelerator.PeakPower
	for n := 1; n <= mostDecoding; n *= 2 {
		for _, step := range []sim.Step{
			{Decodes: n, DecodeTokens: n, Context: int64(n)},
			{Decodes: n, DecodeTokens: n, Context: int64(n) * 8192},
			{Prefill: []sim.Chunk{{New: n, Last: true}}},
		} {
			least = min(least, s.Accelerator.Power(s.Clock.Usage(&step)))
		}
	}
	return least
}

// LinearTime is the time of a step of n tokens without attention: the shorter of n sequences that
// decode, and a chunk of a prompt on each data-parallel rank.
func LinearTime(s *scenarios.Steps, n int) float64 {
	ranks := max(1, s.Memory.Ranks)
	decode := sim.Step{Decodes: n, DecodeTokens: n, Context: int64(n)}
	var prefill sim.Step
	for i := range min(ranks, n) {
		prefill.Prefill = append(prefill.Prefill, sim.Chunk{New: (n + i) / min(ranks, n)})
	}
	return min(withoutAttention(s, &decode), withoutAttention(s, &prefill))
}

func withoutAttention(s *scenarios.Steps, step *sim.Step) float64 {
	t := s.Clock.Duration(step)
	for _, op := range s.Clock.Breakdown(step) {
		if strings.HasPrefix(op.Name, "attention") {
			t -= op.Time
		}
	}
	return t.Seconds()
}

// contextTime bounds the seconds of attending to one token of context from below.
func contextTime(s *scenarios.Steps) float64 {
	least := sim.Never
	for n := 1; n <= 256; n *= 4 {
		least = min(least, s.Clock.Decode(n, int64(n)*1024).PerToken)
	}
	return least.Seconds()
}

// PrefillAlone is the least time in which a prompt can be computed.
func (s *Server) PrefillAlone(steps *scenarios.Steps, r *sim.Request) sim.Time {
	if s.Pace.Shares && len(r.Content) > 0 {
		return 0
	}
	budget := s.Budget
	if budget == 0 {
		budget = r.Prompt
	}
	var t sim.Time
	for done := 0; done < r.Prompt; {
		n := min(budget, r.Prompt-done)
		t += steps.Clock.Duration(&sim.Step{
			Prefill: []sim.Chunk{{New: n, Cached: done, Last: done+n == r.Prompt}}})
		done += n
	}
	return t
}

// DecodeAlone is the least time per token after the first.
func (s *Server) DecodeAlone(steps *scenarios.Steps, r *sim.Request) sim.Time {
	return sim.Time(float64(PlainStep(steps, r)) / s.Pace.Stride)
}

// PlainStep is the least time of a step in which a request decodes, and nobody drafts.
func PlainStep(steps *scenarios.Steps, r *sim.Request) sim.Time {
	if r.Output <= 1 {
		return 0
	}
	return steps.Clock.Decode(1, int64(r.Prompt)+1).At(int64(r.Prompt) + 1)
}

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
