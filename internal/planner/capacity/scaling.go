package capacity

import (
	"github.com/llmsim/llmsim/internal/planner/capacity/asked"
	"github.com/llmsim/llmsim/internal/planner/capacity/menu"
	"github.com/llmsim/llmsim/scenarios"
)

// scaling is how replicas of an option start and stop with the load.
type scaling struct {
	index  int // of Menu.scalings
	always int // the least number of replicas, or of groups, that run
	// standing is how many spares run beside these.
	standing int
	// mean bounds the replicas or groups that run on average from below.
	mean float64
}

// copied returns a scaling of its own; nil for nil.
func (w *scaling) copied() *scaling {
	if w == nil {
		return nil
	}
	other := *w
	return &other
}

// scaled reports whether replicas of the option start and stop with the load.
func (o *option) scaled() bool { return o.scaling != nil }

// always is the least number of replicas, or of groups, that run of an option that is scaled; 0 of
// others.
func (o *option) always() int {
	if o.scaling == nil {
		return 0
	}
	return o.scaling.always
}

// each adds an option to a list with a fixed number of replicas, and in each way of scaling if all
// its accelerators can be given back.
func (o *option) each(ways []scenarios.Scaling, list []*option) []*option {
	list = append(list, o)
	for k := 1; k < len(ways) && o.scalable(); k++ {
		other := *o
		other.scaling = &scaling{index: k, always: ways[k].Min}
		list = append(list, &other)
	}
	return list
}

// scalable reports whether all accelerators of an option can be given back.
func (o *option) scalable() bool {
	for _, s := range o.servers() {
		if !s.offer.Scalable() {
			return false
		}
	}
	return true
}

// scalingOf returns how a pool is scaled that has some replicas in each group.
func (o *option) scalingOf(m *menu.Menu, each int) scenarios.Scaling {
	way := m.Scalings()[o.scaling.index]
	way.Min = (o.scaling.always + o.scaling.standing) * each
	return way
}

// unscaled returns the option with a fixed number of replicas.
func (o *option) unscaled() *option {
	other := *o
	other.scaling = nil
	return &other
}

// spared returns the option with spares that run beside the least number of replicas.
func (o *option) spared(n int) *option {
	if o.scaling == nil {
		return o
	}
	other := *o
	other.scaling = o.scaling.copied()
	other.scaling.standing = n
	return &other
}

// busyCost is what the replicas of a scaled option cost at least that are busy, in $/h; 0 of
// others.
func (o *option) busyCost() float64 {
	if o.scaling == nil {
		return 0
	}
	return float64(o.scaling.mean * o.price)
}

// boundMean bounds how many replicas or groups run on average, however they are scaled: each serves
// at most as much as the predicted pace allows, and requests must be served by some. In a group,
// parts are weighted by their price.
func (o *option) boundMean(l *asked.Load) {
	if !o.scaled() {
		return
	}
	paid := float64(o.prefill.pace.both(&l.Work) * o.prefill.price)
	if d := o.decode; d != nil {
		paid = float64(o.prefill.pace.prefill(&l.Work)*o.prefill.price) +
			float64(d.pace.decode(&l.Work)*d.price)
	}
	o.scaling.mean = paid / (boundSlack * l.Lasts * o.sum((*server).hourly))
}

// paid returns how many replicas or groups the accelerators come to that run on average, given how
// many replicas of each pool do.
func (o *option) paid(running []float64) float64 {
	sum := 0.0
	for k, s := range o.servers() {
		sum += float64(running[k] * s.price)
	}
	return sum / o.sum((*server).hourly)
}

// sameButScaling names options that differ in scaling alone.
type sameButScaling struct {
	parts                      *parts
	prefills, decodes, routing int32
}

// fixed names an option whatever its scaling is.
func (o *option) fixed() sameButScaling {
	return sameButScaling{o.parts, o.prefills, o.decodes, o.routing}
}
