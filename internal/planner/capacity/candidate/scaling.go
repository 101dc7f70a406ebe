package candidate

import (
	"github.com/llmsim/llmsim/internal/planner/capacity/asked"
	"github.com/llmsim/llmsim/internal/planner/capacity/menu"
	"github.com/llmsim/llmsim/scenarios"
)

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
		other.Scaling = &scaling{Index: k, Always: ways[k].Min}
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
func (o *Option) scalingOf(m *menu.Menu, each int) scenarios.Scaling {
	way := m.Scalings()[o.Scaling.Index]
	way.Min = (o.Scaling.Always + o.Scaling.Standing) * each
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
