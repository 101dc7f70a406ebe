package manifests

import (
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
