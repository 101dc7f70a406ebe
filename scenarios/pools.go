package scenarios

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/llmsim/llmsim/policies"
	"github.com/llmsim/llmsim/sim"
	"github.com/llmsim/llmsim/workload/lengths"
)

// roles are the names of sim.Mixed, sim.Prefill and sim.Decode.
var roles = [...]string{"mixed", "prefill", "decode"}

// pool is the replicas of a pool as they run.
type pool struct {
	*server
	name string
	role sim.Role
	// serves is the number of its model, as sim.Request.Model has it.
	serves int
	// Its replicas are those of the numbers from first on.
	first, size int
}

// newFleetBuilder names the pools, counts the replicas, and readies a builder for each kind of them.
func newFleetBuilder(file *File, registry *policies.Registry) *fleetBuilder {
	f := &fleetBuilder{
		notes: &notes{file: file}, registry: registry, s: file.Scenario,
		tenant: map[string]int{}, distributions: map[Length]*lengths.Distribution{},
	}
	f.s.Fleet.Pools, f.s.Workload.Classes = slices.Clone(f.s.Fleet.Pools), slices.Clone(f.s.Workload.Classes) // what was given stays
	if len(f.s.Fleet.Pools) == 0 {
		f.s.Replicas = orDefault(f.s.Replicas, 1)
		b := f.newBuilder(f.s)
		f.builders = []*builder{b}
		f.pools = []pool{{server: &b.server, size: f.s.Replicas}}
		return f
	}
	f.readPools()
	return f
}

func (f *fleetBuilder) newBuilder(s Scenario) *builder {
	return &builder{notes: f.notes, registry: f.registry, server: server{s: s}}
}

func (f *fleetBuilder) readPools() {
	given := f.s.Replicas
	f.s.Replicas = 0
	var common *builder
	for i := range f.s.Fleet.Pools {
		p := &f.s.Fleet.Pools[i]
		p.Role = orDefault(p.Role, "mixed")
		p.Name = orDefault(p.Name, p.Role)
		if slices.ContainsFunc(f.s.Fleet.Pools[:i], func(other Pool) bool { return other.Name == p.Name }) {
			f.problem(fmt.Sprintf("fleet.pools.%d", i), "found a second pool called %s; give each a name of its own", p.Name)
		}
		b := common
		if view, differs := p.over(f.s); differs || common == nil {
			b = f.newBuilder(view)
			if differs {
				b.own = fmt.Sprintf("fleet.pools.%d", i)
			} else {
				common = b
			}
			if len(f.s.Fleet.Pools) > 1 {
				b.label = p.Name
			}
		}
		f.builders = append(f.builders, b)
		f.pools = append(f.pools, pool{server: &b.server, name: p.Name, role: sim.Role(slices.Index(roles[:], p.Role)), first: f.s.Replicas, size: p.Replicas})
		f.s.Replicas += p.Replicas
	}
	if given > 0 && given != f.s.Replicas {
		f.problem("replicas", "found %d, and fleet.pools have %d together; leave one of the two out", given, f.s.Replicas)
	}
}

// over returns the scenario as the pool sees it, and whether it sees another one than that at the top.
func (p *Pool) over(s Scenario) (view Scenario, differs bool) {
	for _, section := range sections(&s, p) {
		if own := section.pool; !own.IsZero() {
			section.top.Set(own)
			differs = true
		}
	}
	return s, differs
}

// section is a part of the scenario that pools can have of their own: at the top, and in a pool.
type section struct{ top, pool reflect.Value }

// sections lists the keys that a scenario and a pool have in common, apart from their names and numbers.
func sections(s *Scenario, p *Pool) []section {
	top, own := reflect.ValueOf(s).Elem(), reflect.ValueOf(p).Elem()
	var list []section
	for i := range own.NumField() {
		name := own.Type().Field(i).Name
		if same := top.FieldByName(name); same.IsValid() && name != "Name" && name != "Replicas" {
			list = append(list, section{same, own.Field(i)})
		}
	}
	return list
}

