package candidate

import (
	"github.com/llmsim/llmsim/internal/planner/capacity/asked"
	"github.com/llmsim/llmsim/internal/planner/capacity/menu"
)

// mostBase bounds the base beside spot replicas.
const mostBase = 64

// withBases adds an option of spot replicas to a list with a base of each server: of every size up
// to eight, and larger ones a quarter apart.
func withBases(o *Option, standing []*Server,
	list []*Option) []*Option {
	for _, s := range standing {
		for n := 1; n <= mostBase; n += max(1, n/4) {
			other := *o
			other.Base, other.Standing = int32(n), s
			list = append(list, &other)
		}
	}
	return list
}

// basesOf returns the servers that may be a base beside server i of a list, in which the choice of
// the accelerator varies slowest: they differ from it in terms alone. A base is tried for the
// cheapest fleet of a fixed number of replicas.
func basesOf(f *asked.File, servers []*Server, i int) (list []*Server) {
	p := &f.Plan
	if p.Goal.Find != menu.FindCheapest || p.Scaled() {
		return nil
	}
	each := len(servers) / len(p.Menu.Hardware)
	for k := i % each; k < len(servers); k += each {
		if p.Stays(servers[k].Offer, servers[i].Offer) {
			list = append(list, servers[k])
		}
	}
	return list
}
