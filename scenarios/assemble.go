package scenarios

import (
	"errors"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/llmsim/llmsim/policies"
	"github.com/llmsim/llmsim/policies/memory"
	"github.com/llmsim/llmsim/policies/routing"
	"github.com/llmsim/llmsim/policies/speculation"
	"github.com/llmsim/llmsim/scenarios/deployment"
	"github.com/llmsim/llmsim/sim"
	"github.com/llmsim/llmsim/workload"
)

// assembly makes the configuration of the simulator from a resolved scenario: policies, clocks and
// links.
type assembly struct {
	*resolved
	pools       []pool
	shared      sharedPools
	config      sim.Config
	speculators []*speculation.Speculator // by replica; nil for replicas that do not draft
}

// assemble makes everything but the source of requests.
func (r *resolved) assemble() *assembly {
	r.fleet.runSteps((*server).startClock, (*server).startDrafting)
	if len(r.problems) > 0 {
		return nil
	}
	a := &assembly{resolved: r, pools: r.fleet.pools}
	a.config.Router = buildPolicy(a, "routing", &a.policies.router)
	a.addReplicas()
	a.addFleet()
	a.checkIndex("routing", a.config.Router)
	a.checkIndex("fleet.handover", a.config.Handover)
	a.addSpeculators()
	return a
}

// checkIndex refuses a router that needs reports of cached blocks where a memory makes no reports.
func (a *assembly) checkIndex(field string, router sim.Router) {
	cached, ok := router.(*routing.Cached)
	if !ok || !cached.Exact() || len(a.problems) > 0 {
		return
	}
	for i := range a.pools {
		p := &a.pools[i]
		if memory.Cache(a.config.Replicas[p.first].Memory) == nil {
			a.policies.problem(field+".index", "found exact, but the memory policy %s of %s "+
				"reports no blocks; use prefix-cache, radix or offload there, or approximate here",
				p.Policies.Memory.Name(), p.Model.Name)
			return
		}
	}
}

// seed returns the seed of a replica's policies. The policies of the fleet have the seed with
// number 0.
func (a *assembly) seed(replica int) uint64 { return a.file.Scenario.Seed + uint64(replica) }

// buildPolicy makes a policy that serves the whole fleet.
func buildPolicy[T any](a *assembly, field string, choice *deployment.Choice[T]) T {
	made, err := choice.Build(a.pools[0].Place(a.seed(0)))
	if err != nil {
		a.policies.policyProblem(field, err)
	}
	return made
}

// addReplicas makes the servers, each with policies of its own. The servers of a pool share one
// clock.
func (a *assembly) addReplicas() {
	processors := a.file.Processors
	groups := groups(processors, a.fleet.replicas)
	if processors > 1 {
		a.config.Apart = runParallel(processors)
	}
	for i := range a.pools {
		p := &a.pools[i]
		servers := p.forkServers(processors, groups)
		for k := range p.size {
			group := (p.first + k) * groups / a.fleet.replicas
			r, err := servers[group].Replica(a.seed(p.first + k))
			var failed *deployment.PolicyError
			if errors.As(err, &failed) {
				p.policyProblem(failed.Family, failed.Err)
			}
			r.Model, r.Role, r.Group, r.Set = p.model, p.role, group, i
			r.MaxPrompt, r.Weight = p.maxPrompt, p.weight
			r.RoundTrips = a.policies.roundTrips[i]
			if p.role != sim.Mixed {
				r.Latency += p.Clock.Handover()
				r.PromptLatency = 0 // the frontends turn text into tokens
				r.FirstChunk = p.Engine.FirstChunk
			}
			if p.role == sim.Prefill {
				r.KVBytes, r.Relays = p.HandedOver(),
					a.policies.keys.Transfer.FirstToken == "decode"
				if !a.policies.keys.Transfer.Whole {
					r.Layers = p.Model.Layers()
				}
			}
			a.pin(p, r.Memory)
			a.shared.connect(p, &r)
			a.config.Replicas = append(a.config.Replicas, r)
		}
	}
	a.config.Wires = a.shared.wires
}

