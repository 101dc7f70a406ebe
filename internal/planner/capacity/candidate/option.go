// Package candidate holds what a plan may choose: servers of its menu, options that say how fleets
// are made of them, whether they can be built, and bounds on what they do that need no simulation.
package candidate

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/llmsim/llmsim/internal/planner/capacity/asked"
	"github.com/llmsim/llmsim/scenarios"
	"github.com/llmsim/llmsim/scenarios/evidence"
	"github.com/llmsim/llmsim/sim"
)

// Option is one combination of the menu: a kind of replica, or of a group of prefill and decode
// replicas. There may be two million options, so the parts that several options share are kept
// elsewhere.
type Option struct {
	*Parts
	Index int
	// From is the index of the option of the menu that this one is, but for settings.
	From  int
	GPUs  int     // accelerators of a replica, or a group
	Price float64 // of these, in $/h
	// Ceiling is an upper bound of the rate that a replica, or a group, sustains, in requests/s,
	// and least a lower bound of their number.
	Ceiling float64
	Least   int32
	// Prefills and decodes are the numbers of replicas of either kind in a group.
	Prefills, Decodes int32
	// Paired is set where further groups, which are spares, have one replica of either kind each.
	Paired  bool
	Routing int32 // of the menu's
	// Base is how many replicas of a spot fleet are of the server standing, and so are not taken
	// away, and surcharge what they cost more than spot replicas, or the first group of a paired
	// option more than a further one, in $/h; nil and 0 without such replicas.
	Base      int32
	Standing  *Server
	Surcharge float64
	// Scaling is how replicas start and stop with the load; nil where their number is fixed.
	Scaling *scaling
}

// Parts is the kinds of replicas of an option, with all that follows from them alone. Options that
// differ only in numbers of replicas, or in policies of the whole fleet, share it.
type Parts struct {
	// Prefill is the kind of the replicas that compute prompts, or do both, and decode of those
	// that go on from there; nil where all replicas do both.
	Prefill, Decode *Server
	// Physics says how wrong predictions may be, and grade why. Slow is the factor on step times,
	// and Late the further factors on latencies, under which an option must keep the SLO.
	Physics predictionErrors
	Grade   evidence.Grade
	Slow    float64
	Late    asked.Late
	// whyUntrusted says why the plan does not trust the evidence; empty if it does.
	whyUntrusted string
	// Alone is the share of requests that could keep the SLO with a replica to themselves, and
	// excess the mean, over requests, of how many times their limits they would take. Tight reports
	// whether alone is not enough.
	Alone  float64
	Excess float64
	Tight  bool
}

// Worst returns the errors under which an option must keep the SLO.
func (p *Parts) Worst() ErrorFactors { return ErrorFactors{p.Slow, p.Late} }

// SlowPrompts is Slow of servers that compute prompts.
func (p *Parts) SlowPrompts() float64 { return p.Physics.Prompts(p.Slow) }

// Servers lists the kinds of replicas of an option.
func (p *Parts) Servers() []*Server {
	if p.Decode == nil {
		return []*Server{p.Prefill}
	}
	return []*Server{p.Prefill, p.Decode}
}

// Watts returns the largest power of the accelerators of a replica or a group.
func (o *Option) Watts() float64 { return o.Sum((*Server).peakPower) }

// Sum adds up a figure of the replicas of an option, or of a group.
func (o *Option) Sum(of func(*Server) float64) float64 {
	sum := float64(float64(o.Prefills) * of(o.Prefill))
	if o.Decode != nil {
		sum += float64(float64(o.Decodes) * of(o.Decode))
	}
	return sum
}

// Based is how many replicas of an option are a base.
func (o *Option) Based() int { return int(o.Base) }

// BaseTerms names the terms of the base.
func (o *Option) BaseTerms(m *asked.Menu) string {
	words := strings.TrimSpace(o.Standing.Offer.Terms(m.Hardware))
	if term := o.Standing.Offer.RentedOn(); !strings.HasPrefix(words, term) {
		words = term + " " + words
	}
	return words
}

// Cost is what n replicas or groups cost, in $/h.
func (o *Option) Cost(n int) float64 { return float64(float64(n)*o.Price) + o.Surcharge }

// PriceAt is what a replica or a group costs in an hour, counted from midnight of any day, in $/h.
func (o *Option) PriceAt(hour int) float64 {
	return o.Price * o.Sum(func(s *Server) float64 {
		return s.Host + float64((s.Price-s.Host)*s.Offer.ByHour.At(hour))
	}) / o.Sum((*Server).hourly)
}

