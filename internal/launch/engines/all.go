package engines

import (
	"errors"
	"slices"
	"sync"

	"github.com/llmsim/llmsim/internal/launch/options"
	"github.com/llmsim/llmsim/internal/nearest"
)

// All returns the engines whose commands are written and read; the first is the default.
func All() []*Engine { return known()[:written] }

// Readable returns the engines whose commands are read.
func Readable() []*Engine { return known() }

// written is how many engines have commands that are written.
const written = 3

// known makes the engines once: they never change.
var known = sync.OnceValue(func() []*Engine {
	list := []*Engine{vllm(), sglang(), trtllm(), lmdeploy(), llamaCPP(), llamaCPPPython(), tgi(),
		nim()}
	for _, e := range list {
		e.Table = options.Load(e.Name)
	}
	return list
})

// Names returns the names of the engines.
func Names() []string {
	var names []string
	for _, e := range All() {
		names = append(names, e.Name)
	}
	return names
}

// Find returns the engine of that name.
func Find(name string) (*Engine, error) {
	all := All()
	i := slices.IndexFunc(all, func(e *Engine) bool { return e.Name == name })
	if i < 0 {
		return nil, errors.New(nearest.Unknown("engine", name, Names()))
	}
	return all[i], nil
}

// Of returns the engine that a preset describes; nil where it describes no engine that can be
// started.
func Of(preset string) *Engine {
	for _, e := range All() {
		if e.describes(preset) {
			return e
		}
	}
	return nil
}
