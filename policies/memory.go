package policies

import (
	"fmt"
	"maps"
	"reflect"
	"slices"

	"github.com/llmsim/llmsim/internal/strict"
	"github.com/llmsim/llmsim/internal/units"
	"github.com/llmsim/llmsim/policies/memory"
	"github.com/llmsim/llmsim/sim"
)

// Parameters of other memory policies, and why a policy does not have them.
const (
	noTiers = "only the memory policy offload has host memory and disk below the " +
		"accelerator's"
	noReservations = "reservations are the memory policy contiguous; here blocks are taken as " +
		"sequences grow"
)

// refuseTiers refuses the parameters of lower tiers and others.
func refuseTiers(others map[string]string) map[string]string {
	all := maps.Clone(others)
	for _, s := range strict.Settings(reflect.TypeFor[tiers]()) {
		all[s.Name] = noTiers
	}
	return all
}

// memoryPolicies returns the entries of package memory, the default first. The last five have lower
// tiers; they differ in defaults only.
func memoryPolicies() []Policy[sim.Memory] {
	inBlocks := refuseTiers(map[string]string{"reserve": noReservations,
		"allocator": noReservations})
	return []Policy[sim.Memory]{
		{
			Name: "paged", Doc: "blocks of a fixed number of tokens, taken as sequences grow",
			Source:   "Kwon et al., PagedAttention, SOSP 2023",
			Settings: paged{}, Refuses: inBlocks,
		},
		{
			Name:     "hybrid",
			Doc:      `paged; layers with a sliding window keep the last blocks only, recurrent layers a state of fixed size. The default of vllm, sglang and trtllm for models with such layers. Prompts share what they begin with where windows, and states if they are kept, allow`,
			Source:   `vLLM hybrid KV cache manager: vllm/v1/core/kv_cache_coordinator.py, v0.15; SGLang: SWATokenToKVPool, HybridReqToTokenPool, v0.5`,
			Settings: hybrid{}, Refuses: inBlocks,
		},
		{
			Name:     "prefix-cache",
			Doc:      `paged, and full blocks are shared between requests with the same beginning, kept until their place is needed`,
			Source:   "vLLM automatic prefix caching: vllm/v1/core/kv_cache_manager.py, v0.15",
			Settings: prefixCache{}, Refuses: inBlocks,
		},
		{
			Name:     "radix",
			Doc:      `a radix tree of token runs, shared between requests with the same beginning to the token`,
			Source:   "Zheng et al., SGLang, NeurIPS 2024, section 3 (RadixAttention)",
			Settings: radix{}, Refuses: inBlocks,
		},
		{
			Name:     "sliding-window",
			Doc:      `paged; in layers with a sliding window a sequence that has filled it overwrites its oldest block`,
			Source:   `Jiang et al., Mistral 7B, arXiv:2310.06825, section 2 (rolling buffer cache)`,
			Settings: slidingWindow{},
		},
		{
			Name:     "contiguous",
			Doc:      `one piece for each request, reserved when it starts: engines before paging`,
			Source:   `Yu et al., Orca, OSDI 2022; its three variants in Kwon et al., PagedAttention, SOSP 2023, section 6.1`,
			Settings: contiguous{},
			Refuses: refuseTiers(map[string]string{
				"block-size": "a reservation is one piece without blocks; memory policies with " +
					"blocks are paged, prefix-cache and radix",
				"prefix-cache": "a reservation belongs to one request and cannot be shared; the " +
					"memory policies prefix-cache, radix and offload share",
				"window": "a reservation is made once, for all that a request will store; " +
					"sliding windows are the memory policy sliding-window",
			}),
		},
		{
			Name:     "offload",
			Doc:      `a prefix cache whose blocks move to host memory, then to disk, when their place is needed, and come back for a prompt that has them`,
			Source:   `Gao et al., CachedAttention, USENIX ATC 2024; Qin et al., Mooncake, FAST 2025`,
			Settings: offload{},
		},
		{
			Name: "vllm-offload", Doc: "offload with the defaults of vLLM's OffloadingConnector",
			Source:   `vLLM v0.15: vllm/v1/kv_offload/lru_manager.py, distributed/kv_transfer/kv_connector/v1/offloading_connector.py`,
			Settings: offload{}, Defaults: map[string]string{"write": "through"},
		},
		{
			Name: "lmcache", Doc: "offload with the defaults of LMCache",
			Source:   `LMCache, docs.lmcache.ai, configuration: local_cpu, max_local_cpu_size, cache_policy, use_layerwise`,
			Settings: offload{}, Defaults: map[string]string{"write": "through", "cpu": "5GB"},
		},
		{
			Name:     "mooncake",
			Doc:      `offload with the defaults of vLLM's MooncakeStoreConnector, and a pool of eight segments`,
			Source:   `docs.vllm.ai, features/mooncake_store_connector_usage (global_segment_size)`,
			Settings: offload{},
			Defaults: map[string]string{"write": "through", "cpu": "80GB", "pool": "640GB"},
		},
		{
			Name: "hicache", Doc: "offload with the defaults of SGLang's HiCache",
			Source:   `SGLang, docs.sglang.io, HiCache: hicache-write-policy; layer-wise loading`,
			Settings: offload{},
			Defaults: map[string]string{"write": "through", "overlap": "layers"},
		},
	}
}