// Affordable returns how many replicas or groups a number of dollars an hour pays for.
func (o *Option) Affordable(dollars float64) float64 { return (dollars - o.Surcharge) / o.Price }

// ScalePrice multiplies the price of the option by a factor.
func (o *Option) ScalePrice(factor float64) {
	o.Price *= factor
	o.Surcharge *= factor
}

// Offers lists the accelerators that an option takes, each once.
func (o *Option) Offers() []*asked.Offer {
	list := []*asked.Offer{o.Prefill.Offer}
	if o.Decode != nil && o.Decode.Offer != o.Prefill.Offer {
		list = append(list, o.Decode.Offer)
	}
	if o.Standing != nil {
		list = append(list, o.Standing.Offer)
	}
	return list
}

// Accelerators returns how many of an offer n replicas or groups take.
func (o *Option) Accelerators(offer *asked.Offer, n int) int {
	if o.Standing != nil && o.Standing.Offer == offer {
		return o.Based() * o.Standing.GPUs
	}
	prefills, decodes := o.sizes(n - o.Based())
	all := 0
	if o.Prefill.Offer == offer {
		all += prefills * o.Prefill.GPUs
	}
	if o.Decode != nil && o.Decode.Offer == offer {
		all += decodes * o.Decode.GPUs
	}
	return all
}

// Available reports whether there are accelerators for n replicas or groups.
func (o *Option) Available(n int) bool { return o.Shortest(n) == nil }

// Shortest returns an offer that has too few accelerators for n replicas or groups; nil where all
// offers have enough.
func (o *Option) Shortest(n int) *asked.Offer {
	for _, offer := range o.Offers() {
		if offer.Count > 0 && o.Accelerators(offer, n) > offer.Count {
			return offer
		}
	}
	return nil
}

// OnDemand reports whether all accelerators of an option are paid for by the hour.
func (o *Option) OnDemand() bool {
	return !slices.ContainsFunc(o.Offers(), func(f *asked.Offer) bool { return !f.IsOnDemand() })
}

// On returns an option of replicas of one kind with accelerators of another offer, which differ in
// how they are paid for. Its price is that of the option.
func (o *Option) On(offer *asked.Offer) *Option {
	other, parts, server := *o, *o.Parts, *o.Prefill
	server.Offer = offer
	parts.Prefill, other.Parts = &server, &parts
	return &other
}

// Uses reports whether an option has accelerators of that name.
func (p *Parts) Uses(accelerator string) bool {
	return slices.ContainsFunc(p.Servers(),
		func(s *Server) bool { return s.Offer.Accelerator == accelerator })
}

// Unfit says why the option cannot be built; empty if it can.
func (p *Parts) Unfit() string {
	for _, s := range p.Servers() {
		if s.Unfit != "" {
			return s.Unfit
		}
	}
	return p.whyUntrusted
}

// Shape names accelerators and parallelism, by which options are grouped.
func (o *Option) Shape() string {
	words := o.grouped((*Server).shapeOf)
	if o.Standing != nil {
		words += " beside " + o.Standing.Shape
	}
	return words
}

// Label names the option within the menu.
func (o *Option) Label(m *asked.Menu) string {
	words := o.grouped((*Server).Label)
	if len(m.Routing) > 1 {
		words += ", " + asked.Settings(m.Routing[o.Routing])
	}
	if o.Scaled() {
		words += ", " + m.ScalingWords(o.Scaling.Index)
	}
	if o.Standing != nil {
		words += fmt.Sprintf(", %d of them %s", o.Base, o.BaseTerms(m))
	}
	return words
}

// grouped names the servers of a group.
func (o *Option) grouped(name func(*Server) string) string {
	switch {
	case o.Decode == nil:
		return name(o.Prefill)
	case o.Decode == o.Prefill:
		return fmt.Sprintf("%dP+%dD of %s", o.Prefills, o.Decodes, name(o.Prefill))
	}
	return fmt.Sprintf("%dP+%dD of %s and %s", o.Prefills, o.Decodes, name(o.Prefill),
		name(o.Decode))
}

