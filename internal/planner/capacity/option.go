package capacity

import (
	"fmt"
	"slices"
	"strings"

	"github.com/llmsim/llmsim/internal/planner/capacity/menu"
	"github.com/llmsim/llmsim/scenarios"
	"github.com/llmsim/llmsim/scenarios/evidence"
)

// option is one combination of the menu: a kind of replica, or of a group of prefill and decode
// replicas. There may be two million options, so the parts that several options share are kept
// elsewhere.
type option struct {
	*parts
	index int
	gpus  int     // accelerators of a replica, or a group
	price float64 // of these, in $/h
	// ceiling is an upper bound of the rate that a replica, or a group, sustains, in requests/s,
	// and least a lower bound of their number.
	ceiling float64
	least   int32
	// prefills and decodes are the numbers of replicas of either kind in a group.
	prefills, decodes int32
	routing           int32 // of the menu's
	// base is how many replicas of a spot fleet are of the server standing, and so are not taken
	// away, and surcharge what they cost more than spot replicas, in $/h; nil and 0 where none are.
	base      int32
	standing  *server
	surcharge float64
	// scaling is how replicas start and stop with the load; nil where their number is fixed.
	scaling *scaling
}

// parts is the kinds of replicas of an option, with all that follows from them alone. Options that
// differ only in numbers of replicas, or in policies of the whole fleet, share it.
type parts struct {
	// prefill is the kind of the replicas that compute prompts, or do both, and decode of those
	// that go on from there; nil where there are none.
	prefill, decode *server
	// physics says how wrong predictions may be, and grade why. slow is the factor on step times,
	// and late the further factor on TTFT, under which an option must keep the SLO.
	physics predictionErrors
	grade   evidence.Grade
	slow    float64
	late    float64
	// whyUntrusted says why the plan does not trust the evidence; empty if it does.
	whyUntrusted string
	// alone is the share of requests that could keep the SLO with a replica to themselves, and
	// excess the mean, over requests, of how many times their limits they would take. Tight reports
	// whether alone is not enough.
	alone  float64
	excess float64
	tight  bool
}

// worst returns the errors under which an option must keep the SLO.
func (p *parts) worst() errorFactors { return errorFactors{p.slow, p.late} }

// servers lists the kinds of replicas of an option.
func (p *parts) servers() []*server {
	if p.decode == nil {
		return []*server{p.prefill}
	}
	return []*server{p.prefill, p.decode}
}

// watts returns the largest power of the accelerators of a replica or a group.
func (o *option) watts() float64 { return o.sum((*server).peakPower) }

// sum adds up a figure of the replicas of an option, or of a group.
func (o *option) sum(of func(*server) float64) float64 {
	sum := float64(float64(o.prefills) * of(o.prefill))
	if o.decode != nil {
		sum += float64(float64(o.decodes) * of(o.decode))
	}
	return sum
}

// based is how many replicas of an option are a base.
func (o *option) based() int { return int(o.base) }

// baseTerms names the terms of the base.
func (o *option) baseTerms(m *menu.Menu) string {
	words := strings.TrimSpace(o.standing.offer.Terms(m.Hardware))
	if term := o.standing.offer.RentedOn(); !strings.HasPrefix(words, term) {
		words = term + " " + words
	}
	return words
}

// cost is what n replicas or groups cost, in $/h.
func (o *option) cost(n int) float64 { return float64(float64(n)*o.price) + o.surcharge }

// affordable returns how many replicas or groups cost as many dollars an hour.
func (o *option) affordable(dollars float64) float64 { return (dollars - o.surcharge) / o.price }

// scalePrice makes the option as many times as dear.
func (o *option) scalePrice(factor float64) {
	o.price *= factor
	o.surcharge *= factor
}

// offers lists the accelerators that an option takes, each once.
func (o *option) offers() []*menu.Offer {
	list := []*menu.Offer{o.prefill.offer}
	if o.decode != nil && o.decode.offer != o.prefill.offer {
		list = append(list, o.decode.offer)
	}
	if o.standing != nil {
		list = append(list, o.standing.offer)
	}
	return list
}

