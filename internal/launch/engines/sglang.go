package engines

import (
	"strconv"
	"strings"

	"github.com/llmsim/llmsim/internal/launch/options"
	registry "github.com/llmsim/llmsim/models/engines"
)

// sglang describes SGLang: https://docs.sglang.io/advanced_features/server_arguments.html.
// Dynamo's worker takes its options (examples/backends/sglang/deploy/disagg-multinode.yaml at
// 0044eb90).
func sglang() *Engine {
	return &Engine{
		Name: "sglang", Port: 30000, preset: "sglang", Waiting: "sglang:num_queue_reqs",
		Running: "sglang:num_running_reqs",
		start:   []string{"python3", "-m", "sglang.launch_server"},
		express: expressSGLang, interpret: interpretSGLang,
		Dynamo: Dynamo{Module: "dynamo.sglang", Image: "sglang-runtime", Version: "0.5.10.post1"},
		programs: []string{"python -m sglang.launch_server", "python -m dynamo.sglang",
			"python -m sglang_router.launch_server", // of routers, too, with its own
			"sglang serve"},
	}
}

func expressSGLang(d *Replica) options.Terms {
	t := d.common()
	d.ofAllRanks(t)
	if d.Parallelism.Data > 1 {
		t["attention"] = "data"
	}
	t.Set("parallelism.overlap", d.Parallelism.Overlap)
	t["memory.static-share"] = staticShare(&d.Server.Plan)
	t.Set("memory.tokens", strconv.Itoa(d.tokens()*d.Ranks()))
	_, tokens := d.Batching.Limits()
	t.Set("batching.chunk", strconv.Itoa(tokens))
	if size := d.Memory.Params["block-size"]; size != "1" {
		t.Set("memory.block-size", size)
	}
	if !caches(d.Memory.Policy) {
		t["memory.policy"] = "paged"
	}
	if d.Role != "decode" && d.setHostMemory(t, d.Accelerators()) {
		t["hicache"], t["memory.write"] = "true", d.Memory.Params["write"]
	}
	t.Set("engine.weights", d.asksWeights())
	if d.Scaling.Policy != "" {
		t["metrics"] = "true" // which the autoscaler reads
	}
	if d.Role != "mixed" {
		t["transfer"] = "nixl"
	}
	key := registry.Exchange.Key()
	if name, mode, _ := strings.Cut(t[key], "-"); name == "deepep" {
		t[key] = name
		t.Set("deepep-mode", mode)
	}
	t["host"] = "0.0.0.0"
	d.expressDrafter("sglang", t)
	return t
}

// interpretSGLang turns what SGLang's flags mean together into keys.
func interpretSGLang(r *Reading) {
	r.interpretDrafter("sglang")
	r.Set("engine.preset", "sglang")
	r.Set("batching.policy", "sglang")
	_, attention := r.Take("attention")
	key := registry.Exchange.Key()
	exchange := r.Terms[key] != "" && r.Terms[key] != "none"
	if mode, _ := r.Take("deepep-mode"); mode != "" && r.Terms[key] == "deepep" {
		r.Set(key, "deepep-"+mode)
	}
	tensor, data := r.Number("parallelism.tensor", 1), r.Number("parallelism.data", 1)
	if _, whole := r.Take("hybrid-manager"); whole {
		r.keepsWhole("radix", "--disable-hybrid-swa-memory")
	}
	split := tensor
	if attention {
		split = max(1, tensor/data)
	}
	if dense := r.Number("dense", split); dense != split {
		r.Refuse("%s %d: dense layers are simulated over %d accelerators, as attention is",
			r.Flags["dense"], dense, split)
	}
	r.Take("dense")
	ratio, scaled := r.Take("hicache-ratio")
	if _, sized := r.Terms["memory.cpu"]; scaled && !sized && r.Terms["hicache"] != "" {
		r.Asks = append(r.Asks, options.Ask{Keys: []string{"memory.cpu"},
			Words: "--hicache-ratio " + ratio + ": set memory.cpu to as many times the " +
				"KV cache of all accelerators"})
	}
	if _, tiered := r.Take("hicache"); tiered {
		r.Set("memory.policy", "hicache")
		if r.Terms["memory.cpu"] == "" && !scaled {
			r.Note("--enable-hierarchical-cache is read with the default of memory.cpu; set it " +
				"to twice the KV cache of all accelerators")
		}
		r.offloads("hicache", tensor*r.Number("parallelism.pipeline", 1))
	} else {
		r.Take("memory.cpu")
		r.Take("memory.write")
	}
	if exchange && data == 1 && r.Terms["parallelism.expert"] == "" && tensor > 1 {
		// sglang/srt/server_args.py sets ep_size to tp_size.
		r.Set("parallelism.expert", strconv.Itoa(tensor))
	}
	switch {
	case data == 1:
	case attention && tensor%data == 0:
		spread := exchange || r.Number("parallelism.expert", 1) > 1
		r.Set("parallelism.tensor", strconv.Itoa(tensor/data))
		r.OfAllRanks(data)
		r.Take("parallelism.expert")
		if !spread { // each accelerator has a slice of all experts
			r.Set("parallelism.expert", "1")
		}
	case attention:
		r.Refuse("--dp-size %d does not divide --tp-size %d, which --enable-dp-attention needs",
			data, tensor)
	default:
		r.Take("parallelism.data")
		r.Set("replicas", strconv.Itoa(data))
		r.Note("--dp-size without --enable-dp-attention is read as %d replicas", data)
	}
}
