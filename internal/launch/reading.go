package launch

import (
	"fmt"
	"slices"
	"strings"

	"github.com/llmsim/llmsim/internal/launch/engines"
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

	// drafts are overrides for the drafter that the command starts, and drafters the flags that
	// ask for it.
	drafts, drafters []string
	// unknown are options by which weights have a number format that only the checkpoint knows.
	unknown []string
}

// known returns an error for weights whose number format neither the command nor overrides say:
// with those as published, the answer would be about another server.
func (r *Reading) known(overrides []string) error {
	if len(r.unknown) == 0 || slices.ContainsFunc(overrides, func(set string) bool {
		return strings.HasPrefix(set, "engine.weights=") || strings.HasPrefix(set, "engine=") ||
			strings.HasPrefix(set, "model=")
	}) {
		return nil
	}
	return fmt.Errorf("%s: the number format of the weights is in the checkpoint alone: set "+
		"engine.weights, such as --set engine.weights=int4", r.unknown[0])
}

// with returns the reading for a scenario with further overrides: with the drafter, if they give
// the acceptance of its drafts, which no command says, and else without one.
func (r *Reading) with(overrides []string) *Reading {
	if slices.ContainsFunc(overrides, func(set string) bool {
		return strings.HasPrefix(set, "speculation.acceptance") ||
			strings.HasPrefix(set, "speculation=")
	}) {
		r.Settings = append(r.Settings, r.drafts...)
	} else if len(r.drafters) > 0 {
		r.Ignored = append(r.Ignored, r.drafters...)
		r.addNote("%s: speculative decoding needs an acceptance rate, which is a property of your "+
			"texts: set speculation.acceptance, such as speculation.acceptance=0.7",
			strings.Join(r.drafters, ", "))
	}
	return r
}

// asStarted sets what an engine does by itself where neither the command nor overrides say it: it
// runs on one accelerator, however large the model is.
func (r *Reading) asStarted(overrides []string) {
	says := func(list []string) bool {
		return slices.ContainsFunc(list, func(set string) bool {
			return strings.HasPrefix(set, "parallelism") || strings.HasPrefix(set, "fleet.pools")
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
