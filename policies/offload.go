package policies

import (
	"fmt"
	"slices"

	"github.com/llmsim/llmsim/internal/units"
	"github.com/llmsim/llmsim/policies/memory"
	"github.com/llmsim/llmsim/sim"
)

// tierParams are the parameters of lower tiers.
func tierParams() []Param {
	return []Param{
		{Name: "cpu", Doc: "host memory for KV caches, of all accelerators of a replica " +
			"together", Default: "64GiB", Kind: Bytes},
		{Name: "disk", Doc: "disk for KV caches", Default: "0B", Kind: Bytes},
		{Name: "disk-rate", Doc: "rate at which the disk is read", Default: "3GB/s",
			Kind: ByteRate},
		{Name: "write", Doc: "when a block goes to host memory: back, when its place on the " +
			"accelerator is needed, or through, as soon as it is computed, so that host memory " +
			"has a copy of all that the accelerator has", Default: "back", Kind: Word,
			Words: []string{"back", "through"}},
		{Name: "eviction", Doc: "which unused block is dropped first: the least recently (lru) " +
			"or least frequently used (lfu)", Default: "lru", Kind: Word,
			Words: []string{"lru", "lfu"}},
		{Name: "ttl", Doc: "time after its last use at which a block is dropped, 0s for never",
			Default: "0s", Kind: Duration},
		{Name: "fetch", Doc: "which blocks of lower tiers are fetched: all (always), or those " +
			"that take less time than to compute them (quicker)", Default: "always", Kind: Word,
			Words: []string{"always", "quicker"}},
		{Name: "prefetch", Doc: "when a prompt's blocks on disk come to host memory: when it is " +
			"admitted, so that the step waits (none), or when its request comes, which is queued " +
			"when they are there (arrival), or with what is there after 1 s and 250 ms for each " +
			"1,024 tokens (timeout)", Default: "none", Kind: Word,
			Words: []string{"none", "arrival", "timeout"}},
		{Name: "overlap", Doc: "what of a prompt can be computed while its cached beginning is " +
			"fetched: nothing (none), or layer after layer (layers)", Default: "none", Kind: Word,
			Words: []string{"none", "layers"}},
		{Name: "survives", Doc: "what is left when a replica fails or is switched off: nothing, " +
			"or host memory and disk with all copies (host)", Default: "nothing", Kind: Word,
			Words: []string{"nothing", "host"}},
		{Name: "compression", Doc: "factor, from 1, by which KV takes fewer bytes in the stores " +
			"below the accelerator, and on the way from them", Default: "1", Kind: Number},
		{Name: "decompress-rate", Doc: "rate at which a replica unpacks KV, in bytes that the " +
			"accelerator stores; to be given with a compression above 1", Default: "0B/s",
			Kind: ByteRate},
		{Name: "pool", Doc: "memory of other machines for KV caches, which all replicas of the " +
			"model share: a prompt's blocks come from there to host memory before it is queued",
			Default: "0B", Kind: Bytes},
		{Name: "pool-rate", Doc: "rate of the pool, in each direction, which all transfers share",
			Default: "200GB/s", Kind: ByteRate},
		{Name: "pool-link", Doc: "rate of a replica's link to the pool, in each direction",
			Default: "50GB/s", Kind: ByteRate},
	}
}

// offloading lists the policies with lower tiers. They differ in defaults only.
func offloading() []Policy[sim.Memory] {
	return []Policy[sim.Memory]{
		offload("offload", "a prefix cache whose blocks move to host memory, then to disk, when "+
			"their place is needed, and come back for a prompt that has them",
			"Gao et al., CachedAttention, USENIX ATC 2024; Qin et al., Mooncake, FAST 2025", nil),
		offload("vllm-offload", "offload with the defaults of vLLM's OffloadingConnector",
			"vLLM v0.15: vllm/v1/kv_offload/lru_manager.py, "+
				"distributed/kv_transfer/kv_connector/v1/offloading_connector.py",
			map[string]string{"write": "through"}),
		offload("lmcache", "offload with the defaults of LMCache",
			"LMCache, docs.lmcache.ai, configuration: local_cpu, max_local_cpu_size, "+
				"cache_policy, use_layerwise", map[string]string{"write": "through", "cpu": "5GB"}),
		offload("mooncake", "offload with the defaults of vLLM's MooncakeStoreConnector, and a "+
			"pool of eight segments",
			"docs.vllm.ai, features/mooncake_store_connector_usage (global_segment_size)",
			map[string]string{"write": "through", "cpu": "80GB", "pool": "640GB"}),
		offload("hicache", "offload with the defaults of SGLang's HiCache",
			"SGLang, docs.sglang.io, HiCache: hicache-write-policy; layer-wise loading",
			map[string]string{"write": "through", "overlap": "layers"}),
	}
}