// Scenario returns n replicas or groups of the option, with steps that take slowdown times what is
// predicted; where prompts are computed apart, PromptSteps of it.
func (o *Option) Scenario(m *asked.Menu, n int, slowdown float64) scenarios.Scenario {
	s := o.Prefill.Asked()
	s.Engine.Slowdown = slowdown
	s.Routing = asked.OrNone(m.Routing)[o.Routing]
	switch {
	case o.Decode == nil && o.Scaled():
		s.Fleet.Pools = []scenarios.Pool{{Replicas: n, Scaling: o.scalingOf(m, 1)}}
		return s
	case o.Decode == nil:
		if n > 1 {
			s.Replicas = n
		}
		return s
	}
	prefills, decodes := o.sizes(n)
	pools := []scenarios.Pool{{Role: "prefill", Replicas: prefills},
		{Role: "decode", Replicas: decodes}}
	if o.Scaled() {
		pools[0].Scaling = o.scalingOf(m, int(o.Prefills))
		pools[1].Scaling = o.scalingOf(m, int(o.Decodes))
	}
	if o.Decode != o.Prefill {
		for i, server := range o.Servers() {
			own := server.Asked()
			p := &pools[i]
			p.Hardware, p.Parallelism, p.Engine, p.Batching, p.Memory, p.Speculation = own.Hardware,
				own.Parallelism, own.Engine, own.Batching, own.Memory, own.Speculation
			p.Engine.Slowdown = slowdown
		}
	}
	if prompts := o.Physics.Prompts(slowdown); prompts != slowdown {
		pools[0].Engine = cmp.Or(pools[0].Engine, s.Engine)
		pools[0].Engine.Slowdown = prompts
	}
	s.Fleet.Pools = pools
	return s
}

// shapeOf returns the shape of a server.
func (s *Server) shapeOf() string { return s.Shape }

// scaling is how replicas of an option start and stop with the load.
type scaling struct {
	Index  int // of Menu.scalings
	Always int // the least number of replicas, or of groups, that run
	// Standing is how many spares run beside these.
	Standing int
	// Mean bounds the replicas or groups that run on average from below.
	Mean float64
}

// Copied returns a scaling of its own; nil for nil.
func (w *scaling) Copied() *scaling {
	if w == nil {
		return nil
	}
	other := *w
	return &other
}

// Scaled reports whether replicas of the option start and stop with the load.
func (o *Option) Scaled() bool { return o.Scaling != nil }

// Always is the least number of replicas, or of groups, that run of an option that is scaled; 0 of
// others.
func (o *Option) Always() int {
	if o.Scaling == nil {
		return 0
	}
	return o.Scaling.Always
}

// Each adds an option to a list with a fixed number of replicas, and in each way of scaling if all
// its accelerators can be given back.
func (o *Option) Each(ways []scenarios.Scaling, list []*Option) []*Option {
	list = append(list, o)
	for k := 1; k < len(ways) && o.scalable(); k++ {
		other := *o
		other.Scaling = &scaling{Index: k, Always: ways[k].Least()}
		list = append(list, &other)
	}
	return list
}

// scalable reports whether all accelerators of an option can be given back.
func (o *Option) scalable() bool {
	for _, s := range o.Servers() {
		if !s.Offer.Scalable() {
			return false
		}
	}
	return true
}

// scalingOf returns how a pool is scaled that has some replicas in each group.
func (o *Option) scalingOf(m *asked.Menu, each int) scenarios.Scaling {
	way := m.Scalings()[o.Scaling.Index]
	least := (o.Scaling.Always + o.Scaling.Standing) * each
	way.Min = &least
	return way
}

// Unscaled returns the option with a fixed number of replicas.
func (o *Option) Unscaled() *Option {
	other := *o
	other.Scaling = nil
	return &other
}

// Spared returns the option with spares that run beside the least number of replicas.
func (o *Option) Spared(n int) *Option {
	if o.Scaling == nil {
		return o
	}
	other := *o
	other.Scaling = o.Scaling.Copied()
	other.Scaling.Standing = n
	return &other
}

// BusyCost is what the replicas of a scaled option cost at least that are busy, in $/h; 0 of
// others.
func (o *Option) BusyCost() float64 {
	if o.Scaling == nil {
		return 0
	}
	return float64(o.Scaling.Mean * o.Price)
}

// boundMean bounds how many replicas or groups run on average, however they are scaled: each serves
// at most as much as the predicted pace allows, and requests must be served by some. In a group,
// parts are weighted by their price.
func (o *Option) boundMean(l *asked.Load) {
	if !o.Scaled() {
		return
	}
	paid := float64(o.Prefill.Pace.Both(&l.Work) * o.Prefill.Price)
	if d := o.Decode; d != nil {
		paid = float64(o.Prefill.Pace.Prefill(&l.Work)*o.Prefill.Price) +
			float64(d.Pace.Decode(&l.Work)*d.Price)
	}
	o.Scaling.Mean = paid / (BoundSlack * l.Lasts * o.Sum((*Server).hourly))
}