// settle writes down what the pools have filled in: at the top what they agree in, and in each pool the rest.
func (f *fleetBuilder) settle() {
	views := make([][]section, len(f.pools))
	for i := range f.pools {
		p := new(Pool)
		if f.pools[i].name != "" {
			p = &f.s.Fleet.Pools[i]
		}
		views[i] = sections(&f.pools[i].s, p)
	}
	for n, top := range sections(&f.s, new(Pool)) {
		agreed := !slices.ContainsFunc(views, func(view []section) bool {
			return !reflect.DeepEqual(view[n].top.Interface(), views[0][n].top.Interface())
		})
		if agreed {
			top.top.Set(views[0][n].top)
		}
		for _, view := range views {
			if !agreed || !view[n].pool.IsZero() {
				view[n].pool.Set(view[n].top)
			}
		}
	}
}

// agree numbers the models, and refuses pools that cannot work together.
func (f *fleetBuilder) agree() {
	for i := range f.pools {
		p := &f.pools[i]
		name := p.Model.Name
		if p.serves = slices.Index(f.models, name); p.serves < 0 {
			p.serves = len(f.models)
			f.models = append(f.models, name)
		}
	}
	for model, name := range f.models {
		f.agreeOnRoles(model, name)
		f.agreeOnContext(model, name)
	}
}

// serving returns the pools of a model.
func (f *fleetBuilder) serving(model int) []*pool {
	var list []*pool
	for i := range f.pools {
		if f.pools[i].serves == model {
			list = append(list, &f.pools[i])
		}
	}
	return list
}

// agreeOnRoles refuses prefill without decode, and ends that cannot read each other's KV caches.
func (f *fleetBuilder) agreeOnRoles(model int, name string) {
	var formats []string
	first := map[sim.Role]*pool{}
	for _, p := range f.serving(model) {
		if first[p.role] == nil {
			first[p.role] = p
		}
		if !slices.Contains(formats, p.s.Engine.KVCache) {
			formats = append(formats, p.s.Engine.KVCache)
		}
	}
	switch {
	case (first[sim.Prefill] == nil) != (first[sim.Decode] == nil):
		f.problem("fleet.pools", "found a prefill or a decode pool of %s without the other; one computes prompts, the other goes on from there", name)
	case first[sim.Prefill] != nil && len(formats) > 1:
		f.problem("fleet.pools", "KV caches of %s go from prefill to decode pools, and are in %s; give engine.kv-cache the same format in all of them", name, strings.Join(formats, " and "))
	}
}

// agreeOnContext bounds the contexts of a model by what each of its pools serves, so that it does not matter which one a request
// comes to.
func (f *fleetBuilder) agreeOnContext(model int, name string) {
	pools := f.serving(model)
	least, most := pools[0], pools[0]
	for _, p := range pools {
		if p.s.Engine.MaxModelLen < least.s.Engine.MaxModelLen {
			least = p
		}
		if p.s.Engine.MaxModelLen > most.s.Engine.MaxModelLen {
			most = p
		}
	}
	if longest := least.s.Engine.MaxModelLen; longest < most.s.Engine.MaxModelLen {
		f.addWarnings([]string{fmt.Sprintf("contexts of %s are limited to the %d tokens that pool %s serves; pool %s could serve %d",
			name, longest, least.name, most.name, most.s.Engine.MaxModelLen)})
		for _, p := range pools {
			p.s.Engine.MaxModelLen, p.MaxContext = longest, longest
		}
	}
}

// replicas makes the servers, each with policies of its own. Those of a pool predict steps by the same clock.
func (f *fleetBuilder) replicas() []sim.ReplicaConfig {
	list := make([]sim.ReplicaConfig, 0, f.s.Replicas)
	for i := range f.pools {
		p := &f.pools[i]
		for range p.size {
			r := f.builders[i].replica(len(list))
			r.Model, r.Role = p.serves, p.role
			if p.role != sim.Mixed {
				r.Latency += p.Clock.Handover()
			}
			if p.role == sim.Prefill {
				r.KVBytes = p.HandedOver()
				if !f.s.Fleet.Transfer.Whole {
					r.Layers = p.Model.Layers()
				}
			}
			list = append(list, r)
		}
	}
	return list
}