func offload(name, doc, source string, defaults map[string]string) Policy[sim.Memory] {
	params := append([]Param{blockSize(), pinned()}, tierParams()...)
	for i := range params {
		if value, ok := defaults[params[i].Name]; ok {
			params[i].Default = value
		}
	}
	return Policy[sim.Memory]{Name: name, Doc: doc, Source: source, Params: params,
		New: newOffload}
}

func newOffload(d Deployment, v Values) (sim.Memory, error) {
	blocks, size := d.sharedBlocks(v.Count("block-size"))
	block, unpack, err := d.packedBlock(size, v)
	if err != nil {
		return nil, err
	}
	cpu, disk, rate := v.Number("cpu"), v.Number("disk"), v.Number("disk-rate")
	t := memory.Tiering{
		Frequent: v.Word("eviction") == "lfu", TTL: v.Duration("ttl"),
		Through: v.Word("write") == "through", Survives: v.Word("survives") == "host",
		Prefetch: v.Word("prefetch") != "none",
	}
	if v.Word("fetch") == "quicker" {
		t.Compute = d.PromptTime
	}
	switch {
	case d.HostRate == 0:
		return nil, fmt.Errorf(
			"the accelerator has no link to host memory; use the memory policy prefix-cache")
	case size > 0 && cpu < block:
		return nil, &ParamError{
			"cpu", fmt.Sprintf(
				"found %s, want room for a block of %s at least, or the memory policy prefix-cache",
				units.FormatBytes(cpu), units.FormatBytes(block))}
	case disk > 0 && disk < block:
		return nil, &ParamError{"disk", fmt.Sprintf(
			"found %s, want room for a block of %s at least, or none", units.FormatBytes(disk),
			units.FormatBytes(block))}
	case disk > 0 && rate == 0:
		return nil, &ParamError{"disk-rate", "found 0B/s, want more, such as 3GB/s"}
	case t.Prefetch && disk == 0:
		return nil, &ParamError{"prefetch", fmt.Sprintf("found %s, and no disk from which blocks "+
			"could come (those of a pool always come on arrival); give a disk, or none",
			v.Word("prefetch"))}
	case t.Frequent && t.TTL > 0:
		return nil, &ParamError{"ttl", "blocks are dropped by frequency (eviction: lfu) or by " +
			"age; leave one of the two out"}
	case t.Survives && !t.Through:
		return nil, &ParamError{"survives", "what survives a failure are the copies in host " +
			"memory; set write to through"}
	}
	if _, err := sharedPool(d, v); err != nil {
		return nil, err
	}
	fetch := block/d.HostRate + unpack
	tiers := []memory.Tier{{Blocks: int64(cpu / block), Fetch: sim.Seconds(fetch)}}
	if disk >= block {
		tiers = append(tiers, memory.Tier{Blocks: int64(disk / block),
			Fetch: sim.Seconds(block/rate + fetch)})
	}
	return memory.NewTiered(blocks, size, t, tiers...)
}

