package engines

import (
	"math"
	"strconv"

	"github.com/llmsim/llmsim/internal/launch/options"
	"github.com/llmsim/llmsim/internal/units"
	"github.com/llmsim/llmsim/models/steptime"
	"github.com/llmsim/llmsim/policies"
)

// Engines count host memory for KV caches in different parts: vLLM the size of a data-parallel rank
// (vllm/config/cache.py, kv_offloading_size), SGLang the size of an accelerator in whole GB
// (docs.sglang.io/advanced_features/hicache_design.html, --hicache-size), and TensorRT-LLM the size
// of an accelerator in bytes (tensorrt_llm/_torch/pyexecutor/resource_manager.py, host_cache_size).
// A scenario's memory.cpu is a replica's.

// hostMemory returns the bytes of host memory that each part of a replica keeps KV caches in, 0
// where its memory policy keeps nothing there.
func (d *Replica) hostMemory(parts int) float64 {
	if !policies.Offloads(d.Memory.Policy) {
		return 0
	}
	size, _ := units.ParseBytes(d.Memory.Params["cpu"]) // which the policy has checked
	return size / float64(parts)
}

// setHostMemory sets the term for the host memory of each part of a replica, and reports whether
// there is any.
func (d *Replica) setHostMemory(t options.Terms, parts int) bool {
	size := d.hostMemory(parts)
	if size > 0 {
		t["memory.cpu"] = options.Amount(size)
	}
	return size > 0
}

// offloads sets the memory policy of an engine that keeps KV caches in host memory, if the command
// says so. The size that it gives belongs to each part of a replica.
func (r *Reading) offloads(policy string, parts int) {
	given, sized := r.Terms["memory.cpu"]
	if !sized {
		return
	}
	size, _ := units.ParseBytes(given) // as options has written it
	r.Set("memory.policy", policy)
	r.Set("memory.cpu", options.Amount(size*float64(parts)))
}

// lmcache sets the sizes of LMCache's stores: of host memory in a data-parallel rank, and of disks
// in all ranks. Each worker has its own (lmcache/v1/cache_engine.py, _Create_memory_allocator). A
// size that a flag of the command gives takes precedence.
func (r *Reading) lmcache(workers, ranks int) {
	cpu, _ := r.Take("lmcache-cpu")
	disk, _ := r.Take("lmcache-disk")
	local, _ := r.Take("lmcache-local")
	_, onDisk := r.Take("lmcache-path")
	if _, given := r.Terms["memory.cpu"]; given || r.Terms["offload-backend"] != "lmcache" {
		return
	}
	if local == "false" {
		r.Take("offload-backend")
		r.Note("LMCACHE_LOCAL_CPU: LMCache is left out, since it keeps nothing in host memory; " +
			"its disks and shared stores are memory.disk and memory.pool")
		return
	}
	if size, err := units.ParseBytes(cpu); err == nil && size > 0 {
		r.Set("memory.cpu", options.Amount(size*float64(workers)))
	}
	if size, err := units.ParseBytes(disk); err == nil && onDisk {
		r.Set("memory.disk", options.Amount(size*float64(workers*ranks)))
	}
}

// missingHostMemory says what of host memory for KV caches no flag of the engine expresses.
func (d *Replica) missingHostMemory(e *Engine, say func(format string, args ...any)) {
	policy := d.Memory.Policy
	if !policies.Offloads(policy) {
		return
	}
	own := map[string]string{"vllm": "vllm-offload", "sglang": "hicache",
		"trtllm": "offload"}[e.Name]
	each := d.hostMemory(d.Accelerators())
	switch {
	case e.Name == "vllm" && d.Role != "mixed":
		say("memory %s: no flags are written, since vLLM's offloading would take the place of "+
			"the connector between the pools; they need its MultiConnector", policy)
		return
	case e.Name == "sglang" && d.Role == "decode":
		say("memory %s: no flags are written for replicas that decode, where SGLang keeps no "+
			"prompts", policy)
		return
	case policy != own && (e.Name != "vllm" || policy != "lmcache"):
		say("memory %s: %s uses host memory as %s does", policy, e.Name, own)
	}
	if e.Name != "sglang" {
		return
	}
	if whole := math.Floor(each / 1e9); whole*1e9 != each {
		say("memory.cpu %s: SGLang takes whole GB for each of %d accelerators, here %.0f",
			d.Memory.Params["cpu"], d.Accelerators(), whole)
	}
	if each <= d.Server.Plan.KV {
		say("memory.cpu %s: SGLang asks for more on each accelerator's host than the KV cache "+
			"there, %s", d.Memory.Params["cpu"], units.FormatBytes(math.Round(d.Server.Plan.KV)))
	}
}

// Engines divide memory by different shares. A scenario's utilization is vLLM's
// gpu_memory_utilization: of all memory, for everything that the engine needs.

// staticShare returns what SGLang calls mem_fraction_static: the share of the memory that
// is free before weights are loaded for weights and KV cache
// (docs.sglang.io/advanced_features/hyperparameter_tuning.html).
func staticShare(p *steptime.MemoryPlan) string {
	return share((p.Usable - p.Activations - p.Context) / (p.Total - p.Context))
}

// freeShare returns what TensorRT-LLM calls free_gpu_memory_fraction: the share for the KV cache of
// the memory that the largest step leaves (tensorrt_llm/_torch/pyexecutor/_util.py,
// _cal_max_memory).
func freeShare(p *steptime.MemoryPlan) string {
	taken := p.Weights + p.Draft + p.Activations + p.Context
	return share((p.Usable - taken) / (p.Total - taken))
}

// share writes a share with four digits, which is a few megabytes of an accelerator.
func share(x float64) string {
	return strconv.FormatFloat(x, 'g', 4, 64)
}
