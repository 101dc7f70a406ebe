package scenarios

import (
	"cmp"
	"fmt"

	"github.com/llmsim/llmsim/policies"
	"github.com/llmsim/llmsim/policies/scaling"
	"github.com/llmsim/llmsim/scenarios/deployment"
	"github.com/llmsim/llmsim/sim"
)

// fleetPolicies holds the settings that concern several replicas of a fleet: routing, admission,
// outages, transfers and scaling.
type fleetPolicies struct {
	*view    // of the scenario at the top
	registry *policies.Registry
	fleet    *fleet

	routing   Policy // with its defaults
	keys      Fleet  // with its defaults
	router    deployment.Choice[sim.Router]
	admission deployment.Choice[sim.Admission] // its Policy is nil where all are let in
	outages   []sim.Outage
	// link and handover describe the way of KV caches from prefill to decode; link is nil without
	// such pools.
	link     *sim.Link
	handover deployment.Choice[sim.Router]
	scalings []scaledPool
	// roundTrips are the times of messages from users of each region to replicas of each pool and
	// back.
	roundTrips [][]sim.Time
}

// fleetPolicies resolves the settings that concern several replicas.
func (f *fleet) fleetPolicies(registry *policies.Registry) *fleetPolicies {
	s := f.file.Scenario
	b := &fleetPolicies{
		view: &view{notes: f.notes, written: s}, registry: registry,
		fleet: f, routing: s.Routing, keys: s.Fleet,
	}
	w := &b.keys
	w.Pools = append([]Pool(nil), f.named...)
	b.router = choosePolicy(b, "routing", &registry.Routing, &b.routing)
	if w.Admission.Policy != "" {
		b.admission = choosePolicy(b, "fleet.admission", &registry.Admission, &w.Admission)
	}
	b.findOutages()
	b.findTransferLink()
	b.roundTrips = f.trips(w)
	for i := range w.Pools {
		if w.Pools[i].Weight > 0 && b.routing.Policy != "weighted" &&
			w.Handover.Policy != "weighted" {
			b.problem(fmt.Sprintf("fleet.pools.%d.weight", i), "has no meaning with routing %s; "+
				"choose routing weighted, or leave it out", b.routing.Policy)
		}
		if !f.isScaled(i) {
			continue
		}
		if made, ok := f.newScaling(b, i, &w.Pools[i].Scaling); ok {
			b.scalings = append(b.scalings, made)
		}
	}
	return b
}

// choosePolicy chooses a policy that serves the whole fleet.
func choosePolicy[T any](b *fleetPolicies, field string, family *policies.Family[T],
	p *Policy) deployment.Choice[T] {
	return choose(b.view, b.fleet.pools[0].Anywhere(), field, family, p.slot(field), nil)
}

// findOutages checks that the replicas of outages exist.
func (b *fleetPolicies) findOutages() {
	for i, o := range b.keys.Outages {
		if o.Replica >= b.fleet.replicas {
			b.problem(fmt.Sprintf("fleet.outages.%d.replica", i), "found %d; allowed: 0 to %d",
				o.Replica, b.fleet.replicas-1)
			continue
		}
		lasts := sim.Never
		if o.For > 0 {
			lasts = sim.Time(o.For)
		}
		b.outages = append(b.outages, sim.Outage{Replica: o.Replica, At: sim.Time(o.At),
			For: lasts})
	}
}

// findTransferLink finds the link for KV caches from prefill to decode replicas. The slowest
// network sets the pace.
func (b *fleetPolicies) findTransferLink() {
	t := &b.keys.Transfer
	asked := *t
	networks, ports := map[string]bool{}, map[int]bool{}
	for i := range b.fleet.pools {
		g := &b.fleet.pools[i]
		if !b.fleet.disaggregated(g.model) {
			continue
		}
		name := cmp.Or(asked.Link, g.s.Hardware.Network)
		n := cmp.Or(asked.Ports, g.s.Parallelism.degrees().GPUs())
		if name == "" {
			b.problem("fleet.transfer.link",
				"no link, and %s has no usual network; give one of the catalogue "+
					"(llmsim list hardware)", g.Accelerator.Name)
			return
		}
		link := g.findLink(g.catalog, "fleet.transfer.link", name)
		end := sim.Link{
			Bandwidth: link.Bandwidth * float64(n), // each port sends or gets its part
			Latency:   sim.Seconds(link.Latency) + sim.Time(asked.Overhead),
		}
		if b.link == nil {
			b.link = &end
		}
		b.link.Bandwidth, b.link.Latency = min(b.link.Bandwidth, end.Bandwidth), max(b.link.Latency,
			end.Latency)
		networks[name], ports[n] = true, true
		whole := g.role == sim.Decode && returnsWhole(&g.s.Batching)
		if whole && asked.FirstToken == "prefill" {
			b.problem("fleet.transfer.first-token", "found prefill, allowed: decode, since the "+
				"batching policy %s of the decode replicas returns whole answers",
				g.s.Batching.Policy)
		}
		if g.role == sim.Prefill && g.Engine.Relays || whole {
			t.FirstToken = cmp.Or(t.FirstToken, "decode")
		}
	}
	if b.link == nil {
		return
	}
	t.Link, t.Ports = cmp.Or(t.Link, soleMember(networks)), cmp.Or(t.Ports, soleMember(ports))
	t.FirstToken = cmp.Or(t.FirstToken, "prefill")
	b.keys.Handover.Policy = cmp.Or(b.keys.Handover.Policy, "least-tokens")
	b.handover = choosePolicy(b, "fleet.handover", &b.registry.Routing, &b.keys.Handover)
}