// accelerators returns how many of an offer n replicas or groups take.
func (o *option) accelerators(offer *menu.Offer, n int) int {
	if o.standing != nil && o.standing.offer == offer {
		return o.based() * o.standing.gpus
	}
	each := 0
	if o.prefill.offer == offer {
		each += int(o.prefills) * o.prefill.gpus
	}
	if o.decode != nil && o.decode.offer == offer {
		each += int(o.decodes) * o.decode.gpus
	}
	return (n - o.based()) * each
}

// available reports whether there are accelerators for n replicas or groups.
func (o *option) available(n int) bool { return o.shortest(n) == nil }

// shortest returns an offer that has too few accelerators for n replicas or groups; nil where all
// offers have enough.
func (o *option) shortest(n int) *menu.Offer {
	for _, offer := range o.offers() {
		if offer.Count > 0 && o.accelerators(offer, n) > offer.Count {
			return offer
		}
	}
	return nil
}

// uses reports whether an option has accelerators of that name.
func (p *parts) uses(accelerator string) bool {
	return slices.ContainsFunc(p.servers(),
		func(s *server) bool { return s.offer.Accelerator == accelerator })
}

// unfit says why the option cannot be built; empty if it can.
func (p *parts) unfit() string {
	for _, s := range p.servers() {
		if s.unfit != "" {
			return s.unfit
		}
	}
	return p.whyUntrusted
}

// shape names accelerators and parallelism, by which options are grouped.
func (o *option) shape() string {
	words := o.grouped((*server).shapeOf)
	if o.standing != nil {
		words += " beside " + o.standing.shape
	}
	return words
}

// label names the option among those of the menu.
func (o *option) label(m *menu.Menu) string {
	words := o.grouped((*server).label)
	if len(m.Routing) > 1 {
		words += ", " + menu.Settings(m.Routing[o.routing])
	}
	if o.scaled() {
		words += ", " + m.ScalingWords(o.scaling.index)
	}
	if o.standing != nil {
		words += fmt.Sprintf(", %d of them %s", o.base, o.baseTerms(m))
	}
	return words
}

// grouped names the servers of a group.
func (o *option) grouped(name func(*server) string) string {
	switch {
	case o.decode == nil:
		return name(o.prefill)
	case o.decode == o.prefill:
		return fmt.Sprintf("%dP+%dD of %s", o.prefills, o.decodes, name(o.prefill))
	}
	return fmt.Sprintf("%dP+%dD of %s and %s", o.prefills, o.decodes, name(o.prefill),
		name(o.decode))
}

// scenario returns n replicas or groups of the option, with steps that take slowdown times what is
// predicted.
func (o *option) scenario(m *menu.Menu, n int, slowdown float64) scenarios.Scenario {
	s := o.prefill.asked()
	s.Engine.Slowdown = slowdown
	s.Routing = menu.OrNone(m.Routing)[o.routing]
	switch {
	case o.decode == nil && o.scaled():
		s.Fleet.Pools = []scenarios.Pool{{Replicas: n, Scaling: o.scalingOf(m, 1)}}
		return s
	case o.decode == nil:
		if n > 1 {
			s.Replicas = n
		}
		return s
	}
	pools := []scenarios.Pool{{Role: "prefill", Replicas: n * int(o.prefills)},
		{Role: "decode", Replicas: n * int(o.decodes)}}
	if o.scaled() {
		pools[0].Scaling = o.scalingOf(m, int(o.prefills))
		pools[1].Scaling = o.scalingOf(m, int(o.decodes))
	}
	if o.decode != o.prefill {
		for i, server := range o.servers() {
			own := server.asked()
			p := &pools[i]
			p.Hardware, p.Parallelism, p.Engine, p.Batching, p.Memory, p.Speculation = own.Hardware,
				own.Parallelism, own.Engine, own.Batching, own.Memory, own.Speculation
			p.Engine.Slowdown = slowdown
		}
	}
	s.Fleet.Pools = pools
	return s
}

// shapeOf returns the shape of a server.
func (s *server) shapeOf() string { return s.shape }
