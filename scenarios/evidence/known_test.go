package evidence

import (
	"slices"
	"testing"

	"github.com/llmsim/llmsim/models/engines"
	"github.com/llmsim/llmsim/scenarios/deployment"
)

// smallest returns the evidence for a server for which all conditions of a kind hold, with nothing
// else of it chosen. Each neighbour misses one condition.
func (k *Known) smallest() (at Evidence, neighbours []Evidence) {
	const otherModel, otherAccelerator, otherEngine = "llama-3.1-8b", "h100-sxm", "trtllm"
	key := deployment.Key{Engine: k.Engine, Accelerator: otherAccelerator, Model: otherModel,
		Speculation: k.Speculation, Tensor: 1, Pipeline: 1, Expert: 1, Data: 1}
	if len(k.Accelerators) > 0 {
		key.Accelerator = k.Accelerators[0]
	}
	if len(k.Models) > 0 {
		key.Model = k.Models[0] + "x"
	}
	for _, preset := range []string{"vllm-v1", "sglang"} {
		if engines.Of(preset) == k.Engine {
			key.Engine = preset
		}
	}
	version := "0.1"
	if !k.Versions.From.IsZero() {
		version = k.Versions.From.String()
	}
	with := func(key deployment.Key, version string, apart bool, users float64) Evidence {
		e := Of(key, true).At(version, true)
		if apart {
			e = e.Apart()
		}
		return e.Under(Load{Users: users, Prompt: 100, Output: 100})
	}
	at = with(key, version, k.Apart, k.Users)
	add := func(applies bool, change func(*deployment.Key)) {
		if applies {
			other := key
			change(&other)
			neighbours = append(neighbours, with(other, version, k.Apart, k.Users))
		}
	}
	add(k.Engine != "", func(o *deployment.Key) { o.Engine = otherEngine })
	add(len(k.Accelerators) > 0, func(o *deployment.Key) { o.Accelerator = otherAccelerator })
	add(len(k.Models) > 0, func(o *deployment.Key) { o.Model = otherModel })
	add(k.Speculation != "", func(o *deployment.Key) { o.Speculation = "" })
	if k.Apart {
		neighbours = append(neighbours, with(key, version, false, k.Users))
	}
	if k.Users > 0 {
		neighbours = append(neighbours, with(key, version, k.Apart, k.Users-1))
	}
	if below := k.Versions.Below; !below.IsZero() {
		neighbours = append(neighbours, with(key, below.String(), k.Apart, k.Users))
	}
	if k.Versions != (engines.Range{}) {
		neighbours = append(neighbours, with(key, "", k.Apart, k.Users))
	}
	return at, neighbours
}

// Every known deviation is told of its smallest input and of no neighbour, which misses one of its
// conditions alone, and names a measurement.
func TestKnownDeviationsAreTold(t *testing.T) {
	names := map[string]bool{}
	for _, k := range AllKnown() {
		at, neighbours := k.smallest()
		if k.Says == "" || k.Settles == "" || names[k.Name] || len(neighbours) < 2 {
			t.Errorf("known.yaml: %q is not whole, there twice, or holds for nearly all", k.Name)
		}
		names[k.Name] = true
		if !slices.Contains(at.Deviations, k.Says) {
			t.Errorf("%s is not told of %+v under %s: %q", k.Name, at.Server, at.Version,
				at.Deviations)
		}
		for _, n := range neighbours {
			if slices.Contains(n.Deviations, k.Says) {
				t.Errorf("%s is told of %+v under %q, %g users", k.Name, n.Server, n.Version,
					n.Load.Users)
			}
		}
	}
}
