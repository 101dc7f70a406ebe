// Package policies lists the policies that a scenario can name: who runs next (batching), where the
// KV cache goes (memory), which replica serves a request (routing), who is let in (admission), how
// many replicas run (scaling), how many tokens are drafted (speculation). Each family has a folder;
// the list itself is an explicit value, to which programs add policies of their own.
package policies

import (
	"fmt"
	"maps"
	"slices"

	"github.com/llmsim/llmsim/internal/nearest"
	"github.com/llmsim/llmsim/policies/memory"
	"github.com/llmsim/llmsim/policies/speculation"
	"github.com/llmsim/llmsim/sim"
)

// Registry finds policies by name.
type Registry struct {
	Batching Family[sim.Scheduler]
	Memory   Family[sim.Memory]
	Routing  Family[sim.Router]
	// Admission turns requests away, Scaling starts and stops replicas.
	Admission Family[sim.Admission]
	Scaling   Family[sim.Scaler]
	// Drafting says how many tokens are drafted in speculative decoding.
	Drafting Family[speculation.Lengths]
}

// Family is the policies of one kind, the default one first.
type Family[T any] struct {
	// Kind names the family in messages, such as "batching policy".
	Kind     string
	Policies []Policy[T]
}

// Policy is a way to make a T, with its parameters.
type Policy[T any] struct {
	// Name is what scenarios call it, Doc what it does in a line, Source where it is from.
	Name, Doc, Source string
	Params            []Param
	// Refuses says of parameters that other policies have why this one does not, and what would
	// work.
	Refuses map[string]string
	// Advice says what somebody should know who uses it with the memory policy of that name; nil or
	// "" where there is nothing.
	Advice func(memory string) string
	// New makes one for a replica (or, for routing, for the fleet). Every parameter has its value
	// or its default.
	New func(d Deployment, v Values) (T, error)
}

// Deployment is what a policy may have to know of the place where it works.
type Deployment struct {
	// Seed determines the random choices of the policy.
	Seed uint64
	// KVTokens is the KV memory of the replica, in tokens of context.
	KVTokens int64
	// HostTokens is the room for KV caches in host memory, in tokens of context; 0 means that
	// nothing can be swapped out.
	HostTokens int64
	// MaxContext is the longest prompt and answer together that is served, in tokens.
	MaxContext int
	// TokenBytes is what the KV of a token takes on all accelerators of the replica together,
	// SequenceBytes what state of fixed size takes for a sequence; HostRate is the rate in B/s of
	// their links to host memory, each in one direction, 0 without one.
	TokenBytes, SequenceBytes, HostRate float64
	// Ranks is the number of data-parallel ranks of the replica; 0 and 1 mean one.
	Ranks int
	// PromptTime returns the time in which a prompt's tokens are computed after the given number of
	// stored ones; nil where it is not known.
	PromptTime func(stored, tokens int) sim.Time
	// Layers says what the model's layers keep.
	Layers memory.Layers
}

// Add appends a policy; a name that is taken is an error.
func (f *Family[T]) Add(p Policy[T]) error {
	for i := range f.Policies {
		if f.Policies[i].Name == p.Name {
			return fmt.Errorf("there is a %s %q already", f.Kind, p.Name)
		}
	}
	f.Policies = append(f.Policies, p)
	return nil
}

// Lookup returns the policy of that name, or an error with the nearest names.
func (f *Family[T]) Lookup(name string) (*Policy[T], error) {
	names := make([]string, len(f.Policies))
	for i := range f.Policies {
		if f.Policies[i].Name == name {
			return &f.Policies[i], nil
		}
		names[i] = f.Policies[i].Name
	}
	return nil, fmt.Errorf("%s", nearest.Unknown(f.Kind, name, names))
}

// Build makes the policy with the given parameters, as written in a scenario; those left out take
// their defaults. What is wrong with a parameter is a *ParamError.
func (p *Policy[T]) Build(d Deployment, written map[string]string) (T, error) {
	var none T
	for _, name := range slices.Sorted(maps.Keys(written)) {
		if why, ok := p.Refuses[name]; ok {
			return none, &ParamError{name, why}
		}
	}
	v, err := parse(p.Params, written)
	if err != nil {
		return none, err
	}
	return p.New(d, v)
}
