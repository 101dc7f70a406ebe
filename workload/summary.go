package workload

import (
	"fmt"
	"math"
	"path/filepath"
	"strings"

	"github.com/llmsim/llmsim/sim"
)

// Summary describes a workload before it runs. A figure is 0 if it is not known beforehand: the
// rate of a closed loop or of requests that all arrive at once, and every figure of a trace.
type Summary struct {
	// Text describes the workload in words.
	Text string
	// Rate is the mean number of requests a second in the long run, later turns of conversations
	// included.
	Rate float64
	// Prompt and Output are the mean lengths in tokens over all requests, including prefixes and
	// earlier turns. They ignore that conversations may end early because their context is too
	// long.
	Prompt, Output float64
	// Requests is the largest number of requests to send, and Duration the time at which sending
	// ends; 0 if there is no such limit.
	Requests int64
	Duration sim.Time
}

// summary describes a config that was checked.
func (c Config) summary() Summary {
	s := Summary{Text: c.String(), Requests: c.Requests, Duration: c.Duration}
	if len(c.Classes) == 0 {
		return s
	}
	flows, known := c.flows()
	sent := 0.0
	var means [][3]float64 // requests, tokens of prompts and of answers, by class
	for i, class := range c.Classes {
		turns, prompt, output := class.expect()
		sent += float64(flows[i] * turns)
		s.Prompt += float64(flows[i] * prompt)
		s.Output += float64(flows[i] * output)
		means = append(means, [3]float64{flows[i] * turns, flows[i] * prompt, flows[i] * output})
	}
	for _, e := range c.Escalations {
		of := means[e.From]
		for k := range of {
			of[k] *= e.Share
		}
		sent, s.Prompt, s.Output = sent+of[0], s.Prompt+of[1], s.Output+of[2]
		means = append(means, of)
	}
	s.Prompt, s.Output = rounded(s.Prompt/sent), rounded(s.Output/sent)
	if known {
		s.Rate = sent
	}
	return s
}

// rounded returns a mean without its last bits, which may differ between machines.
func rounded(tokens float64) float64 {
	const grid = 1 << 20
	return math.Round(tokens*grid) / grid
}

// flows returns the number of requests (or conversations) of each class that arrive in a second. If
// this is not known, it returns numbers in the right proportion, as far as they are known.
func (c Config) flows() (list []float64, known bool) {
	total := 0.0
	for _, class := range c.Classes {
		if class.Arrivals == nil {
			total += class.Weight
		}
	}
	shared := 0.0
	if c.Arrivals != nil {
		shared = c.Arrivals.Rate.Mean()
	}
	known = c.Users == nil && !math.IsInf(shared, 1)
	if !known {
		shared = total
	}
	for _, class := range c.Classes {
		if class.Arrivals != nil {
			list = append(list, class.Arrivals.Rate.Mean())
		} else {
			list = append(list, shared*class.Weight/total)
		}
	}
	return list, known
}

// expect returns the mean number of requests that one of the class leads to, and the mean of the
// sums of their prompts and of their outputs. The k-th prompt of a conversation is the prefix, k
// messages and k − 1 answers. Sessions with tools or agents are sampled.
func (c Class) expect() (turns, prompts, outputs float64) {
	prefix := 0.0
	if c.Prefix != nil {
		prefix = c.Prefix.Tokens.Mean()
	}
	if c.Calls != nil || c.BeamStep > 0 {
		return c.sampled()
	}
	if c.Turns == nil {
		n := float64(max(1, c.Samples))
		return n, n * (prefix + c.Prompt.Mean()), n * c.Output.Mean()
	}
	if !c.Turns.plain() {
		return c.sampled()
	}
	turns = c.Turns.Count.Mean()
	square := c.Turns.Count.Variance() + turns*turns
	prompts = turns*prefix + (square+turns)/2*c.Prompt.Mean() + (square-turns)/2*c.Output.Mean()
	return turns, prompts, turns * c.Output.Mean()
}