// pin lets the memory of a replica pin the prefixes of its model's requests, if its policy does.
func (a *assembly) pin(p *pool, m sim.Memory) {
	cache := memory.Cache(m)
	if cache == nil || !policies.Pins(p.Policies.Memory.Settings) {
		return
	}
	c := &a.demand.config
	switch {
	case c.Adapters != nil:
		p.problem("memory.pin", "found prefixes, and adapters, each of which computes a KV cache "+
			"of its own of a prefix; leave one of them out")
	case !slices.ContainsFunc(c.Classes, func(c workload.Class) bool {
		return c.Prefix != nil && c.Model == p.model
	}):
		p.problem("memory.pin", "found prefixes, and no workload.prefix for %s; give one, or none",
			p.Model.Name)
	default:
		if err := cache.Pin(workload.Prefixes(c.Classes, c.Seed, p.model)); err != nil {
			p.problem("memory.pin", "%v; give fewer or shorter prefixes, or more memory", err)
		}
	}
}

// addFleet adds the parts of the configuration that concern several replicas.
func (a *assembly) addFleet() {
	b, c := a.policies, &a.config
	w := &b.keys
	a.addEncoders(w.Encoders)
	if b.admission.Policy != nil {
		c.Admission = buildPolicy(a, "fleet.admission", &b.admission)
	}
	c.QueueTimeout, c.Announce = sim.Time(w.QueueTimeout), sim.Time(w.Announce)
	if c.Announce > 0 && len(c.Wires) == 0 && len(a.problems) == 0 {
		b.problem("fleet.announce", "found %v, and nothing that could be brought before a turn: "+
			"give a disk with memory.prefetch=arrival, or a pool", c.Announce)
	}
	c.Retry = sim.Retry{Attempts: w.Retries, Delay: sim.Time(w.RetryDelay)}
	c.Outages = b.outages
	if b.link != nil {
		c.Links = []sim.Link{*b.link}
		c.Handover = buildPolicy(a, "fleet.handover", &b.handover)
	}
	for i := range b.scalings {
		a.addScaling(&b.scalings[i])
	}
}

// addEncoders adds the encoders apart from the replicas.
func (a *assembly) addEncoders(number int) {
	if number == 0 {
		return
	}
	first := &a.pools[0]
	for i := range a.pools {
		if a.pools[i].Model.Name != first.Model.Name {
			a.policies.problem("fleet.encoders", "encoders serve one model; here are %s and %s",
				first.Model.Name, a.pools[i].Model.Name)
			return
		}
	}
	var err error
	if a.config.Encoders, err = first.Encoders(number); err != nil {
		a.policies.problem("fleet.encoders", "%v", err)
	}
}

// addScaling lets a policy start and stop the replicas of a pool.
func (a *assembly) addScaling(s *scaledPool) {
	p := &a.pools[s.pool]
	for k := range p.size {
		r := &a.config.Replicas[p.first+k]
		r.Off, r.ColdStart = k >= s.first, s.cold
	}
	for _, other := range s.steady {
		steady := &a.pools[other]
		for k := range steady.size {
			a.config.Replicas[steady.first+k].Steady = true
		}
	}
	a.config.Scalings = append(a.config.Scalings, sim.Scaling{
		Model: p.model, Role: p.role, MaxPrompt: p.maxPrompt, Every: s.every, Min: s.least,
		Scaler: buildPolicy(a, scalingField(s.pool), &s.policy),
	})
}

// addSpeculators gives a speculator to each replica that decodes, in the pools that draft.
func (a *assembly) addSpeculators() {
	a.speculators = make([]*speculation.Speculator, len(a.config.Replicas))
	for i := range a.pools {
		p := &a.pools[i]
		if p.drafter == nil || p.role == sim.Prefill {
			continue
		}
		drafters := map[int]speculation.Drafter{} // by group
		for number := p.first; number < p.first+p.size; number++ {
			r := &a.config.Replicas[number]
			if drafters[r.Group] == nil {
				drafters[r.Group] = p.drafter
				if a.file.Processors > 1 {
					drafters[r.Group] = speculation.Fork(p.drafter)
				}
			}
			if made := p.speculator(a.seed(number), drafters[r.Group], r); made != nil {
				a.speculators[number], r.Speculator = made, made
			}
		}
	}
}

// speculator makes the speculator of a replica.
func (s *server) speculator(seed uint64, drafter speculation.Drafter,
	r *sim.ReplicaConfig) *speculation.Speculator {
	sp, d := s.s.Speculation, &s.drafting
	lengths, err := d.lengths.Build(s.Place(seed))
	if err != nil {
		s.policyProblem("speculation.length", err)
		return nil
	}
	made, err := speculation.New(speculation.Config{
		Acceptance: d.acceptance, Shape: sp.shape(), Drafter: drafter, Lengths: lengths,
		Verify: r.Clock,
		Match:  sp.Match, Recompute: sp.Method == "eagle" || sp.Method == "mtp", Ahead: sp.Ahead,
		Cold: r.Role == sim.Decode, Seed: seed, TokenBudget: s.TokenBudget(),
		Step: sim.Time(sp.Overhead.Step), Sequence: sim.Time(sp.Overhead.Sequence),
	})
	if err != nil {
		s.problem("speculation", "%v", err)
		return nil
	}
	return made
}

