package manifests

import (
	"fmt"
	"slices"
	"strings"
)

// llm-d 0.4 puts an endpoint picker in front of vLLM's pods, which the Gateway API Inference
// Extension asks where each request goes, and a proxy into the pods that decode, which has the
// prompt computed elsewhere first (https://llm-d.ai/docs/architecture).
const (
	pickerImage  = "ghcr.io/llm-d/llm-d-inference-scheduler:v0.4.0"
	sidecarImage = "ghcr.io/llm-d/llm-d-routing-sidecar:v0.4.0"
)

// Scorer is a plugin of the endpoint picker that rates pods, with its weight and its parameters,
// which are empty where it needs no parameters.
type Scorer struct{ Name, Weight, Parameters string }

// ScorersOf returns the plugins that come nearest to a routing policy. A policy without such
// plugins gets the default plugins of the Inference Extension's chart
// (config/charts/inferencepool, v1.2.0).
func ScorersOf(routing string) []Scorer {
	unfinished := Scorer{"active-request-scorer", "1", ""}
	switch routing {
	case "least-requests", "least-tokens", "choices", "slo-aware":
		return []Scorer{unfinished}
	case "kv-aware":
		return []Scorer{{"kv-cache-utilization-scorer", "1", ""}}
	case "prefix-aware":
		return []Scorer{{"prefix-cache-scorer", "3", ""}, unfinished}
	case "session-affinity":
		return []Scorer{{"session-affinity-scorer", "3", ""}, unfinished}
	}
	return []Scorer{{"queue-scorer", "2", ""}, {"kv-cache-utilization-scorer", "2", ""},
		{"prefix-cache-scorer", "3", ""}}
}

// LLMDRole is the label by which llm-d's endpoint picker tells pods apart.
func (s *Server) LLMDRole() string {
	if s.Role == "mixed" {
		return "both"
	}
	return s.Role
}

// LLMD returns the manifests that put llm-d in front of what Manifests returns; empty for an engine
// other than vLLM.
func (b *Bundle) LLMD() (string, error) {
	if b.Engine != "vllm" {
		return "", nil
	}
	all, err := parsed()
	if err != nil {
		return "", err
	}
	view := struct {
		*Bundle
		Picker, PickerImage string
		Scorers             []Scorer
		// Profiles are the stages for which a pod is picked, each from the pods of its role.
		Profiles      []string
		Disaggregated bool
	}{b, b.picker(), pickerImage, ScorersOf(b.Routing), []string{"decode"}, b.disaggregated()}
	if b.Exact != nil {
		view.Scorers = b.Exact.scorers()
	}
	if view.Disaggregated {
		view.Profiles = append(view.Profiles, "prefill")
	}
	var out strings.Builder
	err = all.ExecuteTemplate(&out, "llm-d.yaml", view)
	return out.String(), err
}

// disaggregated reports whether some servers only compute prompts.
func (b *Bundle) disaggregated() bool {
	for i := range b.Servers {
		if b.Servers[i].Role == "prefill" {
			return true
		}
	}
	return false
}

// Exact is how llm-d's endpoint picker learns what each pod keeps: vLLM sends it an event for each
// block. The picker computes the names of blocks as vLLM does, so both have the same block size,
// seed and algorithm (llm-d 0.4, guides/precise-prefix-cache-aware).
type Exact struct {
	// BlockSize is vLLM's, in tokens.
	BlockSize string
	// Prefix, Usage and Queue are the weights of what is cached, of free memory, and of a short
	// queue.
	Prefix, Usage, Queue string
}

// eventsPort is where the picker takes events, and hashSeed what Python and the picker hash with.
const (
	eventsPort = 5557
	hashSeed   = "42"
)

// Port is where the picker takes events.
func (*Exact) Port() int { return eventsPort }

// Seed is what Python and the picker hash with.
func (*Exact) Seed() string { return hashSeed }

// scorers returns the plugins, with what they need to know.
func (x *Exact) scorers() []Scorer {
	return []Scorer{{"queue-scorer", x.Queue, ""}, {"kv-cache-utilization-scorer", x.Usage, ""},
		{"precise-prefix-cache-scorer", x.Prefix, fmt.Sprintf("{indexerConfig: "+
			"{tokenProcessorConfig: {blockSize: %s, hashSeed: %q}, "+
			"tokenizersPoolConfig: {hf: {tokenizersCacheDir: /tmp/tokenizers}}}}", x.BlockSize,
			hashSeed)}}
}

// reporting returns the command of a pod that sends events to the picker.
func (b *Bundle) reporting(s *Server, command []string) []string {
	return append(slices.Clip(command), "--prefix-caching-hash-algo", "sha256_cbor",
		"--kv-events-config", fmt.Sprintf(`{"enable_kv_cache_events":true,"publisher":"zmq",`+
			`"endpoint":"tcp://%s:%d","topic":"kv@$(POD_IP)@%s"}`, b.picker(), eventsPort, s.Model))
}

// picker is the name of the endpoint picker's objects.
func (b *Bundle) picker() string { return b.Name + "-picker" }
