package scenarios

import (
	"slices"

	"github.com/llmsim/llmsim/scenarios/strict"
)

// notes collects the errors of a scenario, and warnings for a reader of its result.
type notes struct {
	file     *File
	problems strict.Problems
	warnings []string
}

// problem notes what is wrong with a field.
func (n *notes) problem(field, format string, args ...any) {
	n.problems = append(n.problems, n.file.doc.Problem(field, format, args...))
}

// err returns the problems so far as an error.
func (n *notes) err() error {
	if len(n.problems) == 0 {
		return nil
	}
	return InputError{n.problems}
}

// addWarnings adds the warnings that are new.
func (n *notes) addWarnings(warnings []string) {
	for _, warning := range warnings {
		if !slices.Contains(n.warnings, warning) {
			n.warnings = append(n.warnings, warning)
		}
	}
}
