package launch

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"
)

// dynamoVersion is that of NVIDIA Dynamo whose manifests are written: github.com/ai-dynamo/dynamo,
// docs/reference/release-artifacts.md at 00552b23.
const dynamoVersion = "1.1.1"

// dynamoWorker is how Dynamo starts an engine.
type dynamoWorker struct {
	module  string // of Python
	image   string
	version string // of the engine in the image, by docs/reference/support-matrix.md at 00552b23
	// write returns the arguments of a replica, and its configuration file, if it needs one. Those
	// of the engine itself are given. With events, the router learns which prompts are cached.
	write func(d *deployed, engine []string, events bool) (args []string, config string)
}

// dynamoVLLM is Dynamo's worker for vLLM, whose own options it takes without a server's
// (components/src/dynamo/vllm/args.py at 000a36a7, backend_args.py).
func dynamoVLLM() dynamoWorker {
	return dynamoWorker{module: "dynamo.vllm", image: "vllm-runtime", version: "0.19.0",
		write: func(d *deployed, engine []string, events bool) ([]string, string) {
			args := append([]string{"--model", d.model}, without(engine[3:], "--port")...)
			if d.role != "mixed" {
				args = append(args, "--disaggregation-mode", d.role)
			}
			if events && d.role != "decode" { // docs/components/router/README.md at 02a5f28f
				args = append(args, "--kv-events-config", `{"publisher":"zmq","topic":"kv-events",`+
					`"endpoint":"tcp://*:20080","enable_kv_cache_events":true}`)
			}
			return args, ""
		}}
}

// dynamoSGLang is Dynamo's worker for SGLang, whose options it takes
// (examples/backends/sglang/deploy/disagg-multinode.yaml at 0044eb90).
func dynamoSGLang() dynamoWorker {
	return dynamoWorker{module: "dynamo.sglang", image: "sglang-runtime", version: "0.5.10.post1",
		write: func(d *deployed, engine []string, events bool) ([]string, string) {
			args := slices.Clone(engine[3:])
			if d.role != "mixed" {
				args = append(args, "--disaggregation-transfer-backend", "nixl")
			}
			if events { // docs/components/router/README.md at 02a5f28f
				args = append(args, "--kv-events-config",
					`{"publisher":"zmq","topic":"kv-events","endpoint":"tcp://*:5557"}`)
			}
			return args, ""
		}}
}

// dynamoTRTLLM is Dynamo's worker for TensorRT-LLM, which has options of its own
// (components/src/dynamo/trtllm/backend_args.py at 0a6a115c).
func dynamoTRTLLM() dynamoWorker {
	return dynamoWorker{module: "dynamo.trtllm", image: "tensorrtllm-runtime",
		version: "1.3.0rc11",
		write: func(d *deployed, _ []string, events bool) ([]string, string) {
			p := d.parallelism
			f := flags{"--model-path", d.model}
			f.add("--tensor-parallel-size", max(1, p.Tensor)*max(1, p.Data))
			f.degree("--pipeline-parallel-size", p.Pipeline)
			f.degree("--expert-parallel-size", p.Expert)
			f.param("--max-batch-size", d.perRank("max-sequences"))
			f.param("--max-num-tokens", d.perRank("token-budget"))
			f.add("--max-seq-len", d.engine.MaxModelLen)
			f.add("--extra-engine-args", "/config/"+d.configFile())
			if d.role != "mixed" {
				f.add("--disaggregation-mode", d.role)
			}
			if events {
				f = append(f, "--publish-events-and-metrics")
			}
			// The file stands in for the option of the share, as for all of kv_cache_config.
			config := trtllmConfigOf(d)
			config.Cache.FreeShare, _ = strconv.ParseFloat(freeShare(&d.server.Plan), 64)
			text, err := yaml.Marshal(config)
			if err != nil {
				panic(err) // a struct of numbers and words
			}
			return f, string(text)
		}}
}