// Offloads reports whether the memory policy of that name has lower tiers.
func Offloads(policy string) bool {
	return slices.ContainsFunc(memoryPolicies(), func(p Policy[sim.Memory]) bool {
		_, tiered := p.Settings.(offload)
		return tiered && p.Name == policy
	})
}

type blockSize struct {
	BlockSize int `json:"block-size" default:"16" role:"block" tune:"16,32,64" jsonschema:"tokens in a KV block"`
}

// blocks returns how many blocks the KV memory has.
func (b *blockSize) blocks(d Deployment) int64 { return d.KVTokens / int64(max(b.BlockSize, 1)) }

type pinned struct {
	Pin string `json:"pin" default:"none" enum:"none,prefixes" jsonschema:"texts that never leave the accelerator once they are computed: none, or those that groups of prompts begin with (prefixes: workload.prefix), such as system prompts and descriptions of tools"`
}

func (p pinned) pins() bool { return p.Pin == "prefixes" }

// Pins reports whether a memory policy pins what prompts begin with.
func Pins(s Settings[sim.Memory]) bool {
	p, ok := s.(interface{ pins() bool })
	return ok && p.pins()
}

type paged struct{ blockSize }

func (s paged) New(d Deployment) (sim.Memory, error) {
	if d.Layers.Fixed > 0 {
		return memory.NewWindowed(s.blocks(d), s.BlockSize, d.Layers.Whole())
	}
	return memory.NewPaged(s.blocks(d), s.BlockSize)
}

// hybrid is the manager of engines for models whose layers keep different things.
type hybrid struct {
	blockSize
	States string `json:"states" default:"running" enum:"running,checkpoints" jsonschema:"what is kept of the states of recurrent layers: those of running sequences, so that nothing is shared, or checkpoints too, from which later prompts go on"`
}

func (s hybrid) New(d Deployment) (sim.Memory, error) {
	if !d.Layers.Bounded() {
		return memory.NewPrefixCache(s.blocks(d), s.BlockSize)
	}
	s.BlockSize = max(s.BlockSize, d.Layers.Block)
	return memory.NewHybrid(s.blocks(d), s.BlockSize, d.Layers, s.States == "checkpoints")
}

type prefixCache struct {
	blockSize
	pinned
}

func (s prefixCache) New(d Deployment) (sim.Memory, error) {
	blocks, size := d.sharedBlocks(s.BlockSize)
	return memory.NewPrefixCache(blocks, size)
}

type radix struct {
	BlockSize int `json:"block-size" default:"1" engine:"page_size" role:"block" tune:"16,32,64" jsonschema:"tokens that are shared or not together"`
	pinned
}

