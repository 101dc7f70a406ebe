package deployment

import (
	"cmp"
	"math"

	"github.com/llmsim/llmsim/models"
	"github.com/llmsim/llmsim/models/engines"
	"github.com/llmsim/llmsim/policies"
	"github.com/llmsim/llmsim/policies/memory"
	"github.com/llmsim/llmsim/sim"
)

// Defaults returns the engine's defaults for the model on its accelerators. If the model has layers
// that do not keep the KV of every token, engines that know such layers use the memory policy
// hybrid, unless windows have a pool apart. New refuses an engine that the registry does not have,
// whose defaults are empty.
func (c *Config) Defaults() Defaults {
	release, err := c.release()
	if err != nil {
		return Defaults{}
	}
	d := c.defaultsOf(&release)
	if l := c.layers(); c.Engine.Hybrid && l.Bounded() && (d.WindowShare == 0 || l.Fixed > 0) {
		d.Memory = OwnPolicy{Name: "hybrid"}
	}
	return d
}

// release returns the release of the engine: Release, or the newest of Engine with evidence.
func (c *Config) release() (engines.Release, error) {
	if c.Release.Engine != nil {
		return c.Release, nil
	}
	return engines.Find(c.Engine.Name, "")
}

// version returns the version of the engine; the zero Version if nothing is known of versions.
func (c *Config) version() engines.Version {
	r, err := c.release()
	if err != nil {
		return engines.Version{}
	}
	return r.Version
}

// KeepsWindowsWhole reports whether the memory policy keeps the KV of all tokens in layers with a
// sliding window, while the engine itself does not.
func (c *Config) KeepsWindowsWhole() bool {
	return c.Engine.Hybrid && !c.Policies.forgetsWindows() && c.layers().Windowed > 0 &&
		cmp.Or(c.Memory.WindowShare, c.Defaults().WindowShare) == 0
}

// forgetsWindows reports whether the memory policy keeps no more of a sequence than windows see.
func (p *Policies) forgetsWindows() bool {
	return p.Memory.Name() == "hybrid" || p.Memory.Name() == "sliding-window"
}

// layers returns the sizes that the model's layers keep of a sequence, in bytes on one accelerator.
func (c *Config) layers() memory.Layers {
	tp, least := c.Parallel.Complete().Tensor, 0
	k := c.Model.SequenceState(tp, c.kv())
	if c.Policies.forgetsWindows() {
		_, block := c.Policies.Memory.Number(policies.Block)
		k, least = c.Engine.Kept(c.Model, tp, c.kv(), max(1, block))
	}
	l := memory.Layers{
		Full: int(math.Round(k.Growing)), Windowed: int(math.Round(k.Windowed)), Window: k.Window,
		Fixed:       int(math.Ceil(k.Fixed)),
		StateTokens: k.StateTokens, Block: least,
	}
	if l.Full+l.Windowed == 0 {
		l.Full = 1
	}
	return l
}

// sequenceState returns what a sequence keeps on one accelerator, under the memory policy.
func (c *Config) sequenceState() models.SequenceState {
	k := c.Model.SequenceState(c.Parallel.Complete().Tensor, c.kv())
	if !c.Policies.forgetsWindows() {
		k.Growing, k.Windowed, k.Window = k.Growing+k.Windowed, 0, 0
	}
	return c.Parallel.OwnPart(k)
}

// HandedOver returns the size in bytes of what a sequence keeps, for all accelerators of a replica
// together.
func (c *Config) HandedOver() sim.Footprint[int64] {
	k := c.Model.SequenceState(1, c.kv())
	return sim.Footprint[int64]{
		Token: int64(math.Ceil(k.Growing)), WindowToken: int64(math.Ceil(k.Windowed)),
		Window: k.Window, Fixed: int64(k.Fixed),
	}
}

// swapSpace returns the room to which sequences of a replica can be swapped out.
func (s *Server) swapSpace(place *policies.Deployment) sim.HostMemory {
	if place.HostTokens == 0 {
		return sim.HostMemory{}
	}
	k, gpus := s.sequenceState(), float64(s.Parallel.Complete().Tensor)
	on := func(bytes float64) sim.Time { return sim.Seconds(bytes * gpus / place.HostRate) }
	return sim.HostMemory{Tokens: place.HostTokens, Time: sim.Footprint[sim.Time]{
		Token: on(k.Growing), WindowToken: on(k.Windowed), Window: k.Window, Fixed: on(k.Fixed),
	}}
}
