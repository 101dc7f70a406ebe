package playground

import (
	"github.com/llmsim/llmsim/models/steptime"
	"github.com/llmsim/llmsim/sim"
)

// Frame is a step as the stage shows it: when it ran, what it was spent on, and what there is at
// its end. Times are in milliseconds.
type Frame struct {
	// Step is the number of the step, from 1.
	Step int64   `json:"step"`
	From float64 `json:"from"`
	To   float64 `json:"to"`
	// Parts is what the step's time is spent on, Bound what binds most of it.
	Parts Parts          `json:"parts"`
	Bound steptime.Bound `json:"bound"`
	// Bytes is what the step moves, FLOP what it computes, on one accelerator.
	Bytes Bytes `json:"bytes"`
	FLOP  FLOP  `json:"flop"`
	// Intensity is FLOP per byte of memory traffic, Rate in FLOP/s while the step computes; the
	// roof is at Peak FLOP/s and Bandwidth B/s. All are of one accelerator.
	Intensity float64 `json:"intensity"`
	Rate      float64 `json:"rate"`
	Peak      float64 `json:"peak"`
	Bandwidth float64 `json:"bandwidth"`

	Waiting []Waiting `json:"waiting"`
	Running []Running `json:"running"`
	// Answered is the number of requests that were answered so far.
	Answered int64 `json:"answered"`
	// Rejected are the requests that ended without an answer since the last frame.
	Rejected []int64 `json:"rejected,omitempty"`
	// Decoding is how many rows decode, including rows that pad a static batch.
	Decoding int `json:"decoding"`
	// Used and Capacity are in the memory's units; KV blocks, where it has any. Slots is the
	// capacity in tokens.
	Used     int64 `json:"used"`
	Capacity int64 `json:"capacity"`
	Slots    int64 `json:"slots"`
}

// Running is a request that has a place in the batch, or had it in this step.
type Running struct {
	ID int64 `json:"id"`
	// Arrived is when the request came.
	Arrived float64 `json:"arrived"`
	// Does is what the step did for it: prefill, decode, hold (complete, and keeps its place in a
	// static batch), stall (nothing in this step), or evicted (it lost its place, and waits).
	Does string `json:"does"`
	// New is the number of prompt tokens that the step computed, Cached how many the prefix cache
	// supplied at first.
	New    int `json:"new,omitempty"`
	Cached int `json:"cached,omitempty"`
	// Stored is how many tokens have their KV stored, Room for how many there is room.
	Stored int   `json:"stored"`
	Room   int64 `json:"room"`
	// Prompt and Output are its lengths, Tokens how many of the answer there are.
	Prompt int `json:"prompt"`
	Output int `json:"output"`
	Tokens int `json:"tokens"`
	// Done is true where the step gave the last token, and the memory is free again.
	Done bool `json:"done,omitempty"`
	// Accepted is the number of drafted tokens that were accepted so far.
	Accepted int `json:"accepted,omitempty"`
}

// Parts is the time of a step in milliseconds, by what it is spent on, as steptime.Part has it.
type Parts struct {
	Weights     float64 `json:"weights"`
	KV          float64 `json:"kv"`
	Scores      float64 `json:"scores"`
	Activations float64 `json:"activations"`
	Arithmetic  float64 `json:"arithmetic"`
	Exchange    float64 `json:"exchange"`
	Fixed       float64 `json:"fixed"`
	Host        float64 `json:"host"`
	// Rest is drafting, waiting for transfers from and to host memory, and for stages that are
	// busy.
	Rest float64 `json:"rest"`
}

// split returns the parts of a step that lasts for the given time.
func split(p *steptime.Parts, whole sim.Time) Parts {
	rest := whole + p[steptime.Drafting] // which is part of the rest
	for _, t := range p {
		rest -= t
	}
	return Parts{
		Weights: milliseconds(p[steptime.ReadingWeights]), KV: milliseconds(p[steptime.ReadingKV]),
		Scores:      milliseconds(p[steptime.MovingScores]),
		Activations: milliseconds(p[steptime.MovingActivations]),
		Arithmetic:  milliseconds(p[steptime.Calculating]),
		Exchange:    milliseconds(p[steptime.Exchanging]),
		Fixed:       milliseconds(p[steptime.FixedTimes] + p[steptime.Undivided]),
		Host:        milliseconds(p[steptime.OnHost]), Rest: milliseconds(rest),
	}
}

// Sum returns the time of all parts.
func (p *Parts) Sum() float64 {
	return p.Weights + p.KV + p.Scores + p.Activations + p.Arithmetic + p.Exchange + p.Fixed +
		p.Host + p.Rest
}

func milliseconds(t sim.Time) float64 { return 1000 * t.Seconds() }

// frame returns what there is at the end of a step.
func (s *Stage) frame(l *sim.Leap, carried *step) Frame {
	f := Frame{
		Step: s.steps, Answered: s.answered,
		From: milliseconds(l.Start), To: milliseconds(l.End),
		Parts: split(&carried.sum.Parts, l.End-l.Start), Bound: carried.sum.Bound,
		Bytes: bytesOf(&carried.sum), FLOP: carried.flop,
		Decoding: carried.decoding, Intensity: carried.sum.Intensity(),
		Rate: carried.sum.FLOPs / carried.sum.Time.Seconds(),
		Peak: s.flops, Bandwidth: s.bandwidth,
		Waiting: s.source.arrived(l.End), Running: append([]Running{}, s.fresh.finished...),
		Rejected: s.fresh.rejected, Used: l.Used, Capacity: s.memory.Capacity(), Slots: s.slots,
	}
	for q := range s.running {
		f.Running = append(f.Running, s.show(q, carried))
		for i := len(f.Running) - 1; i > 0 && f.Running[i].ID < f.Running[i-1].ID; i-- {
			f.Running[i], f.Running[i-1] = f.Running[i-1], f.Running[i]
		}
	}
	return f
}

// show returns what a request that runs looks like.
func (s *Stage) show(q *sim.Sequence, carried *step) Running {
	r := Running{
		ID: q.ID, Arrived: milliseconds(q.Arrival), Cached: q.Cached, Stored: q.Context(),
		Prompt: q.Prompt, Output: q.Output,
		Tokens: min(q.Progress(), q.Output), Accepted: q.Accepted, Done: q.LastToken > 0 &&
			q.Progress() >= q.Output && !q.Running(),
	}
	r.Room = int64(r.Stored)
	if m, ok := s.memory.(sim.SlotMemory); ok && q.Running() {
		r.Room = m.Room(q, r.Stored)
	}
	did, inStep := carried.work[q.ID]
	switch {
	case !q.Running() && !r.Done:
		r.Does = "evicted"
	case inStep && did.prompt > 0:
		r.Does, r.New = "prefill", did.prompt
	case inStep:
		r.Does = "decode"
	case q.Progress() >= q.Output:
		r.Does = "hold"
	default:
		r.Does = "stall"
	}
	if r.Done {
		r.Stored, r.Room = 0, 0
	}
	return r
}
