package candidate

import (
	"fmt"
	"strings"

	"github.com/llmsim/llmsim/internal/planner/capacity/menu"
	"github.com/llmsim/llmsim/scenarios"
)

// newDraft is a scenario while the choices of the dimensions are made.
type draft struct {
	Scenario scenarios.Scenario // of one replica that does both
	offer    *menu.Offer
	terms    string // what distinguishes the offer from others of the same accelerator
	twin     bool   // is set where other choices make the same server
}

// choose takes accelerators of a list.
func (d *draft) choose(o *menu.Offer, list []menu.Offer) {
	d.offer = o
	d.Scenario.Fleet.RoundTrip = o.RoundTrip
	d.Scenario.Hardware = scenarios.Hardware{Accelerator: o.Accelerator, File: o.File, Link: o.Link,
		Network: o.Network, PerNode: o.PerNode, Price: o.Price}
	d.terms = o.Terms(list)
}

// speculate takes one of several ways of speculative decoding, the first of which is none.
func (d *draft) speculate(list []scenarios.Speculation, i int) {
	if i > 0 {
		way := list[i]
		way.Baseline = "skip"
		d.Scenario.Speculation = &way
	}
}

// shape names accelerators, and how the replica is spread over them.
func (d *draft) shape() string {
	par := &d.Scenario.Parallelism
	var ways []string
	for _, way := range []struct {
		name   string
		degree int
	}{{"tensor", par.Tensor}, {"pipeline", par.Pipeline}, {"data", par.Data},
		{"expert", par.Expert}} {
		if way.degree > 1 {
			ways = append(ways, fmt.Sprintf("%s %d", way.name, way.degree))
		}
	}
	if par.Data > 1 && par.Expert == 1 {
		ways = append(ways, "each expert split")
	}
	shape := fmt.Sprintf("%d × %s", par.Accelerators(), d.offer.Accelerator)
	if par.Pipeline > 1 || par.Data > 1 || par.Expert > 1 {
		shape += " (" + strings.Join(ways, ", ") + ")"
	}
	return shape + d.terms
}
