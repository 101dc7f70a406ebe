package scenarios

import (
	"fmt"
	"slices"

	"github.com/llmsim/llmsim/policies"
	"github.com/llmsim/llmsim/sim"
)

// between adds to c what goes on between replicas.
func (f *fleetBuilder) between(c *sim.Config) {
	s := &f.s.Fleet
	if s.Admission.Policy != "" {
		c.Admission = fleetPolicy(f, "fleet.admission", &f.registry.Admission, &s.Admission.Policy, &s.Admission.Params)
	}
	c.QueueTimeout = sim.Time(s.QueueTimeout)
	c.Retry = sim.Retry{Attempts: s.Retries, Delay: sim.Time(s.RetryDelay)}
	for i, o := range s.Outages {
		if o.Replica >= len(c.Replicas) {
			f.problem(fmt.Sprintf("fleet.outages.%d.replica", i), "found %d; allowed: 0 to %d", o.Replica, len(c.Replicas)-1)
			continue
		}
		lasts := sim.Never
		if o.For > 0 {
			lasts = sim.Time(o.For)
		}
		c.Outages = append(c.Outages, sim.Outage{Replica: o.Replica, At: sim.Time(o.At), For: lasts})
	}
	f.transfer(c)
	for i := range s.Pools {
		if f.file.given(fmt.Sprintf("fleet.pools.%d.scaling", i)) {
			f.scale(c, i)
		}
	}
}

// transfer gives KV caches a way from prefill to decode replicas. The slowest end sets the pace.
func (f *fleetBuilder) transfer(c *sim.Config) {
	s := &f.s.Fleet
	var way *sim.Link
	networks, ports := map[string]bool{}, map[int]bool{}
	for i := range f.pools {
		p := &f.pools[i]
		if !f.disaggregated(p.serves) {
			continue
		}
		name, n := orDefault(s.Transfer.Link, p.s.Hardware.Network), orDefault(s.Transfer.Ports, p.s.Parallelism.degrees().GPUs())
		if name == "" {
			f.problem("fleet.transfer.link", "no link, and %s has no usual network; give one of the catalogue (llmsim list hardware)", p.Accelerator.Name)
			return
		}
		link := f.builders[i].findLink(f.builders[i].catalog, "fleet.transfer.link", name)
		end := sim.Link{
			Bandwidth: link.Bandwidth * float64(n), // each port sends or gets its part
			Latency:   sim.Seconds(link.Latency) + sim.Time(s.Transfer.Overhead),
		}
		if way == nil {
			way = &end
		}
		way.Bandwidth, way.Latency = min(way.Bandwidth, end.Bandwidth), max(way.Latency, end.Latency)
		networks[name], ports[n] = true, true
	}
	if way == nil {
		return
	}
	s.Transfer.Link, s.Transfer.Ports = orDefault(s.Transfer.Link, only(networks)), orDefault(s.Transfer.Ports, only(ports))
	c.Links = []sim.Link{*way}
	s.Handover.Policy = orDefault(s.Handover.Policy, "least-tokens")
	c.Handover = fleetPolicy(f, "fleet.handover", &f.registry.Routing, &s.Handover.Policy, &s.Handover.Params)
}

// only returns the member of a set of one, and nothing of a larger set.
func only[T comparable](set map[T]bool) T {
	var member T
	if len(set) == 1 {
		for member = range set {
		}
	}
	return member
}

// disaggregated tells whether a model has prefill and decode apart.
func (f *fleetBuilder) disaggregated(model int) bool {
	return slices.ContainsFunc(f.serving(model), func(p *pool) bool { return p.role == sim.Prefill })
}

// scale lets a policy start and stop the replicas of pool i.
func (f *fleetBuilder) scale(c *sim.Config, i int) {
	p, s, field := &f.pools[i], &f.s.Fleet.Pools[i].Scaling, fmt.Sprintf("fleet.pools.%d.scaling", i)
	s.Min = orDefault(s.Min, 1)
	s.Every = orDefault(s.Every, Span(15*sim.Second))
	if s.Min > p.size {
		f.problem(field+".min", "found %d; the pool has %d replicas", s.Min, p.size)
		return
	}
	least := s.Min
	for k, other := range f.pools {
		switch {
		case k == i || other.serves != p.serves || other.role != p.role:
		case f.file.given(fmt.Sprintf("fleet.pools.%d.scaling", k)):
			if k < i {
				f.problem(field, "pool %s serves the same requests as pool %s, and replicas of both start and stop; leave scaling out of one of them", p.name, other.name)
			}
			return
		default:
			least += other.size
			for n := range other.size {
				c.Replicas[other.first+n].Steady = true
			}
		}
	}
	cold := f.builders[i].coldStart(field+".cold-start", &s.ColdStart)
	for k := range p.size {
		r := &c.Replicas[p.first+k]
		r.Off, r.ColdStart = k >= s.Min, cold
	}
	c.Scalings = append(c.Scalings, sim.Scaling{
		Model: p.serves, Role: p.role, Every: sim.Time(s.Every), Min: least,
		Scaler: fleetPolicy(f, field, &f.registry.Scaling, &s.Policy, &s.Params),
	})
}

// fleetPolicy finds a policy of the whole fleet, and makes it.
func fleetPolicy[T any](f *fleetBuilder, field string, family *policies.Family[T], name *string, params *map[string]string) T {
	var made T
	b := f.builders[0]
	choice := choose(b, field, family, name, params)
	if choice.Policy == nil {
		return made
	}
	made, err := choice.Build(b.Place(b.seed(0)))
	if err != nil {
		b.policyProblem(field, err)
	}
	return made
}
