package speculation

import "github.com/llmsim/llmsim/sim"

// Outlook tells a policy of draft lengths about the step that is being formed: the number of
// decoding sequences, the tokens that drafts would give, and the time that the step would take.
type Outlook struct {
	speculator *Speculator
	sequences  int
	context    int64
	most       int
	forecasts  []forecast // by number of sequences
	now        *forecast
	// step is the step to predict. It is a field because a value that is passed to an interface
	// would be allocated each time.
	step sim.Step
	load Load
}

// forecast holds the times of steps by length; 0 for a time that was not computed yet.
type forecast struct {
	context int64
	times   []sim.Time
}

// tolerance is the share by which the context may differ from the context of an earlier forecast
// that is used again. The time of a step changes by less than that share.
const tolerance = 32

// look turns to a step of the given number of sequences with the given context in total.
func (o *Outlook) look(sequences int, context int64) {
	o.sequences, o.context = sequences, context
	o.most = len(o.speculator.drafts) - 1
	if budget := o.speculator.c.TokenBudget; budget > 0 {
		for o.most > 0 && sequences*(1+o.speculator.drafts[o.most].Tokens) > budget {
			o.most--
		}
	}
	for len(o.forecasts) <= sequences {
		o.forecasts = append(o.forecasts, forecast{})
	}
	o.now = &o.forecasts[sequences]
	if d := context - o.now.context; o.now.times == nil || d*tolerance > o.now.context ||
		-d*tolerance > o.now.context {
		o.now.context = context
		if o.now.times == nil {
			o.now.times = make([]sim.Time, len(o.speculator.drafts))
		}
		clear(o.now.times)
	}
}

// Sequences returns the number of sequences that decode.
func (o *Outlook) Sequences() int { return o.sequences }

// Most returns the largest length of a draft: what the speculator is made for, or what the token
// budget allows.
func (o *Outlook) Most() int { return o.most }

// Mean returns the mean number of tokens that a sequence gets from a step with drafts of the given
// number of tokens in a row, including the model's own token.
func (o *Outlook) Mean(length int) float64 { return o.speculator.drafts[length].mean }

// Time returns the time that the step is predicted to take with drafts of the given number of
// tokens in a row for all sequences.
func (o *Outlook) Time(length int) sim.Time {
	if o.now.times[length] == 0 {
		o.now.times[length] = o.predict(length)
	}
	return o.now.times[length]
}

func (o *Outlook) predict(length int) sim.Time {
	p, n := o.speculator, o.sequences
	draft := &p.drafts[length]
	tokens := n * (1 + draft.Tokens)
	o.step = sim.Step{Decodes: n, DecodeTokens: tokens, Context: o.now.context + int64(tokens)}
	verify := p.c.Verify.Duration(&o.step)
	if length == 0 {
		return verify
	}
	o.load = Load{Sequences: o.load.Sequences[:0], Expanded: draft.Expanded, Context: o.now.context}
	for range length {
		o.load.Sequences = append(o.load.Sequences, n)
	}
	drafting := p.c.Drafter.Duration(&o.load)
	if p.c.Ahead {
		late := 1 - draft.reaches(length) // of the drafts made ahead, the useless ones
		return max(verify, drafting) + sim.Time(late*float64(drafting)) + p.host(n)
	}
	return verify + drafting + p.host(n)
}