// sharedPool is the pool of KV caches that the replicas of a model share, with the wires from and
// to it.
type sharedPool struct {
	model  int
	shape  policies.KVPool
	memory *memory.Pool
	in     int // the wire into the pool; the one out of it is the next
}

// sharedPools are all of them, and the bandwidths of their wires.
type sharedPools struct {
	pools []sharedPool
	wires []float64
}

// connect gives a replica its way to the disk from which it prefetches and to the pool of its
// model, if its memory policy asks for them.
func (a *sharedPools) connect(p *pool, r *sim.ReplicaConfig) {
	settings := p.Policies.Memory.Settings
	cache := memory.Cache(r.Memory)
	if settings == nil || cache == nil {
		return // an error was reported when the memory was made
	}
	disk, err := policies.PrefetchDisk(settings, p.Place(0))
	if err == nil && disk != nil {
		r.Disk.Reads, r.Disk.Patience = []int{a.wire(disk.Rate)}, disk.Patience
		r.Disk.Memory, err = memory.NewDisk(cache, disk.BlockBytes,
			sim.Seconds(disk.BlockBytes/disk.Rate))
		if err != nil {
			p.problem("memory.prefetch", "%v", err)
		}
	}
	shape, err := policies.SharedPool(settings, p.Place(0))
	if err != nil || shape == nil {
		return
	}
	k := slices.IndexFunc(a.pools, func(s sharedPool) bool { return s.model == p.model })
	if k < 0 {
		made, err := memory.NewPool(shape.Blocks, shape.BlockTokens)
		if err != nil {
			p.problem("memory.pool", "%v", err)
			return
		}
		k = len(a.pools)
		a.pools = append(a.pools, sharedPool{p.model, *shape, made, a.wire(shape.Rate)})
	}
	s := &a.pools[k]
	if s.shape != *shape {
		p.problem("memory.pool", "the replicas of a model share one pool: give them the same "+
			"size, rates and blocks, and accelerators that store a token in as many bytes")
		return
	}
	fetch := sim.Seconds(shape.BlockBytes / min(shape.Rate, shape.Link))
	r.Pooling.Memory, err = memory.NewPooled(cache, s.memory, shape.BlockBytes, fetch)
	if err != nil {
		p.problem("memory.pool", "%v", err)
		return
	}
	link := a.wire(shape.Link)
	r.Pooling.Writes, r.Pooling.Reads = []int{s.in, link}, []int{s.in + 1, link + 1}
}

// wire adds a wire in either direction, and returns the number of the first.
func (a *sharedPools) wire(rate float64) int {
	a.wires = append(a.wires, rate, rate)
	return len(a.wires) - 2
}

// runParallel returns what runs tasks on a number of processors at the same time.
func runParallel(processors int) func(n int, task func(int)) {
	return func(n int, task func(int)) {
		var next atomic.Int64
		work := func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				task(i)
			}
		}
		var others sync.WaitGroup
		for range min(processors, n) - 1 {
			others.Go(work)
		}
		work()
		others.Wait()
	}
}

// groupsPerProcessor is the number of groups of replicas for each processor, so that no
// processor waits for long at the end. Each group takes a clock of its own.
const groupsPerProcessor = 2

// mostGroups bounds the memory of clocks.
const mostGroups = 32

// groups returns the number of groups of a number of replicas that may run at the same time.
func groups(processors, replicas int) int {
	if processors < 2 {
		return 1
	}
	return min(groupsPerProcessor*processors, mostGroups, replicas)
}

// forkServers returns the servers of a pool by group. The clock of the pool itself is for
// observers of its replicas, which ask it meanwhile.
func (p *pool) forkServers(processors, groups int) []*deployment.Server {
	list := make([]*deployment.Server, groups)
	for i := range list {
		list[i] = &p.Server
		if processors > 1 {
			fork := p.Server
			fork.Clock = p.Clock.Fork()
			list[i] = &fork
		}
	}
	return list
}
