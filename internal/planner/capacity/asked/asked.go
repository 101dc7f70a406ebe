package asked

import (
	"errors"
	"slices"
	"strings"

	"github.com/llmsim/llmsim/scenarios"
	"github.com/llmsim/llmsim/scenarios/strict"
)

// Asked turns problems of the scenarios that are made from a plan into problems of the plan, at its
// keys and lines, since nobody wrote these scenarios.
func (f *File) Asked(err error) error {
	var list strict.Problems
	if f.doc == nil || !scenarios.IsInputError(err) || !errors.As(err, &list) {
		return err
	}
	var own strict.Problems
	for _, p := range list {
		key := p.Path
		if !strings.HasPrefix(key, "engine.") || !f.doc.Has(key) {
			key = keyOfPlan(key)
		}
		if len(f.Plan.Menu.Disaggregated) > 0 && strings.HasPrefix(key, "menu.") {
			key = "menu" // what the parts of a group have may be wrong
		}
		own = append(own, f.doc.Problem(key, "%s", p.Message))
	}
	return scenarios.BadInput(own)
}

// Concerns reports whether all that is wrong with a scenario is at a key or within it.
func Concerns(err error, key string) bool {
	var list strict.Problems
	return errors.As(err, &list) && !slices.ContainsFunc(list, func(p strict.Problem) bool {
		return p.Path != key && !strings.HasPrefix(p.Path, key+".")
	})
}

// keyOfPlan returns the key of a plan from which a key of a scenario comes.
func keyOfPlan(key string) string {
	for _, k := range [][2]string{
		{"hardware.accelerator", "menu.hardware"}, {"hardware", "menu.hardware"},
		{"parallelism", "menu"}, {"engine.preset", "menu.engines"},
		{"engine.max-model-len", "max-model-len"}, {"engine", "menu"},
		{"batching", "menu.batching"}, {"memory", "menu.memory"}, {"routing", "menu.routing"},
		{"speculation", "menu.speculation"}, {"fleet.pools", "menu.disaggregated"},
	} {
		if rest, found := strings.CutPrefix(key, k[0]); found &&
			(rest == "" || rest[0] == '.') {
			return k[1] + rest
		}
	}
	return key
}