// String describes the workload in words: "Poisson, 4/s; prompts normal(500, 200) in [2, 2000],
// outputs fixed(100)".
func (c Config) String() string {
	var parts []string
	if !c.own() {
		parts = append(parts, c.when())
	}
	total := 0.0
	for _, class := range c.Classes {
		if class.Arrivals == nil {
			total += class.Weight
		}
	}
	for i, class := range c.Classes {
		text := class.String()
		if len(c.Classes) > 1 {
			name := class.Name
			if name == "" {
				name = fmt.Sprintf("class %d", i+1)
			}
			when := fmt.Sprintf("%.3g %%", 100*class.Weight/total)
			if class.Arrivals != nil {
				when = class.Arrivals.String()
			}
			text = fmt.Sprintf("%s (%s): %s", name, when, text)
		}
		parts = append(parts, text)
	}
	for _, e := range c.Escalations {
		parts = append(parts, fmt.Sprintf("%s (%.3g %% of class %d, sent on)", e.Name,
			100*e.Share, 1+e.From))
	}
	for _, t := range c.recordings() {
		parts = append(parts, t.String())
	}
	if a := c.Adapters; a != nil {
		parts = append(parts, fmt.Sprintf("%d adapters, zipf(%g)", a.Count, a.Zipf))
	}
	if c.Requests > 0 {
		parts = append(parts, fmt.Sprintf("%d requests", c.Requests))
	}
	if c.Duration > 0 {
		parts = append(parts, fmt.Sprintf("for %v", c.Duration))
	}
	return strings.Join(parts, "; ")
}

// when describes when requests are sent.
func (c Config) when() string {
	switch {
	case c.Arrivals != nil:
		return c.Arrivals.String()
	case c.Users == nil:
		return "recorded times"
	}
	text := fmt.Sprintf("%d users", c.Users.Count)
	if c.Users.Count == 1 {
		text = "1 user"
	}
	if c.Users.Think.Mean > 0 {
		text += ", thinking " + c.Users.Think.String()
	}
	if c.Users.RampUp == 0 && c.Users.Cycle == nil && c.Users.Count > 1 {
		text += ", starting together"
	}
	if c.Users.RampUp > 0 {
		text += fmt.Sprintf(", starting within %v", c.Users.RampUp)
	}
	if c.Users.StartMax > 0 {
		text += fmt.Sprintf(", first sessions beginning at %g to %g of their calls",
			c.Users.StartMin, c.Users.StartMax)
	}
	return text
}

// String describes what requests of the class look like.
func (c Class) String() string {
	text := fmt.Sprintf("prompts %v, outputs %v", c.Prompt, c.Output)
	if c.Calls != nil {
		text = fmt.Sprintf("sessions of %d calls", len(c.Calls))
	}
	if c.Prefix != nil {
		text += fmt.Sprintf(", after one of %d prefixes %v", c.Prefix.Groups, c.Prefix.Tokens)
		if c.Prefix.Zipf > 0 {
			text += fmt.Sprintf(" with zipf(%g) popularity", c.Prefix.Zipf)
		}
	}
	if c.Distinct > 0 {
		text += fmt.Sprintf(", %d distinct prompts in turn", c.Distinct)
	}
	if c.Samples > 1 {
		text += fmt.Sprintf(", %d answers each", c.Samples)
		if c.BeamStep > 0 {
			text += fmt.Sprintf(" that fork after every %d tokens", c.BeamStep)
		}
	}
	if c.Turns != nil {
		text += fmt.Sprintf(", in conversations of %v turns with %v between", c.Turns.Count,
			c.Turns.Think)
		text += c.Turns.agentic()
	}
	return text
}

// agentic describes tools, agents, thinking and summaries.
func (t *Turns) agentic() string {
	text := ""
	if o := t.Tools; o != nil {
		text += fmt.Sprintf(", %.3g %% of them from tools that take %v and return %v",
			100*o.Share, o.Wait, o.Result)
	}
	if a := t.Agents; a != nil {
		text += fmt.Sprintf(", %.3g %% from %v agents of %v turns", 100*a.Share, a.Count, a.Turns)
	}
	if t.Thinking.Share > 0 {
		text += fmt.Sprintf(", %.3g %% of answers thinking", 100*t.Thinking.Share)
		if n := t.Thinking.Budget; n > 0 {
			text += fmt.Sprintf(" of at most %d tokens", n)
		}
	}
	if k := t.Compact; k != nil {
		text += fmt.Sprintf(", summed up in %d tokens at %d", k.To, k.At)
	}
	return text
}

// String describes which requests of the trace are used.
func (t Trace) String() string {
	text := "trace " + filepath.Base(t.Path)
	if t.From > 0 {
		text += fmt.Sprintf(" from %v", t.From)
	}
	if t.For > 0 {
		text += fmt.Sprintf(" for %v", t.For)
	}
	if t.Speed != 0 && t.Speed != 1 {
		text += fmt.Sprintf(" at %g times the rate", t.Speed)
	}
	if t.Part > 0 {
		text += fmt.Sprintf(", in drawn parts of %v", t.Part)
	}
	if t.Repeat {
		text += ", repeating"
	}
	return text
}
