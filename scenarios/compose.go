package scenarios

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/llmsim/llmsim/internal/nearest"
	"github.com/llmsim/llmsim/sim"
)

// pool is the replicas of a pool: their place in the fleet, and their server.
type pool struct {
	place
	*server
}

// fleet is the pools of a scenario, after the check that they can work together.
type fleet struct {
	*layout
	pools  []pool
	models []string // by sim.Request.Model
}

// compose puts the pools together, and refuses pools that cannot work together.
func (l *layout) compose() *fleet {
	f := &fleet{layout: l}
	for _, kind := range l.kinds {
		name := kind.Model.Name
		model := slices.Index(f.models, name)
		if model < 0 {
			model = len(f.models)
			f.models = append(f.models, name)
		}
		kind.model = model
	}
	for _, at := range l.places {
		f.pools = append(f.pools, pool{at, l.kinds[at.kind]})
	}
	for model := range f.models {
		for _, longest := range f.prompts(model) {
			f.checkRoles(model, longest)
			f.boundContexts(model, longest)
		}
	}
	l.joinAlike()
	for i, at := range l.places {
		f.pools[i] = pool{at, l.kinds[at.kind]}
	}
	return f
}

// serving returns the pools of a model.
func (f *fleet) serving(model int) []*pool {
	var list []*pool
	for i := range f.pools {
		if f.pools[i].model == model {
			list = append(list, &f.pools[i])
		}
	}
	return list
}

// prompts lists the longest prompts that come to pools of a model, each once, by how long they are,
// any, which is 0, last. It refuses pools that leave out long ones.
func (f *fleet) prompts(model int) []int {
	var list []int
	for _, g := range f.serving(model) {
		if !slices.Contains(list, g.maxPrompt) {
			list = append(list, g.maxPrompt)
		}
	}
	slices.SortFunc(list, func(a, b int) int { return cmp.Compare(uint(a)-1, uint(b)-1) })
	if longest := list[len(list)-1]; longest > 0 {
		f.problem("fleet.pools", "found max-prompt of %d tokens at most, and no pool for longer "+
			"prompts of %s; leave max-prompt out of one of them", longest, f.models[model])
	}
	return list
}

// sharing returns the pools of a model to which requests with the same prompts come.
func (f *fleet) sharing(model, longest int) []*pool {
	return slices.DeleteFunc(f.serving(model),
		func(g *pool) bool { return g.maxPrompt != longest })
}

// disaggregated reports whether a model has separate prefill and decode pools.
func (f *fleet) disaggregated(model int) bool {
	return slices.ContainsFunc(f.serving(model),
		func(g *pool) bool { return g.role == sim.Prefill })
}

// context returns the longest context with which pools for any prompt serve a model.
func (f *fleet) context(model int) int { return f.sharing(model, 0)[0].MaxContext }

// declared returns the longest length that is drawn of prompts and answers where a scenario gives
// no other: the context that a model was made for, or engine.max-model-len. It does not depend on
// the memory of servers: requests for which the KV cache is too small are turned away.
func (f *fleet) declared(model int) int {
	shortest := func(a, b *pool) int { return cmp.Compare(a.declared, b.declared) }
	return slices.MinFunc(f.sharing(model, 0), shortest).declared
}

// checkRoles refuses a prefill pool without a decode pool, and pools that cannot read each
// other's KV caches.
func (f *fleet) checkRoles(model, prompts int) {
	var formats []string
	has := map[sim.Role]bool{}
	for _, g := range f.sharing(model, prompts) {
		has[g.role] = true
		if !slices.Contains(formats, g.s.Engine.KVCache) {
			formats = append(formats, g.s.Engine.KVCache)
		}
	}
	switch name := f.models[model]; {
	case has[sim.Prefill] != has[sim.Decode]:
		f.problem("fleet.pools", "found a prefill or a decode pool of %s without the other; "+
			"one computes prompts, the other goes on from there", name)
	case has[sim.Prefill] && len(formats) > 1:
		f.problem("fleet.pools", "KV caches of %s go from prefill to decode pools, and are in %s; "+
			"give engine.kv-cache the same format in all of them", name,
			strings.Join(formats, " and "))
	}
}

