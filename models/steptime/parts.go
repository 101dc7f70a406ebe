package steptime

import (
	"math"

	"github.com/llmsim/llmsim/sim"
)

// Part is a use of an accelerator's time, such as attention.
type Part int

// What a time can be spent on.
const (
	// ReadingWeights is the time in which weights stream in. It is the same in each step that reads
	// them, whatever else goes on beside it.
	ReadingWeights Part = iota
	// ReadingKV is reading what sequences keep, and writing what new tokens add to it.
	ReadingKV
	// MovingScores is writing and reading the scores of naive attention.
	MovingScores
	// MovingActivations is reading and writing the vectors of tokens, and logits.
	MovingActivations
	// Calculating is the time that arithmetic takes beyond the memory traffic that goes on beside
	// it.
	Calculating
	// Exchanging is the time of collectives and of sends to other accelerators.
	Exchanging
	// FixedTimes are the parts of kernels that do not depend on their work.
	FixedTimes
	// OnHost is the time in which accelerators wait for the host.
	OnHost
	// Drafting is the time of the draft model.
	Drafting
	// Undivided is a time that is given as a whole.
	Undivided
	partCount
)

// String returns what a reader sees.
func (p Part) String() string {
	return [partCount]string{"reading weights", "KV cache", "attention scores", "activations",
		"arithmetic beyond reading", "communication", "fixed times", "host", "drafting",
		"given"}[p]
}

// Key returns the name of the part in results.
func (p Part) Key() string {
	return [partCount]string{"weights", "kv", "scores", "activations", "arithmetic", "exchange",
		"fixed", "host", "draft", "given"}[p]
}

// AllParts lists all parts in the order in which they are shown.
func AllParts() []Part {
	list := make([]Part, partCount)
	for i := range list {
		list[i] = Part(i)
	}
	return list
}

// Parts is a time by what it is spent on, in the order of AllParts.
type Parts [partCount]sim.Time

// Seconds returns the parts that there are, by their keys.
func (p Parts) Seconds() map[string]float64 {
	list := map[string]float64{}
	for i, t := range p {
		if t != 0 {
			list[Part(i).Key()] = t.Seconds()
		}
	}
	return list
}

// total returns the sum of all parts.
func (p *Parts) total() sim.Time {
	var t sim.Time
	for i := range p {
		t += p[i]
	}
	return t
}

// partOf returns the part that a bound is mostly made of.
func partOf(b Bound) Part {
	switch b {
	case Compute, Tiles:
		return Calculating
	case Memory:
		return MovingActivations
	case Network:
		return Exchanging
	case Host:
		return OnHost
	case Drafts:
		return Drafting
	case Unknown:
		return Undivided
	}
	return FixedTimes
}

// spending is times in seconds by part.
type spending [partCount]float64

// divideTime divides the time of o among parts that take so many seconds. Where o computes,
// arithmetic gets what they leave; else, and where they take more than there is, they get it in
// proportion.
func (o *Operator) divideTime(s spending) {
	for p, each := range s {
		o.Parts[p] = sim.Seconds(each)
	}
	if rest := o.Time - o.Parts.total(); o.FLOPs > 0 && rest > 0 {
		o.Parts[Calculating] += rest
	}
	o.setTime(o.Time)
}

// setTime sets the time of o to t, and divides it among parts in proportion to what they have.
func (o *Operator) setTime(t sim.Time) {
	o.Time = t
	had := o.Parts.total()
	if had != t && had > 0 {
		factor := float64(t) / float64(had)
		for p, each := range o.Parts {
			o.Parts[p] = sim.Time(math.Round(float64(each) * factor))
		}
	}
	o.Parts[o.longest()] += t - o.Parts.total() // what rounding leaves
}

// longest returns the part with the most time.
func (o *Operator) longest() Part {
	most := partOf(o.Bound)
	for p, t := range o.Parts {
		if t > o.Parts[most] {
			most = Part(p)
		}
	}
	return most
}
