package compare

import (
	"path/filepath"
	"strings"

	"github.com/llmsim/llmsim/internal/planner"
	"github.com/llmsim/llmsim/scenarios"
)

// Variant is one of the scenarios to compare.
type Variant struct {
	// Label names it in tables, Name is the file or the shipped scenario that it is made from.
	Label, Name string
	// Load reads it anew: a scenarios.File is built once only.
	Load func() (*scenarios.File, error)
}

// Files returns a variant for each scenario file or shipped scenario, with overrides that apply to
// all. Files that have the same name are distinguished by their folders.
func Files(names []string, overrides []string) []Variant {
	seen := map[string]int{}
	for _, name := range names {
		seen[filepath.Base(name)]++
	}
	list := make([]Variant, len(names))
	for i, name := range names {
		label := filepath.Base(name)
		if seen[label] > 1 {
			label = filepath.ToSlash(name)
		}
		list[i] = Variant{
			Label: strings.TrimSuffix(label, ".yaml"), Name: name,
			Load: func() (*scenarios.File, error) { return scenarios.Load(name, overrides...) },
		}
	}
	return list
}

// Points returns a variant of one scenario for each point of a grid.
func Points(name string, overrides []string, points []planner.Point) []Variant {
	list := make([]Variant, len(points))
	for i, p := range points {
		settings := append(overrides[:len(overrides):len(overrides)], p.Overrides()...)
		list[i] = Variant{
			Label: p.String(), Name: name,
			Load: func() (*scenarios.File, error) { return scenarios.Load(name, settings...) },
		}
	}
	return list
}