// boundContexts bounds the contexts of a model by the smallest limit of the pools that share its
// requests, so that each of these can serve each of them.
func (f *fleet) boundContexts(model, prompts int) {
	pools := f.sharing(model, prompts)
	least, most := pools[0], pools[0]
	for _, g := range pools {
		if g.s.Engine.MaxModelLen < least.s.Engine.MaxModelLen {
			least = g
		}
		if g.s.Engine.MaxModelLen > most.s.Engine.MaxModelLen {
			most = g
		}
	}
	longest, longer := least.s.Engine.MaxModelLen, most.s.Engine.MaxModelLen
	if longest < longer {
		f.addWarnings([]string{
			fmt.Sprintf("contexts of %s are limited to the %d tokens that pool %s serves; "+
				"pool %s could serve %d", f.models[model], longest, least.name, most.name, longer)})
	}
	for _, g := range pools {
		g.s.Engine.MaxModelLen, g.MaxContext = longest, longest
	}
}

// regions lists the regions of pools and of classes of requests, each once, the pools' first.
func (l *layout) regions() []string {
	var list []string
	add := func(name string) {
		if name != "" && !slices.Contains(list, name) {
			list = append(list, name)
		}
	}
	for i := range l.named {
		add(l.named[i].Region)
	}
	for i := range l.file.Scenario.Workload.Classes {
		add(l.file.Scenario.Workload.Classes[i].Region)
	}
	return list
}

// regionOf returns the number of the region of users, which is the first where no region is named.
func (l *layout) regionOf(field, name string) int {
	if name == "" {
		return 0
	}
	if !slices.ContainsFunc(l.named, func(p Pool) bool { return p.Region != "" }) {
		l.problem(field, "found %s, and no pool has a region; give each pool one", name)
		return 0
	}
	return slices.Index(l.regions(), name)
}

// trips returns how long messages take from users of each region to replicas of each pool and back;
// nil where there are no regions.
func (f *fleet) trips(w *Fleet) [][]sim.Time {
	pools := f.named
	list := make([][]sim.Time, max(1, len(pools)))
	named := slices.IndexFunc(pools, func(p Pool) bool { return p.Region != "" })
	if named < 0 {
		if len(w.Distances) > 0 {
			f.problem("fleet.distances", "have no meaning where no pool has a region")
		}
		for i := range list {
			own := f.pools[i].s.Engine.Factors.RoundTrip
			list[i] = []sim.Time{sim.Time(cmp.Or(w.RoundTrip, own))}
		}
		return list
	}
	if w.RoundTrip > 0 {
		f.problem("fleet.round-trip", "has no meaning where pools have regions; use distances")
	}
	names := f.regions()
	for i, d := range w.Distances {
		for _, end := range [][2]string{{"from", d.From}, {"to", d.To}} {
			if !slices.Contains(names, end[1]) {
				f.problem(fmt.Sprintf("fleet.distances.%d.%s", i, end[0]), "%s",
					nearest.Unknown("region", end[1], names))
			}
		}
	}
	for i := range pools {
		if pools[i].Region == "" {
			f.problem(fmt.Sprintf("fleet.pools.%d.region", i), "must be given: other pools have a "+
				"region")
		}
		for _, users := range names {
			list[i] = append(list[i], f.trip(w.Distances, users, pools[i].Region))
		}
	}
	return list
}

// trip returns how long a message takes between regions and back.
func (f *fleet) trip(distances []Distance, users, replicas string) sim.Time {
	for _, d := range distances {
		if d.From == users && d.To == replicas || d.From == replicas && d.To == users {
			return sim.Time(d.RoundTrip)
		}
	}
	if users != replicas && replicas != "" {
		f.problem("fleet.distances", "found none from %s to %s; give its round-trip", users,
			replicas)
	}
	return 0
}
