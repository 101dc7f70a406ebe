package launch

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// llm-d 0.4 puts an endpoint picker in front of vLLM's pods, which the Gateway API Inference
// Extension asks where each request goes, and a proxy into the pods that decode, which has the
// prompt computed elsewhere first (https://llm-d.ai/docs/architecture).
const (
	pickerImage  = "ghcr.io/llm-d/llm-d-inference-scheduler:v0.4.0"
	sidecarImage = "ghcr.io/llm-d/llm-d-routing-sidecar:v0.4.0"
	// vllmBehindSidecar is the port of vLLM in a pod where the proxy has vLLM's own.
	vllmBehindSidecar = 8200
)

// scorer is a plugin of the endpoint picker that rates pods.
type scorer struct {
	Name   string
	Weight int
}

// scorersOf returns the plugins that come nearest to a routing policy. A policy without such
// plugins gets the default plugins of the Inference Extension's chart
// (config/charts/inferencepool, v1.2.0).
func scorersOf(routing string) []scorer {
	unfinished := scorer{"active-request-scorer", 1}
	switch routing {
	case "least-requests", "least-tokens", "choices", "slo-aware":
		return []scorer{unfinished}
	case "kv-aware":
		return []scorer{{"kv-cache-utilization-scorer", 1}}
	case "prefix-aware":
		return []scorer{{"prefix-cache-scorer", 3}, unfinished}
	case "session-affinity":
		return []scorer{{"session-affinity-scorer", 3}, unfinished}
	}
	return []scorer{{"queue-scorer", 2}, {"kv-cache-utilization-scorer", 2},
		{"prefix-cache-scorer", 3}}
}

// pickers returns the names of the scorers of the endpoint pickers whose configuration is in the
// ConfigMaps of a manifest.
func pickers(documents []map[string]any) (scorers []string) {
	for _, document := range documents {
		if document["kind"] != "ConfigMap" {
			continue
		}
		files := texts(document["data"])
		for _, name := range slices.Sorted(maps.Keys(files)) {
			inner, err := decode(files[name])
			if err != nil || len(inner) != 1 || inner[0]["kind"] != "EndpointPickerConfig" {
				continue
			}
			plugins, _ := inner[0]["plugins"].([]any)
			for _, plugin := range plugins {
				if kind, _ := at(plugin, "type").(string); strings.HasSuffix(kind, "-scorer") {
					scorers = append(scorers, kind)
				}
			}
		}
	}
	return scorers
}

// pick takes over what llm-d's endpoint picker says of routing: the policy whose scorers it has.
func (r *Reading) pick(scorers []string) {
	if len(scorers) == 0 {
		return
	}
	slices.Sort(scorers)
	for _, policy := range []string{"least-requests", "kv-aware", "prefix-aware",
		"session-affinity"} {
		var own []string
		for _, s := range scorersOf(policy) {
			own = append(own, s.Name)
		}
		if slices.Sort(own); slices.Equal(own, scorers) {
			r.setRouting(policy)
			return
		}
	}
	r.Notes = append(r.Notes, fmt.Sprintf("the endpoint picker's %s together are no routing policy",
		strings.Join(scorers, ", ")))
}

// LLMDRole is the label by which llm-d's endpoint picker tells pods apart.
func (s *Server) LLMDRole() string {
	if s.Role == "mixed" {
		return "both"
	}
	return s.Role
}

// LLMD returns the manifests that put llm-d in front of those of Manifests; empty for an engine
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
		Scorers             []scorer
		// Profiles are the stages for which a pod is picked, each from those of its role.
		Profiles      []string
		Disaggregated bool
	}{b, b.Name + "-picker", pickerImage, scorersOf(b.routing), []string{"decode"},
		b.disaggregated()}
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