// Paid returns how many replicas or groups the accelerators come to that run on average, given how
// many replicas of each pool do.
func (o *Option) Paid(running []float64) float64 {
	sum := 0.0
	for k, s := range o.Servers() {
		sum += float64(running[k] * s.Price)
	}
	return sum / o.Sum((*Server).hourly)
}

// SameButScaling names options that differ in scaling alone.
type SameButScaling struct {
	parts                      *Parts
	prefills, decodes, routing int32
}

// Fixed names an option whatever its scaling is.
func (o *Option) Fixed() SameButScaling {
	return SameButScaling{o.Parts, o.Prefills, o.Decodes, o.Routing}
}

// Server is one kind of replica. Options consist of servers, and many options share the same
// server. There may be a million servers, so a server holds only what the search needs of all of
// them. The rest is made again when it is needed: see asked and steps.
type Server struct {
	File    *asked.File
	list    []dimension
	choices []int // of each dimension
	Offer   *asked.Offer
	Shape   string // accelerator and parallelism
	GPUs    int
	// Changes are the settings that differ from the engine's defaults, where the search tries some
	// beside the menu's.
	Changes []Change

	// Twin reports whether other choices make the same server, which then represents both.
	Twin bool
	// Unfit says why no replica can be built. If it is empty, a replica can be built, and the other
	// fields are set.
	Unfit string
	Price float64 // of its accelerators, host memory and disk, in $/h
	// Host is what of it is for host memory and disk, and gib and disk are the prices of a GiB.
	Host, GiB, Disk float64
	// Peak and idle are what its accelerators draw at most and at least, and run what steps draw at
	// least beside idle, in watts.
	Peak, Idle, Run float64
	Context         int // the longest prompt and answer together, in tokens
	Room            int // of the KV memory, in tokens
	Budget          int // tokens of a step; 0 where the policy has no limit
	Evidence        *evidence.Evidence
	Pace            Pace
	Load            *asked.Load
	// Alone is what each probe of the load would take at least with the server to itself, until
	// options are bounded, and slowest the longest of these times, with drafts as they are on
	// average.
	Alone   []Latency
	Slowest Latency
	// Drafts describes the speculative decoding of the server, until options are bounded; nil
	// without one.
	Drafts *drafting
}

// Latency is the time to first token, and the time per token after it. Where a server drafts, plain
// and drafted are the times of steps without drafts and with them.
type Latency struct{ TTFT, TPOT, Plain, Drafted sim.Time }

// newDraft makes the choices of the dimensions.
func newDraft(f *asked.File, list []dimension, choices []int) *draft {
	p := &f.Plan
	engine := p.Engine
	engine.MaxModelLen = cmp.Or(p.MaxModelLen, engine.MaxModelLen)
	d := &draft{Scenario: scenarios.Scenario{
		Name: p.Name, Model: p.Model, Engine: engine,
		Workload: p.Workload, SLO: p.SLO, Seed: p.Seed,
	}}
	for i := range list {
		list[i].set(d, choices[i])
	}
	return d
}

// newServer makes the choices of the dimensions.
func newServer(f *asked.File, list []dimension, choices []int) (*Server, *draft) {
	d := newDraft(f, list, choices)
	return &Server{File: f, list: list, choices: choices, Offer: d.offer, Shape: d.shape(),
		Twin: d.twin, GPUs: d.Scenario.Parallelism.Accelerators()}, d
}

// Asked returns the scenario of one replica that does both.
func (s *Server) Asked() scenarios.Scenario { return newDraft(s.File, s.list, s.choices).Scenario }

// Label names the server within the menu.
func (s *Server) Label() string {
	words := []string{s.Shape}
	for i, d := range s.list {
		if d.size > 1 && d.word != nil {
			words = append(words, d.word(s.choices[i]))
		}
	}
	return strings.Join(words, ", ")
}

// hourly is the price of the server, in $/h.
func (s *Server) hourly() float64 { return s.Price }

// peakPower is what the server's accelerators draw at most, in watts.
func (s *Server) peakPower() float64 { return s.Peak }

// IdlePower is what the server's accelerators draw at least, in watts.
func (s *Server) IdlePower() float64 { return s.Idle }

// Emission is what is emitted for the server's accelerators at their peak power, in g/kWh · W.
func (s *Server) Emission() float64 { return s.Peak * float64(s.Offer.Carbon) }

// sizes returns how many replicas of either kind n groups have.
func (o *Option) sizes(n int) (prefills, decodes int) {
	if o.Paired {
		return int(o.Prefills) + n - 1, int(o.Decodes) + n - 1
	}
	return n * int(o.Prefills), n * int(o.Decodes)
}
