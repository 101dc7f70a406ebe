package deployment

import (
	"reflect"
	"strconv"

	"github.com/llmsim/llmsim/hardware"
	"github.com/llmsim/llmsim/internal/strict"
	"github.com/llmsim/llmsim/models/steptime"
	"github.com/llmsim/llmsim/policies"
	"github.com/llmsim/llmsim/policies/memory"
	"github.com/llmsim/llmsim/sim"
)

// Policies are the policies of a replica. A fleet has further ones.
type Policies struct {
	Batching Choice[sim.Scheduler]
	Memory   Choice[sim.Memory]
}

// Choice is a policy with its settings.
type Choice[T any] struct {
	Policy   *policies.Policy[T]
	Settings policies.Settings[T]
	written  map[string]string
}

// Choose finds the policy of that name in a family, and reads its parameters. Those that are left
// out take their defaults. An error in a parameter is a *policies.ParamError.
func Choose[T any](family *policies.Family[T], name string, params map[string]string) (Choice[T],
	error) {
	policy, err := family.Lookup(name)
	if err != nil {
		return Choice[T]{}, err
	}
	settings, err := policy.Read(params)
	return Choice[T]{policy, settings, params}, err
}

// Build makes the policy for a place. An error in a parameter is a *policies.ParamError.
func (c *Choice[T]) Build(place policies.Deployment) (T, error) { return c.Settings.New(place) }

// Name returns the name of the policy, or "" if no policy is chosen.
func (c *Choice[T]) Name() string {
	if c.Policy == nil {
		return ""
	}
	return c.Policy.Name
}

// Settings is the rest of the program's view of a policy's parameters.
type Settings interface {
	// Limits returns the most sequences in a batch and the most tokens in a step, 0 where the
	// policy has no such limit.
	Limits() (sequences, tokens int)
	// Number returns the name and the value of the whole-number parameter with one of the roles; ""
	// and 0 where the policy has no such parameter.
	Number(roles ...string) (name string, value int)
	// List describes the parameters, with the text of each in place of its default.
	List() []strict.Setting
}

// Limits implements Settings.
func (c *Choice[T]) Limits() (sequences, tokens int) {
	_, sequences = c.Number(policies.Sequences)
	_, tokens = c.Number(policies.Tokens, policies.PromptTokens)
	return sequences, tokens
}

// Number implements Settings.
func (c *Choice[T]) Number(roles ...string) (name string, value int) {
	if c.Settings == nil {
		return "", 0
	}
	p := c.Policy.Param(roles...)
	if p == nil {
		return "", 0
	}
	return p.Name, int(reflect.ValueOf(c.Settings).FieldByIndex(p.Index).Int())
}

// SetLimit sets the whole-number parameter with one of the roles, if the policy has one.
func (c *Choice[T]) SetLimit(value int, roles ...string) {
	if p := c.Policy.Param(roles...); p != nil {
		into := reflect.New(reflect.TypeOf(c.Settings)).Elem()
		into.Set(reflect.ValueOf(c.Settings))
		into.FieldByIndex(p.Index).SetInt(int64(value))
		c.Settings = into.Interface().(policies.Settings[T])
	}
}

// List implements Settings.
func (c *Choice[T]) List() []strict.Setting {
	list := c.Policy.Params()
	for i := range list {
		p := &list[i]
		if text, ok := c.written[p.Name]; ok {
			p.Default = text
		}
		if p.Type.Kind() == reflect.Int {
			value := reflect.ValueOf(c.Settings).FieldByIndex(p.Index)
			p.Default = strconv.FormatInt(value.Int(), 10)
		}
	}
	return list
}

// TokenBudget returns the largest number of tokens of a step, 0 where the scheduler has no such
// limit.
func (c *Config) TokenBudget() int {
	_, tokens := c.Policies.Batching.Limits()
	return tokens
}