// returnsWhole reports whether a batching policy returns answers as a whole.
func returnsWhole(batching *Policy) bool {
	return batching.Policy == "static" || batching.Policy == "dynamic"
}

// soleMember returns the member of a set of one, and "" for a larger set.
func soleMember[T comparable](set map[T]bool) T {
	var member T
	if len(set) == 1 {
		for member = range set {
		}
	}
	return member
}

// scaledPool is a pool whose replicas a policy starts and stops.
type scaledPool struct {
	pool   int
	policy deployment.Choice[sim.Scaler]
	every  sim.Time
	cold   sim.Time // what starting a replica takes
	// first is the number of replicas that run at the start. least is the number of replicas that
	// always run, including the replicas of steady, which are the pools that serve the same
	// requests and are not scaled.
	first, least int
	steady       []int
}

func scalingField(pool int) string { return fmt.Sprintf("fleet.pools.%d.scaling", pool) }

// isScaled reports whether the scenario has the replicas of a pool start and stop.
func (f *fleet) isScaled(pool int) bool { return f.file.given(scalingField(pool)) }

// newScaling sets up the scaling of a pool, and fills the defaults into w. It returns false, and
// notes the problem, if the scaling is wrong.
func (f *fleet) newScaling(top *fleetPolicies, pool int, w *Scaling) (scaledPool, bool) {
	g, field := &f.pools[pool], scalingField(pool)
	least := w.Least()
	w.Min = &least
	w.Every = cmp.Or(w.Every, Span(15*sim.Second))
	if least > g.size {
		f.problem(field+".min", "found %d; the pool has %d replicas", least, g.size)
		return scaledPool{}, false
	}
	made := scaledPool{pool: pool, every: sim.Time(w.Every), first: least, least: least}
	for k := range f.pools {
		other := &f.pools[k]
		switch {
		case k == pool || other.model != g.model || other.role != g.role ||
			other.maxPrompt != g.maxPrompt:
		case f.isScaled(k):
			if k < pool {
				f.problem(field,
					"pool %s serves the same requests as pool %s, and replicas of both start "+
						"and stop; "+
						"leave scaling out of one of them", g.name, other.name)
			}
			return scaledPool{}, false
		default:
			made.least += other.size
			made.steady = append(made.steady, k)
		}
	}
	made.cold = g.coldStart(field+".cold-start", &w.ColdStart)
	made.policy = choose(top.view, g.Anywhere(), field, &top.registry.Scaling,
		policySlot{field, &w.Policy, &w.Params, nil}, nil)
	return made, true
}

// coldStart returns how long a replica takes to start. Weights come over disk or network and then
// over the accelerators' links to the host.
func (g *pool) coldStart(field string, c *ColdStart) sim.Time {
	if *c == (ColdStart{}) {
		return 0
	}
	gpus := float64(g.s.Parallelism.degrees().GPUs())
	start := scaling.ColdStart{Boot: sim.Time(c.Boot), Weights: g.Plan.Weights * gpus}
	if c.Disk != "" {
		host, err := g.catalog.Host(c.Disk)
		if err != nil {
			g.problem(field+".disk", "%v", err)
			return 0
		}
		start.Disk = host.Disk
	}
	if link := g.findLink(g.catalog, field+".network", c.Network); link != nil {
		start.Network = link.Bandwidth * gpus
	}
	if link := g.findLink(g.catalog, "hardware", g.Config.Accelerator.HostLink); link != nil {
		start.PCIe = link.Bandwidth * gpus
	}
	t, err := start.Time()
	if err != nil {
		g.problem(field, "%v", err)
	}
	return t
}