func (s radix) New(d Deployment) (sim.Memory, error) {
	blocks, size := d.sharedBlocks(s.BlockSize)
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

type slidingWindow struct {
	blockSize
	Window int `json:"window" default:"0" jsonschema:"tokens that a layer sees, in all layers; 0 for the window and the layers of the model"`
}

func (s slidingWindow) New(d Deployment) (sim.Memory, error) {
	layers := d.Layers
	if s.Window > 0 {
		layers = memory.Layers{Windowed: max(1, layers.Full+layers.Windowed), Window: s.Window,
			Fixed: layers.Fixed}
	}
	if layers.Windowed == 0 {
		return nil, &ParamError{"window", "the model has no sliding window; give one in tokens, " +
			"or use the memory policy paged"}
	}
	return memory.NewWindowed(s.blocks(d), s.BlockSize, layers)
}

type contiguous struct {
	Reserve   string `json:"reserve" default:"max" enum:"max,pow2,oracle" jsonschema:"room for a request: the longest context served, its prompt and the next power of two of its output, or exactly what it will need"`
	Allocator string `json:"allocator" default:"buddy" enum:"buddy,first-fit" jsonschema:"how pieces are found"`
}

func (s contiguous) New(d Deployment) (sim.Memory, error) {
	if d.Layers.Fixed > 0 {
		return nil, fmt.Errorf("engines that reserve contiguous memory have no recurrent layers; " +
			"use the memory policy hybrid")
	}
	reserve := map[string]memory.Reservation{"max": memory.ReserveLongest,
		"pow2": memory.ReservePowerOfTwo, "oracle": memory.ReserveExact}
	return memory.NewContiguous(d.KVTokens, d.MaxContext, reserve[s.Reserve],
		s.Allocator == "buddy")
}

// offload is a prefix cache with lower tiers.
type offload struct {
	blockSize
	pinned
	tiers
}

// tiers are the stores below the accelerator.
type tiers struct {
	CPU            Bytes    `json:"cpu" default:"64GiB" jsonschema:"host memory for KV caches, of all accelerators of a replica together"`
	Disk           Bytes    `json:"disk" default:"0B" jsonschema:"disk for KV caches"`
	DiskRate       ByteRate `json:"disk-rate" default:"3GB/s" jsonschema:"rate at which the disk is read"`
	Write          string   `json:"write" default:"back" enum:"back,through" jsonschema:"when a block goes to host memory: back, when its place on the accelerator is needed, or through, as soon as it is computed, so that host memory has a copy of all that the accelerator has"`
	Eviction       string   `json:"eviction" default:"lru" enum:"lru,lfu" jsonschema:"which unused block is dropped first: the least recently (lru) or least frequently used (lfu)"`
	TTL            Span     `json:"ttl" default:"0s" jsonschema:"time after its last use at which a block is dropped, 0s for never"`
	Fetch          string   `json:"fetch" default:"always" enum:"always,quicker" jsonschema:"which blocks of lower tiers are fetched: all (always), or those that take less time than to compute them (quicker)"`
	Prefetch       string   `json:"prefetch" default:"none" enum:"none,arrival,timeout" jsonschema:"when a prompt's blocks on disk come to host memory: when it is admitted, so that the step waits (none), or when its request comes, which is queued when they are there (arrival), or with what is there after 1 s and 250 ms for each 1,024 tokens (timeout)"`
	Overlap        string   `json:"overlap" default:"none" enum:"none,layers" jsonschema:"what of a prompt can be computed while its cached beginning is fetched: nothing (none), or layer after layer (layers)"`
	Survives       string   `json:"survives" default:"nothing" enum:"nothing,host" jsonschema:"what is left when a replica fails or is switched off: nothing, or host memory and disk with all copies (host)"`
	Compression    float64  `json:"compression" default:"1" jsonschema:"factor, from 1, by which KV takes fewer bytes in the stores below the accelerator, and on the way from them"`
	DecompressRate ByteRate `json:"decompress-rate" default:"0B/s" jsonschema:"rate at which a replica unpacks KV, in bytes that the accelerator stores; to be given with a compression above 1"`
	Pool           Bytes    `json:"pool" default:"0B" jsonschema:"memory of other machines for KV caches, which all replicas of the model share: a prompt's blocks come from there to host memory before it is queued"`
	PoolRate       ByteRate `json:"pool-rate" default:"200GB/s" jsonschema:"rate of the pool, in each direction, which all transfers share"`
	PoolLink       ByteRate `json:"pool-link" default:"50GB/s" jsonschema:"rate of a replica's link to the pool, in each direction"`
}

// noRoom is the error of a store that holds no block.
func noRoom(store string, size Bytes, block float64, otherwise string) error {
	return &ParamError{store, fmt.Sprintf("found %s, want room for a block of %s at least, or %s",
		units.FormatBytes(float64(size)), units.FormatBytes(block), otherwise)}
}

func (s offload) New(d Deployment) (sim.Memory, error) {
	blocks, size := d.sharedBlocks(s.BlockSize)
	block, unpack, err := s.packedBlock(d, size)
	if err != nil {
		return nil, err
	}
	cpu, disk, rate := float64(s.CPU), float64(s.Disk), float64(s.DiskRate)
	t := memory.Tiering{
		Frequent: s.Eviction == "lfu", TTL: sim.Time(s.TTL), Through: s.Write == "through",
		Survives: s.Survives == "host", Prefetch: s.Prefetch != "none",
	}
	if s.Fetch == "quicker" {
		t.Compute = d.PromptTime
	}
	switch {
	case d.HostRate == 0:
		return nil, fmt.Errorf(
			"the accelerator has no link to host memory; use the memory policy prefix-cache")
	case size > 0 && cpu < block:
		return nil, noRoom("cpu", s.CPU, block, "the memory policy prefix-cache")
	case disk > 0 && disk < block:
		return nil, noRoom("disk", s.Disk, block, "none")
	case disk > 0 && rate == 0:
		return nil, &ParamError{"disk-rate", "found 0B/s, want more, such as 3GB/s"}
	case t.Prefetch && disk == 0:
		return nil, &ParamError{"prefetch", fmt.Sprintf("found %s, and no disk from which blocks "+
			"could come (those of a pool always come on arrival); give a disk, or none",
			s.Prefetch)}
	case t.Frequent && t.TTL > 0:
		return nil, &ParamError{"ttl", "blocks are dropped by frequency (eviction: lfu) or by " +
			"age; leave one of the two out"}
	case t.Survives && !t.Through:
		return nil, &ParamError{"survives", "what survives a failure are the copies in host " +
			"memory; set write to through"}
	}
	if _, err := s.sharedPool(d); err != nil {
		return nil, err
	}
	fetch := block/d.HostRate + unpack
	lower := []memory.Tier{{Blocks: int64(cpu / block), Fetch: sim.Seconds(fetch)}}
	if disk >= block {
		lower = append(lower, memory.Tier{Blocks: int64(disk / block),
			Fetch: sim.Seconds(block/rate + fetch)})
	}
	return memory.NewTiered(blocks, size, t, lower...)
}

// packedBlock returns the bytes of a block below the accelerator, and the seconds in which it is
// unpacked.
func (s *tiers) packedBlock(d Deployment, tokens int) (bytes, unpack float64, err error) {
	block := d.TokenBytes*float64(tokens) + d.SequenceBytes
	factor, rate := s.Compression, float64(s.DecompressRate)
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

// FetchesLayers reports whether a memory policy fetches layer after layer, while those before are
// computed.
func FetchesLayers(s Settings[sim.Memory]) bool {
	o, tiered := s.(offload)
	return tiered && o.Overlap == "layers"
}

// KVDisk describes a disk from which KV caches are prefetched: the size of a block in bytes, and
// the rate in B/s at which it is read. Patience is how long a request waits for a read of that many
// bytes; nil means until all have come.
type KVDisk struct {
	BlockBytes, Rate float64
	Patience         func(bytes int64) sim.Time
}

// PrefetchDisk returns the disk from which a memory policy prefetches, or nil.
func PrefetchDisk(s Settings[sim.Memory], d Deployment) (*KVDisk, error) {
	o, tiered := s.(offload)
	if !tiered || o.Prefetch == "none" {
		return nil, nil
	}
	_, tokens := d.sharedBlocks(o.BlockSize)
	block, _, err := o.packedBlock(d, tokens)
	disk := &KVDisk{BlockBytes: block, Rate: float64(o.DiskRate)}
	if o.Prefetch == "timeout" {
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

// SharedPool returns the pool that a memory policy asks for, or nil.
func SharedPool(s Settings[sim.Memory], d Deployment) (*KVPool, error) {
	if o, tiered := s.(offload); tiered {
		return o.sharedPool(d)
	}
	return nil, nil
}

func (s *offload) sharedPool(d Deployment) (*KVPool, error) {
	if s.Pool == 0 {
		return nil, nil
	}
	_, tokens := d.sharedBlocks(s.BlockSize)
	block, _, err := s.packedBlock(d, tokens)
	if err != nil {
		return nil, err
	}
	switch {
	case float64(s.Pool) < block:
		return nil, noRoom("pool", s.Pool, block, "none")
	case s.PoolRate == 0:
		return nil, &ParamError{"pool-rate", "found 0B/s, want more, such as 200GB/s"}
	case s.PoolLink == 0:
		return nil, &ParamError{"pool-link", "found 0B/s, want more, such as 50GB/s"}
	}
	return &KVPool{Blocks: int64(float64(s.Pool) / block), BlockTokens: tokens, BlockBytes: block,
		Rate: float64(s.PoolRate), Link: float64(s.PoolLink)}, nil
}
