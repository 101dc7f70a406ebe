package scenarios

import (
	"slices"

	"github.com/llmsim/llmsim/policies"
	"github.com/llmsim/llmsim/policies/memory"
	"github.com/llmsim/llmsim/sim"
)

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
	policy := &p.Policies.Memory
	cache := memory.Cache(r.Memory)
	if policy.Policy == nil || cache == nil {
		return // an error was reported when the memory was made
	}
	disk, err := policies.PrefetchDisk(policy.Policy, p.Place(0), policy.Params)
	if err == nil && disk != nil {
		r.Disk.Reads, r.Disk.Patience = []int{a.wire(disk.Rate)}, disk.Patience
		r.Disk.Memory, err = memory.NewDisk(cache, disk.BlockBytes,
			sim.Seconds(disk.BlockBytes/disk.Rate))
		if err != nil {
			p.problem("memory.prefetch", "%v", err)
		}
	}
	shape, err := policies.SharedPool(policy.Policy, p.Place(0), policy.Params)
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
