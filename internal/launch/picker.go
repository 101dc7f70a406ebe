package launch

import (
	"maps"
	"slices"
	"strings"

	"github.com/llmsim/llmsim/internal/launch/commands"
	"github.com/llmsim/llmsim/internal/launch/manifests"
)

// pickers returns the names of the scorers of the endpoint pickers whose configuration is in the
// ConfigMaps of a manifest.
func pickers(documents []map[string]any) (scorers []string) {
	for _, document := range documents {
		if document["kind"] != "ConfigMap" {
			continue
		}
		files := commands.Texts(document["data"])
		for _, name := range slices.Sorted(maps.Keys(files)) {
			inner, err := commands.Decode(files[name])
			if err != nil || len(inner) != 1 || inner[0]["kind"] != "EndpointPickerConfig" {
				continue
			}
			plugins, _ := inner[0]["plugins"].([]any)
			for _, plugin := range plugins {
				kind, _ := commands.At(plugin, "type").(string)
				if strings.HasSuffix(kind, "-scorer") {
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
	if slices.Equal(scorers, []string{"kv-cache-utilization-scorer", "precise-prefix-cache-scorer",
		"queue-scorer"}) {
		r.setRouting("llm-d")
		return
	}
	for _, policy := range []string{"least-requests", "kv-aware", "prefix-aware",
		"session-affinity"} {
		var own []string
		for _, s := range manifests.ScorersOf(policy) {
			own = append(own, s.Name)
		}
		if slices.Sort(own); slices.Equal(own, scorers) {
			r.setRouting(policy)
			return
		}
	}
	r.addNote("the endpoint picker's %s together are no routing policy",
		strings.Join(scorers, ", "))
}
