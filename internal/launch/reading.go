package launch

import (
	"fmt"
	"strconv"

	"github.com/llmsim/llmsim/hardware"
	"github.com/llmsim/llmsim/models"
)

// Reading is a command as a scenario.
type Reading struct {
	// Engine is the engine that the command starts.
	Engine string
	// Settings are overrides of a scenario, "key=value", in the order of the keys.
	Settings []string
	// Notes say which flags were left out, and why.
	Notes []string
}

// reading is a Reading while it is being made.
type reading struct {
	values map[string]string
	notes  []string
	file   files
	model  *models.Architecture // nil where it is not in the catalogue
}

// experts reports whether the model is known to be a mixture of experts.
func (r *reading) experts() bool { return r.model != nil && r.model.Experts() != nil }

// files returns the text of a file that a command names, and whether it is at hand.
type files func(name string) (string, bool)

// keepsParts reports whether the model is known to have layers with windows or states of fixed
// size.
func (r *reading) keepsParts() bool {
	if r.model == nil {
		return false
	}
	kept := r.model.Kept(1, hardware.BF16)
	return kept.Windowed+kept.Fixed > 0
}

// or returns what also looks for files elsewhere.
func (f files) or(elsewhere map[string]string) files {
	return func(name string) (string, bool) {
		if text, found := elsewhere[name]; found || f == nil {
			return text, found
		}
		return f(name)
	}
}

func (r *reading) set(key, value string) { r.values[key] = value }

func (r *reading) note(format string, args ...any) {
	r.notes = append(r.notes, fmt.Sprintf(format, args...))
}

// number returns a value that was read as a count.
func (r *reading) number(key string, otherwise int) int {
	if n, err := strconv.Atoi(r.values[key]); err == nil {
		return n
	}
	return otherwise
}

// ofAllRanks multiplies counts of one data-parallel rank.
func (r *reading) ofAllRanks(ranks int, keys ...string) {
	for _, key := range keys {
		if n := r.number(key, 0); n > 0 {
			r.set(key, strconv.Itoa(n*ranks))
		}
	}
}