// without returns words without an option and its value.
func without(words []string, option string) []string {
	i := slices.Index(words, option)
	if i < 0 {
		return words
	}
	return slices.Delete(slices.Clone(words), i, min(i+2, len(words)))
}

// routerMode returns the --router-mode of Dynamo's frontend that comes nearest to a routing policy,
// and whether it is the same: kv weighs the cached part of a prompt and the load of each worker
// (components/src/dynamo/common/configuration/groups/router_args.py at 028cab44).
func routerMode(routing string) (mode string, same bool) {
	switch routing {
	case "", "round-robin":
		return "round-robin", true
	case "random":
		return "random", true
	case "prefix-aware":
		return "kv", true
	case "kv-aware", "session-affinity":
		return "kv", false
	}
	return "round-robin", false
}

// routingOf returns the routing policy that a --router-mode stands for; empty for one that has no
// such policy.
func routingOf(mode string) string {
	return map[string]string{"round-robin": "round-robin", "random": "random",
		"kv": "prefix-aware", "power-of-two": "choices", "least-loaded": "least-requests"}[mode]
}

// Dynamo returns the manifest that starts the fleet under NVIDIA Dynamo, in place of Manifests; or
// nothing, and why there is none.
func (b *Bundle) Dynamo() (text, why string, err error) {
	if why := b.beyondDynamo(); why != "" {
		return "", why, nil
	}
	all, err := parsed()
	if err != nil {
		return "", "", err
	}
	mode, _ := routerMode(b.routing)
	view := struct {
		*Bundle
		Short, Version, Image, Module, Mode string
	}{b, dynamoName(b.Name), dynamoVersion, b.worker.imageName(), b.worker.module, mode}
	var out strings.Builder
	err = all.ExecuteTemplate(&out, "dynamo.yaml", view)
	return out.String(), "", err
}

// imageName returns the name of the worker's image.
func (w *dynamoWorker) imageName() string {
	return "nvcr.io/nvidia/ai-dynamo/" + w.image + ":" + dynamoVersion
}

// dynamoName returns the beginning of a name that leaves room for what Dynamo's scheduler appends:
// with those of a component over several nodes and of its pods it has 45 characters at most
// (deploy/operator, validation of DynamoGraphDeployments).
func dynamoName(name string) string {
	const longest = 45 - len("prefill-00") - len("prefill-00-ldr")
	return strings.Trim(name[:min(len(name), longest)], "-")
}

// beyondDynamo returns why a fleet has no manifest for Dynamo; empty where it has one.
func (b *Bundle) beyondDynamo() string {
	roles := map[string]int{}
	for i := range b.Servers {
		s := &b.Servers[i]
		if s.Resource != "nvidia.com/gpu" {
			return "Dynamo runs on accelerators of NVIDIA"
		}
		roles[s.Role]++
	}
	together := len(b.Servers) == 1 && roles["mixed"] == 1
	apart := len(b.Servers) == 2 && roles["prefill"] == 1 && roles["decode"] == 1
	if !together && !apart {
		return fmt.Sprintf("it has one pool, or one for prefill and one for decode, and here "+
			"are %d", len(b.Servers))
	}
	return ""
}

// notesOnDynamo says what of the scenario the manifest for Dynamo does not express, beside what no
// flag of the engine does.
func (b *Bundle) notesOnDynamo() []string {
	list := []string{fmt.Sprintf("Dynamo %s has %s %s in its image; the flags are those of %s",
		dynamoVersion, b.Engine, b.worker.version, b.Version)}
	if mode, same := routerMode(b.routing); !same {
		list = append(list, fmt.Sprintf("routing %s: --router-mode %s comes nearest", b.routing,
			mode))
	}
	for i := range b.Servers {
		if s := &b.Servers[i]; s.Autoscaler != nil {
			list = append(list, fmt.Sprintf("%s: all %d replicas run always; Dynamo scales by "+
				"its planner", s.Name, s.Replicas))
		}
	}
	return list
}