// packedBlock returns the bytes of a block below the accelerator, and the seconds in which it is
// unpacked.
func (d Deployment) packedBlock(tokens int, v Values) (bytes, unpack float64, err error) {
	block := d.TokenBytes*float64(tokens) + d.SequenceBytes
	factor, rate := v.Number("compression"), v.Number("decompress-rate")
	switch {
	case factor < 1:
		return 0, 0, &ParamError{"compression", fmt.Sprintf("found %g, want 1 (KV as it is) or "+
			"more", factor)}
	case factor > 1 && rate == 0:
		return 0, 0, &ParamError{"decompress-rate", fmt.Sprintf("with a compression of %g, KV "+
			"has to be unpacked; give a measured rate, such as 50GB/s", factor)}
	case factor == 1 && rate > 0:
		return 0, 0, &ParamError{"decompress-rate", "with a compression of 1 nothing is " +
			"unpacked; leave it out"}
	case factor == 1:
		return block, 0, nil
	}
	return block / factor, block / rate, nil
}

// KVDisk describes a disk from which KV caches are prefetched: the size of a block in bytes, and
// the rate in B/s at which it is read. Patience is how long a request waits for a read of that many
// bytes; nil means until all have come.
type KVDisk struct {
	BlockBytes, Rate float64
	Patience         func(bytes int64) sim.Time
}

// PrefetchDisk returns the disk from which a memory policy with the given parameters prefetches,
// nil if it has no disk.
func PrefetchDisk(p *Policy[sim.Memory], d Deployment,
	written map[string]string) (*KVDisk, error) {
	if !p.has("pool") {
		return nil, nil
	}
	v, err := parse(p.Params, written)
	if err != nil || v.Word("prefetch") == "none" {
		return nil, err
	}
	_, tokens := d.sharedBlocks(v.Count("block-size"))
	block, _, err := d.packedBlock(tokens, v)
	disk := &KVDisk{BlockBytes: block, Rate: v.Number("disk-rate")}
	if v.Word("prefetch") == "timeout" {
		// The defaults of prefetch_timeout_base and prefetch_timeout_per_ki_token (SGLang:
		// python/sglang/srt/mem_cache/hiradix_cache.py).
		disk.Patience = func(bytes int64) sim.Time {
			return sim.Seconds(1 + 0.25*float64(bytes)/block*float64(tokens)/1024)
		}
	}
	return disk, err
}

// KVPool describes a pool of KV caches: the number of its blocks, their size in tokens and in
// bytes, and the rates in B/s of the pool and of a replica's link to it, in each direction.
type KVPool struct {
	Blocks      int64
	BlockTokens int
	BlockBytes  float64
	Rate, Link  float64
}

// SharedPool returns the pool that a memory policy asks for with the given parameters, nil if it
// does not ask for one.
func SharedPool(p *Policy[sim.Memory], d Deployment, written map[string]string) (*KVPool, error) {
	if !p.has("pool") {
		return nil, nil
	}
	v, err := parse(p.Params, written)
	if err != nil {
		return nil, err
	}
	return sharedPool(d, v)
}

func sharedPool(d Deployment, v Values) (*KVPool, error) {
	size := v.Number("pool")
	if size == 0 {
		return nil, nil
	}
	_, tokens := d.sharedBlocks(v.Count("block-size"))
	block, _, err := d.packedBlock(tokens, v)
	if err != nil {
		return nil, err
	}
	p := &KVPool{Blocks: int64(size / block), BlockTokens: tokens, BlockBytes: block,
		Rate: v.Number("pool-rate"), Link: v.Number("pool-link")}
	switch {
	case size < block:
		return nil, &ParamError{"pool", fmt.Sprintf(
			"found %s, want room for a block of %s at least, or none", units.FormatBytes(size),
			units.FormatBytes(block))}
	case p.Rate == 0:
		return nil, &ParamError{"pool-rate", "found 0B/s, want more, such as 200GB/s"}
	case p.Link == 0:
		return nil, &ParamError{"pool-link", "found 0B/s, want more, such as 50GB/s"}
	}
	return p, nil
}

// has reports whether the policy has a parameter of that name.
func (p *Policy[T]) has(name string) bool {
	return slices.ContainsFunc(p.Params, func(param Param) bool { return param.Name == name })
}

// Offloads reports whether the memory policy of that name has lower tiers.
func Offloads(policy string) bool {
	return slices.ContainsFunc(offloading(),
		func(p Policy[sim.Memory]) bool { return p.Name == policy })
}
