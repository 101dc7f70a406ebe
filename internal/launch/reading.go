package launch

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/llmsim/llmsim/internal/launch/commands"
	"github.com/llmsim/llmsim/internal/launch/engines"
	"github.com/llmsim/llmsim/internal/launch/manifests"
	"github.com/llmsim/llmsim/internal/launch/options"
)

// Reading is a command as a scenario.
type Reading struct {
	// Engine is the engine that the command starts.
	Engine string
	// Settings are overrides of a scenario, "key=value", in the order of the keys.
	Settings []string
	// Flags are the flags of the command by the keys that they set; nil where pools have several
	// commands.
	Flags map[string]string
	// Notes say which flags were left out, and why, and Ignored names these.
	Notes   []string
	Ignored []string

	// asks are what the command leaves open, though it decides sizes or bytes.
	asks []options.Ask
}

// known returns an error for what overrides have to say and do not: without it, the answer would be
// about another server.
func (r *Reading) known(overrides []string) error {
	for _, ask := range r.asks {
		if !slices.ContainsFunc(overrides, func(set string) bool {
			return slices.ContainsFunc(ask.Keys, func(key string) bool {
				return strings.HasPrefix(set, key)
			})
		}) {
			return errors.New(ask.Words)
		}
	}
	return nil
}

// questions returns what a command leaves open, whose drafter is a section of a scenario.
func (m *member) questions(drafter string) []options.Ask {
	asks := m.Asks
	if m.Unknown != "" {
		asks = append(asks, options.Ask{Keys: []string{"engine.weights=", "engine=", "model="},
			Words: m.Unknown + ": the number format of the weights is in the checkpoint alone: " +
				"set engine.weights, such as --set engine.weights=int4"})
	}
	if len(m.Drafters) > 0 {
		asks = append(asks, options.Ask{Keys: []string{drafter + ".acceptance", drafter + "="},
			Words: fmt.Sprintf("%s: how many drafts are accepted is a property of your texts: "+
				"set %[2]s.acceptance, such as --set %[2]s.acceptance=0.7, or leave the "+
				"drafter out", strings.Join(m.Drafters, ", "), drafter)})
	}
	return asks
}

// asStarted sets what an engine does by itself where neither the command nor overrides say it: it
// runs on one accelerator, however large the model is.
func (r *Reading) asStarted(overrides []string) {
	says := func(list []string) bool {
		return slices.ContainsFunc(list, func(set string) bool {
			return strings.HasPrefix(set, "parallelism") || strings.HasPrefix(set, "fleet.pools=")
		})
	}
	if !says(r.Settings) && !says(overrides) {
		r.Settings = append(r.Settings, "parallelism.tensor=1")
	}
}

// reading is the keys of a command while they become a fleet's.
type reading = engines.Reading

// files returns the text of a file that a command names, and whether it is at hand.
type files func(name string) (string, bool)

// or returns what also looks for files elsewhere, and there in the last list first.
func (f files) or(elsewhere ...map[string]string) files {
	return func(name string) (string, bool) {
		for _, list := range slices.Backward(elsewhere) {
			if text, found := list[name]; found {
				return text, true
			}
		}
		if f == nil {
			return "", false
		}
		return f(name)
	}
}

// addNote adds a note on something that the reading leaves out.
func (r *Reading) addNote(format string, args ...any) {
	r.Notes = append(r.Notes, fmt.Sprintf(format, args...))
}

// setRouting sets the routing policy, but for the one that is the default.
func (r *Reading) setRouting(policy string) {
	if policy != "round-robin" {
		r.Settings = append(r.Settings, "routing="+policy)
		slices.SortFunc(r.Settings, func(a, b string) int {
			x, _, _ := strings.Cut(a, "=")
			y, _, _ := strings.Cut(b, "=")
			return strings.Compare(x, y)
		})
	}
}

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