// Anywhere describes a place with enough memory for any policy. It serves to check parameters
// before the memory is planned.
func (c *Config) Anywhere() policies.Deployment {
	place := policies.Deployment{KVTokens: 1 << 40, MaxContext: 1 << 20, TokenBytes: 1,
		Layers: c.layers(), Ranks: c.Parallel.Complete().Data}
	if c.HostLink != nil {
		place.HostRate = c.HostLink.Bandwidth
	}
	if c.Memory.Swap > 0 {
		place.HostTokens = 1 << 40
	}
	return place
}

// Place describes a replica to its policies. The seed determines their random choices.
func (s *Server) Place(seed uint64) policies.Deployment {
	p, k := s.Parallel.Complete(), s.sequenceState()
	place := policies.Deployment{
		Seed: seed, KVTokens: int64(s.Plan.Tokens), MaxContext: s.MaxContext, Layers: s.layers(),
		TokenBytes:    (k.Growing + k.Windowed) * float64(p.Tensor),
		SequenceBytes: k.Fixed * float64(p.Tensor), Ranks: p.Data,
	}
	if s.HostLink != nil {
		place.HostRate = s.HostLink.Bandwidth * float64(p.Tensor*p.Pipeline)
	}
	var aside *steptime.Clock // made when it is first asked, which most policies never do
	place.PromptTime = func(stored, tokens int) sim.Time {
		if aside == nil {
			aside = s.Clock.Aside()
		}
		chunk := []sim.Chunk{{New: tokens, Cached: stored, Last: true}}
		return aside.Duration(&sim.Step{Prefill: chunk}) * sim.Time(p.Pipeline)
	}
	place.HostTokens = int64(s.Memory.Swap / max(1, place.TokenBytes))
	return place
}

// kv returns the number format of the KV cache.
func (c *Config) kv() hardware.DType {
	if c.KV == "" {
		return hardware.BF16
	}
	return c.KV
}

// Replica makes a replica with policies of its own.
func (s *Server) Replica(seed uint64) (sim.ReplicaConfig, error) {
	place := s.Place(seed)
	r := sim.ReplicaConfig{
		Clock: s.Clock, Host: s.swapSpace(&place), Stages: s.Parallel.Complete().Pipeline,
		Lookahead: s.Engine.Lookahead, MaxContext: s.MaxContext,
	}
	r.Latency, r.PromptLatency = s.Clock.RequestLatency()
	var err error
	if r.Scheduler, err = s.Policies.Batching.Build(place); err != nil {
		return r, &PolicyError{"batching", err}
	}
	if policies.FetchesLayers(s.Policies.Memory.Settings) {
		r.Host.Parts = s.Model.Layers()
	}
	if r.Memory, err = s.Policies.Memory.Build(place); err != nil {
		return r, &PolicyError{"memory", err}
	}
	if a := &s.Adapters; a.Count > 0 {
		if r.Memory, err = memory.NewAdapters(r.Memory, a.Slots, s.loadAdapter()); err != nil {
			return r, &PolicyError{"memory", err}
		}
	}
	if kept, err := s.encodings(); kept != nil && !s.EncodersApart {
		r.Encodings = kept
	} else if err != nil {
		return r, err
	}
	return r, nil
}

// loadAdapter returns the time in which an adapter comes from host memory, each accelerator's part
// over its own link.
func (s *Server) loadAdapter() sim.Time {
	if s.HostLink == nil {
		return 0
	}
	p := s.Parallel.Complete()
	bytes := s.Adapters.Bytes(s.Model, p.Tensor, s.Adapters.Rank) / float64(p.Pipeline)
	return sim.Seconds(bytes/s.HostLink.Bandwidth + s.HostLink.Latency)
}

// PolicyError says which policy of a replica cannot be made, and why.
type PolicyError struct {
	// Family is "batching" or "memory".
	Family string
	Err    error
}

// Error returns the message.
func (e *PolicyError) Error() string { return e.Family + ": " + e.Err.Error() }

// Unwrap returns the error within.
func (e *PolicyError) Unwrap() error { return e.Err }
