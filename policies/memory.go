package policies

import (
	"slices"

	"github.com/llmsim/llmsim/policies/memory"
	"github.com/llmsim/llmsim/sim"
)

func memoryPolicies() []Policy[sim.Memory] {
	return []Policy[sim.Memory]{paged(), prefixCache(), radix(), slidingWindow(), contiguous()}
}

func blockSize() Param {
	return Param{Name: "block-size", Doc: "tokens in a KV block", Default: "16"}
}

func paged() Policy[sim.Memory] {
	return Policy[sim.Memory]{
		Name:   "paged",
		Doc:    "blocks of a fixed number of tokens, taken as sequences grow",
		Source: "Kwon et al., PagedAttention, SOSP 2023",
		Params: []Param{blockSize()},
		New: func(d Deployment, v Values) (sim.Memory, error) {
			size := v.Count("block-size")
			return memory.NewPaged(d.KVTokens/int64(max(size, 1)), size)
		},
	}
}

func prefixCache() Policy[sim.Memory] {
	return Policy[sim.Memory]{
		Name:   "prefix-cache",
		Doc:    "paged, and full blocks are shared between requests with the same beginning, kept until their place is needed",
		Source: "vLLM automatic prefix caching: vllm/v1/core/kv_cache_manager.py, v0.15",
		Params: []Param{blockSize()},
		New:    newPrefixCache,
	}
}

func radix() Policy[sim.Memory] {
	return Policy[sim.Memory]{
		Name:   "radix",
		Doc:    "a radix tree of token runs, shared between requests with the same beginning to the token",
		Source: "Zheng et al., SGLang, NeurIPS 2024, section 3 (RadixAttention)",
		Params: []Param{{Name: "block-size", Doc: "tokens that are shared or not together (page_size)", Default: "1"}},
		New:    newPrefixCache,
	}
}

func newPrefixCache(d Deployment, v Values) (sim.Memory, error) {
	size := v.Count("block-size")
	return memory.NewPrefixCache(d.KVTokens/int64(max(size, 1)), size)
}

func slidingWindow() Policy[sim.Memory] {
	return Policy[sim.Memory]{
		Name:   "sliding-window",
		Doc:    "paged; in layers with a sliding window a sequence that has filled it overwrites its oldest block",
		Source: "Jiang et al., Mistral 7B, arXiv:2310.06825, section 2 (rolling buffer cache)",
		Params: []Param{
			blockSize(),
			{Name: "window", Doc: "tokens that a layer sees, in all layers; 0 for the window and the layers of the model", Default: "0"},
		},
		New: func(d Deployment, v Values) (sim.Memory, error) {
			size, layers := v.Count("block-size"), d.Layers
			if window := v.Count("window"); window > 0 {
				layers = memory.Layers{Windowed: 1, Window: window}
			}
			if layers.Windowed == 0 {
				return nil, &ParamError{"window", "the model has no sliding window; give one in tokens, or use the memory policy paged"}
			}
			return memory.NewWindowed(d.KVTokens/int64(max(size, 1)), size, layers)
		},
	}
}

func contiguous() Policy[sim.Memory] {
	reservations := []string{"max", "pow2", "oracle"}
	return Policy[sim.Memory]{
		Name:   "contiguous",
		Doc:    "one piece for each request, reserved when it starts: engines before paging",
		Source: "Yu et al., Orca, OSDI 2022; its three variants in Kwon et al., PagedAttention, SOSP 2023, section 6.1",
		Params: []Param{
			{Name: "reserve", Doc: "room for a request: the longest context served, its prompt and the next power of two of its output, or exactly what it will need", Default: "max", Kind: Word, Words: reservations},
			{Name: "allocator", Doc: "how pieces are found", Default: "buddy", Kind: Word, Words: []string{"buddy", "first-fit"}},
		},
		Refuses: map[string]string{
			"block-size": "a reservation is one piece without blocks; memory policies with blocks are paged, prefix-cache and radix",
		},
		New: func(d Deployment, v Values) (sim.Memory, error) {
			reservation := memory.Reservation(slices.Index(reservations, v.Word("reserve")))
			return memory.NewContiguous(d.KVTokens, d.MaxContext, reservation, v.Word("allocator") == "buddy")
		},
	}
}
