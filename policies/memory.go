package policies

import (
	"fmt"
	"maps"
	"slices"

	"github.com/llmsim/llmsim/policies/memory"
	"github.com/llmsim/llmsim/sim"
)

func memoryPolicies() []Policy[sim.Memory] {
	return append([]Policy[sim.Memory]{paged(), hybrid(), prefixCache(), radix(), slidingWindow(),
		contiguous()}, offloading()...)
}

// Parameters of other memory policies, and why a policy does not have them.
const (
	noTiers = "only the memory policy offload has host memory and disk below the " +
		"accelerator's"
	noReservations = "reservations are the memory policy contiguous; here blocks are taken as " +
		"sequences grow"
)

func refuseTiers(others map[string]string) map[string]string {
	all := map[string]string{}
	for _, p := range tierParams() {
		all[p.Name] = noTiers
	}
	maps.Copy(all, others)
	return all
}

func refuseReservations() map[string]string {
	return refuseTiers(map[string]string{"reserve": noReservations, "allocator": noReservations})
}

func blockSize() Param {
	return Param{Name: "block-size", Doc: "tokens in a KV block", Default: "16"}
}

// pinned is the parameter of Pins.
func pinned() Param {
	return Param{Name: "pin", Doc: "texts that never leave the accelerator once they are " +
		"computed: none, or those that groups of prompts begin with (prefixes: " +
		"workload.prefix), such as system prompts and descriptions of tools", Default: "none",
		Kind: Word, Words: []string{"none", "prefixes"}}
}

// Pins reports whether a memory policy with the given parameters pins what prompts begin with.
func Pins(p *Policy[sim.Memory], written map[string]string) bool {
	v, err := parse(p.Params, written)
	return err == nil && v.words["pin"] == "prefixes"
}

func paged() Policy[sim.Memory] {
	return Policy[sim.Memory]{
		Name:   "paged",
		Doc:    "blocks of a fixed number of tokens, taken as sequences grow",
		Source: "Kwon et al., PagedAttention, SOSP 2023",
		Params: []Param{blockSize()}, Refuses: refuseReservations(),
		New: func(d Deployment, v Values) (sim.Memory, error) {
			size := v.Count("block-size")
			if d.Layers.Fixed > 0 {
				return memory.NewWindowed(d.KVTokens/int64(max(size, 1)), size, d.Layers.Whole())
			}
			return memory.NewPaged(d.KVTokens/int64(max(size, 1)), size)
		},
	}
}

// hybrid is the manager of engines for models whose layers keep different things.
func hybrid() Policy[sim.Memory] {
	return Policy[sim.Memory]{
		Name: "hybrid",
		Doc: "paged; layers with a sliding window keep the last blocks only, recurrent layers a " +
			"state of fixed size. The default of " +
			"vllm, sglang and trtllm for models with such layers. Prompts share what they begin " +
			"with where windows, and states if " +
			"they are kept, allow",
		Source: "vLLM hybrid KV cache manager: vllm/v1/core/kv_cache_coordinator.py, v0.15; " +
			"SGLang: SWATokenToKVPool, HybridReqToTokenPool, v0.5",
		Params: []Param{blockSize(), {
			Name: "states", Kind: Word, Default: "running",
			Words: []string{"running", "checkpoints"},
			Doc: "what is kept of the states of recurrent layers: those of running sequences, so " +
				"that nothing is shared, or checkpoints too, " +
				"from which later prompts go on",
		}},
		Refuses: refuseReservations(),
		New: func(d Deployment, v Values) (sim.Memory, error) {
			size := v.Count("block-size")
			blocks := d.KVTokens / int64(max(size, 1))
			if !d.Layers.Bounded() {
				return memory.NewPrefixCache(blocks, size)
			}
			return memory.NewHybrid(blocks, size, d.Layers, v.Word("states") == "checkpoints")
		},
	}
}

func prefixCache() Policy[sim.Memory] {
	return Policy[sim.Memory]{
		Name: "prefix-cache",
		Doc: "paged, and full blocks are shared between requests with the same beginning, " +
			"kept until their place is needed",
		Source: "vLLM automatic prefix caching: vllm/v1/core/kv_cache_manager.py, v0.15",
		Params: []Param{blockSize(), pinned()}, Refuses: refuseReservations(),
		New: newPrefixCache,
	}
}

