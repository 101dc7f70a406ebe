package scenarios

import (
	"github.com/llmsim/llmsim/hardware"
	"github.com/llmsim/llmsim/policies"
	"github.com/llmsim/llmsim/sim"
)

// attachHost describes the memory of the host for the KV caches of a replica.
func (b *builder) attachHost(place *policies.Deployment) {
	p := b.s.Parallelism
	place.TokenBytes = float64(b.model.KVBytesPerTokenPerGPU(hardware.DType(b.s.Engine.KVCache), p.Tensor)) * float64(p.Tensor)
	if b.hostLink != nil {
		place.HostRate = b.hostLink.Bandwidth * float64(p.Tensor*p.Pipeline)
	}
	place.HostTokens = int64(float64(b.s.Memory.Swap) / place.TokenBytes)
}

// swapSpace is where sequences of a replica at that place can be swapped out to.
func swapSpace(place *policies.Deployment) sim.HostMemory {
	if place.HostTokens == 0 {
		return sim.HostMemory{}
	}
	return sim.HostMemory{Tokens: place.HostTokens, TokenTime: sim.Seconds(place.TokenBytes / place.HostRate)}
}
