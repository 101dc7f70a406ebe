// Package policies lists the policies that a scenario can name: who runs next (batching), where the
// KV cache goes (memory), which replica serves a request (routing), who is let in (admission), how
// many replicas run (scaling), how many tokens are drafted (speculation). Each family has a folder;
// the list itself is an explicit value, to which programs add policies of their own.
package policies

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"github.com/llmsim/llmsim/internal/nearest"
	"github.com/llmsim/llmsim/internal/strict"
	"github.com/llmsim/llmsim/internal/units"
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

// Default returns a registry of the policies that llmsim ships.
func Default() *Registry {
	return &Registry{
		Batching:  Family[sim.Scheduler]{Kind: "batching policy", Policies: batchingPolicies()},
		Memory:    Family[sim.Memory]{Kind: "memory policy", Policies: memoryPolicies()},
		Routing:   Family[sim.Router]{Kind: "routing policy", Policies: routingPolicies()},
		Admission: Family[sim.Admission]{Kind: "admission policy", Policies: admissionPolicies()},
		Drafting: Family[speculation.Lengths]{Kind: "draft-length policy",
			Policies: draftLengths()},
		Scaling: Family[sim.Scaler]{Kind: "scaling policy", Policies: scalingPolicies()},
	}
}

// Family is the policies of one kind, the default one first.
type Family[T any] struct {
	// Kind names the family in messages, such as "batching policy".
	Kind     string
	Policies []Policy[T]
}

// Policy is a way to make a T.
type Policy[T any] struct {
	// Name is its name in scenarios, Doc a line that says what it does, Source where it is from.
	Name, Doc, Source string
	// Settings is a struct whose fields are the parameters. Their tags say all that is known of
	// them: see package strict.
	Settings Settings[T]
	// Defaults are the defaults in which the policy differs from the tags.
	Defaults map[string]string
	// Refuses says of parameters that other policies have why this one does not, and what would
	// work.
	Refuses map[string]string
	// Advice says what somebody should know who uses it with the memory policy of that name; nil or
	// "" where there is nothing.
	Advice func(memory string) string
}

// Settings are the parameters of a policy.
type Settings[T any] interface {
	// New makes the policy for a replica (or, for routing, for the fleet). All parameters have
	// values within the ranges of their tags.
	New(d Deployment) (T, error)
}

// plain is the settings of a policy without parameters.
type plain[T any] struct{ make func(d Deployment) T }

func (p plain[T]) New(d Deployment) (T, error) { return p.make(d), nil }

// Deployment describes the replica to a policy that has to know it.
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
	// TokenBytes is the size of a token's KV on all accelerators of the replica together,
	// SequenceBytes the size of a sequence's fixed state; HostRate is the rate in B/s of
	// their links to host memory, each in one direction; 0 without such a link.
	TokenBytes, SequenceBytes, HostRate float64
	// Ranks is the number of data-parallel ranks of the replica; 0 and 1 mean one.
	Ranks int
	// PromptTime returns the time in which a prompt's tokens are computed after the given number of
	// stored ones; nil where it is not known.
	PromptTime func(stored, tokens int) sim.Time
	// Layers says what the model's layers keep.
	Layers memory.Layers
}

// ParamError says what is wrong with one parameter.
type ParamError struct {
	Name    string
	Problem string
}

func (e *ParamError) Error() string { return e.Name + ": " + e.Problem }

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

// Setting describes a parameter of a policy, by the tags of its field.
type Setting = strict.Setting

// Params lists the parameters in the order of their fields.
func (p *Policy[T]) Params() []Setting {
	list := strict.Settings(reflect.TypeOf(p.Settings))
	for i := range list {
		if other, ok := p.Defaults[list[i].Name]; ok {
			list[i].Default = other
		}
	}
	return list
}

// Read returns the settings with the given parameters, as written in a scenario; those left out
// take their defaults. What is wrong with a parameter is a *ParamError.
func (p *Policy[T]) Read(written map[string]string) (Settings[T], error) {
	for _, name := range slices.Sorted(maps.Keys(written)) {
		if why, ok := p.Refuses[name]; ok {
			return nil, &ParamError{name, why}
		}
	}
	into := reflect.New(reflect.TypeOf(p.Settings))
	into.Elem().Set(reflect.ValueOf(p.Settings))
	var wrong strict.Problem
	if errors.As(strict.FillSettings(into.Interface(), p.Params(), written), &wrong) {
		return nil, &ParamError{wrong.Path, wrong.Message}
	}
	return into.Elem().Interface().(Settings[T]), nil
}

// Build makes the policy with the given parameters: see Read.
func (p *Policy[T]) Build(d Deployment, written map[string]string) (T, error) {
	settings, err := p.Read(written)
	if err != nil {
		var none T
		return none, err
	}
	return settings.New(d)
}

// Roles of parameters: what other parts of the program read a parameter for.
const (
	// Sequences bounds the sequences in a batch, and Tokens the tokens in a step. PromptTokens
	// bounds the prompt tokens in a step alone.
	Sequences, Tokens, PromptTokens = "sequences", "tokens", "prompt-tokens"
	// PromptOfOne bounds the prompt tokens of one request in a step.
	PromptOfOne = "prompt-of-one"
	// Requests bounds the requests in a batch of a policy that computes whole prompts, so that the
	// tokens of a step have no bound.
	Requests = "requests"
	// Block is the number of tokens in a KV block.
	Block = "block"
)

// Param returns the parameter of the first of the roles for which the policy has one, or nil.
func (p *Policy[T]) Param(roles ...string) *Setting {
	list := p.Params()
	for _, role := range roles {
		for i := range list {
			if list[i].Tag.Get("role") == role {
				return &list[i]
			}
		}
	}
	return nil
}

// Span is a parameter that is a length of time, such as 50ms.
type Span sim.Time

// UnmarshalText reads a duration with its unit.
func (s *Span) UnmarshalText(text []byte) error {
	seconds, err := units.ParseDuration(string(text))
	*s = Span(sim.Seconds(seconds))
	return err
}

// Bytes is a parameter that is an amount of memory, such as 64GiB.
type Bytes float64

// UnmarshalText reads an amount with its unit.
func (b *Bytes) UnmarshalText(text []byte) (err error) {
	*(*float64)(b), err = units.ParseBytes(string(text))
	return err
}

// ByteRate is a parameter that is a rate in B/s, such as 3GB/s.
type ByteRate float64

// UnmarshalText reads a rate with its unit.
func (r *ByteRate) UnmarshalText(text []byte) (err error) {
	*(*float64)(r), err = units.ParseByteRate(string(text))
	return err
}