func radix() Policy[sim.Memory] {
	return Policy[sim.Memory]{
		Name: "radix",
		Doc: "a radix tree of token runs, shared between requests with the same beginning to " +
			"the token",
		Source: "Zheng et al., SGLang, NeurIPS 2024, section 3 (RadixAttention)",
		Params: []Param{{Name: "block-size",
			Doc: "tokens that are shared or not together (page_size)", Default: "1"}, pinned()},
		Refuses: refuseReservations(),
		New:     newPrefixCache,
	}
}

func newPrefixCache(d Deployment, v Values) (sim.Memory, error) {
	blocks, size := d.sharedBlocks(v.Count("block-size"))
	return memory.NewPrefixCache(blocks, size)
}

// sharedBlocks returns how many blocks there are for a prefix cache, and of how many tokens. With
// recurrent layers each block has the state at its end, so that a prompt can go on from there, and
// is so long that the state takes no more than its KV in a layer that grows (vLLM's
// mamba_cache_mode "all": vllm/model_executor/models/config.py, v0.15).
func (d Deployment) sharedBlocks(size int) (blocks int64, tokens int) {
	if d.Layers.Fixed == 0 {
		return d.KVTokens / int64(max(size, 1)), size
	}
	size = max(size, d.Layers.StateTokens)
	token := float64(d.Layers.Full + d.Layers.Windowed)
	return int64(float64(d.KVTokens) * token / (token*float64(size) + float64(d.Layers.Fixed))),
		size
}

func slidingWindow() Policy[sim.Memory] {
	return Policy[sim.Memory]{
		Name: "sliding-window",
		Doc: "paged; in layers with a sliding window a sequence that has filled it overwrites " +
			"its oldest block",
		Source: "Jiang et al., Mistral 7B, arXiv:2310.06825, section 2 (rolling buffer cache)",
		Params: []Param{
			blockSize(),
			{Name: "window", Doc: "tokens that a layer sees, in all layers; 0 for the window and " +
				"the layers of the model", Default: "0"},
		},
		New: func(d Deployment, v Values) (sim.Memory, error) {
			size, layers := v.Count("block-size"), d.Layers
			if window := v.Count("window"); window > 0 {
				layers = memory.Layers{Windowed: max(1, layers.Full+layers.Windowed),
					Window: window, Fixed: layers.Fixed}
			}
			if layers.Windowed == 0 {
				return nil, &ParamError{
					"window", "the model has no sliding window; give one in tokens, or use the " +
						"memory policy paged"}
			}
			return memory.NewWindowed(d.KVTokens/int64(max(size, 1)), size, layers)
		},
	}
}

func contiguous() Policy[sim.Memory] {
	reservations := []string{"max", "pow2", "oracle"}
	return Policy[sim.Memory]{
		Name: "contiguous",
		Doc:  "one piece for each request, reserved when it starts: engines before paging",
		Source: "Yu et al., Orca, OSDI 2022; its three variants in Kwon et al., PagedAttention, " +
			"SOSP 2023, section 6.1",
		Params: []Param{
			{Name: "reserve", Doc: "room for a request: the longest context served, its prompt " +
				"and the next power of two of its output, or exactly what it will need",
				Default: "max", Kind: Word, Words: reservations},
			{Name: "allocator", Doc: "how pieces are found", Default: "buddy", Kind: Word,
				Words: []string{"buddy", "first-fit"}},
		},
		Refuses: refuseTiers(map[string]string{
			"block-size": "a reservation is one piece without blocks; memory policies with " +
				"blocks are paged, prefix-cache and radix",
			"prefix-cache": "a reservation belongs to one request and cannot be shared; the " +
				"memory policies prefix-cache, radix and offload share",
			"window": "a reservation is made once, for all that a request will store; " +
				"sliding windows are the memory policy sliding-window",
		}),
		New: func(d Deployment, v Values) (sim.Memory, error) {
			if d.Layers.Fixed > 0 {
				return nil, fmt.Errorf(
					"engines that reserve contiguous memory have no recurrent layers; use the " +
						"memory policy hybrid")
			}
			reservation := memory.Reservation(slices.Index(reservations, v.Word("reserve")))
			return memory.NewContiguous(d.KVTokens, d.MaxContext, reservation,
				v.Word("allocator") == "buddy")
		},
	}
}
