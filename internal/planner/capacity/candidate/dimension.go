package candidate

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/llmsim/llmsim/internal/planner/capacity/answer"
	"github.com/llmsim/llmsim/internal/planner/capacity/asked"
	"github.com/llmsim/llmsim/metrics"
	"github.com/llmsim/llmsim/policies"
	"github.com/llmsim/llmsim/scenarios"
)

// dimension is one choice for a kind of replica. Any of its values can be combined with any choice
// of the other dimensions.
type dimension struct {
	size int
	// set makes the choice of value i in a scenario.
	set func(s *draft, i int)
	// word names value i in labels; nil if the shape of a replica names it.
	word func(i int) string
	// common is true if both sides of a group have the same choice.
	common bool
}

// listed is a choice from the list of a side or, without one, from the menu's. word may be nil.
func listed[T any](menu, side, other []T, set func(*scenarios.Scenario, T),
	word func(T) string) dimension {
	list, own := asked.Own(menu, side, other)
	d := dimension{size: len(list), common: !own,
		set: func(s *draft, i int) { set(&s.Scenario, list[i]) }}
	if word != nil {
		d.word = func(i int) string { return word(list[i]) }
	}
	return d
}

// dimensions lists the choices for a replica, the first varying slowest. side may have lists of its
// own in place of the menu's; nil means a replica that does both. other is the other side of the
// group. mixture is set for models with routed experts.
func dimensions(m *asked.Menu, side, other *asked.Side, mixture bool) []dimension {
	if side == nil {
		side, other = &asked.Side{}, &asked.Side{}
	}
	hardware, own := asked.Own(m.Hardware, side.Hardware, other.Hardware)
	drafts := append([]scenarios.Speculation{{}}, m.Speculation...)
	itself := func(name string) string { return name }
	return []dimension{
		{len(hardware), func(s *draft, i int) { s.choose(&hardware[i], hardware) }, nil, !own},
		listed(m.Tensor, side.Tensor, other.Tensor,
			func(s *scenarios.Scenario, n int) { s.Parallelism.Tensor = n }, nil),
		listed(m.Pipeline, side.Pipeline, other.Pipeline,
			func(s *scenarios.Scenario, n int) { s.Parallelism.Pipeline = n }, nil),
		listed(m.Data, side.Data, other.Data,
			func(s *scenarios.Scenario, n int) { s.Parallelism.Data = n }, nil),
		experts(m, side, other, mixture),
		listed(m.Engines, nil, nil,
			func(s *scenarios.Scenario, name string) { choose(&s.Engine.Preset, name) }, itself),
		listed(m.Weights, side.Weights, other.Weights,
			func(s *scenarios.Scenario, name string) { choose(&s.Engine.Weights, name) }, itself),
		listed(m.KVCache, nil, nil,
			func(s *scenarios.Scenario, name string) { choose(&s.Engine.KVCache, name) },
			func(name string) string { return "KV " + name }),
		listed(m.Memory, side.Memory, other.Memory,
			func(s *scenarios.Scenario, one scenarios.KVMemory) { s.Memory = one }, MemoryWords),
		listed(m.Batching, side.Batching, other.Batching,
			func(s *scenarios.Scenario, policy scenarios.Policy) { s.Batching = policy },
			func(policy scenarios.Policy) string { return asked.Settings(policy) }),
		{len(drafts), func(s *draft, i int) { s.speculate(drafts, i) },
			func(i int) string { return draftWords(drafts, i) }, true},
	}
}

// experts is the choice of a degree of expert parallelism. An empty list is a choice of two for a
// mixture of experts: each expert split over the accelerators of a stage, or the experts spread
// over them. Beside data-parallel attention they are spread only, as in a scenario.
func experts(m *asked.Menu, side, other *asked.Side, mixture bool) dimension {
	d := listed(m.Expert, side.Expert, other.Expert,
		func(s *scenarios.Scenario, n int) { s.Parallelism.Expert = n }, nil)
	if list, _ := asked.Own(m.Expert, side.Expert, nil); mixture && len(list) == 1 && list[0] == 0 {
		d.size = 2
		d.set = func(s *draft, i int) {
			p := &s.Scenario.Parallelism
			if i == 1 {
				p.Expert, s.twin = p.Tensor, p.Tensor <= 1 || p.Data > 1
			}
		}
	}
	return d
}

// choose sets what the menu gives, and leaves what it does not give to the plan's engine.
func choose(word *string, menu string) {
	if menu != "" {
		*word = menu
	}
}

// draftWords names a way of speculative decoding.
func draftWords(list []scenarios.Speculation, i int) string {
	if i == 0 {
		return "no drafts"
	}
	d := &list[i]
	words := d.Method
	if d.Draft != "" {
		words += " " + d.Draft
	}
	if d.Tokens > 0 {
		words += fmt.Sprintf(" of %d", d.Tokens)
	}
	return words
}

// MemoryWords names a choice of memory, without its price.
func MemoryWords(m scenarios.KVMemory) string {
	m = Unpriced(m)
	var stores []string
	for _, t := range m.Tiers {
		stores = append(stores, strings.TrimSpace(t.Size+" "+t.Store))
	}
	if m.Tiers = nil; len(stores) == 0 {
		return asked.Settings(m)
	}
	words := strings.Join(stores, " + ")
	if rest := asked.Settings(m); rest != "" {
		words += " " + rest
	}
	return words
}

// combinations returns the product of some sizes. It stops counting beyond mostOptions.
func combinations(sizes []int) int {
	n := 1
	for _, size := range sizes {
		if n *= size; n > mostOptions {
			return mostOptions + 1
		}
	}
	return n
}

// mostOptions bounds a menu.
const mostOptions = 2_000_000

// newDraft is a scenario while the choices of the dimensions are made.
type draft struct {
	Scenario scenarios.Scenario // of one replica that does both
	offer    *asked.Offer
	terms    string // what distinguishes the offer from others of the same accelerator
	twin     bool   // is set where other choices make the same server
}

// choose takes accelerators of a list.
func (d *draft) choose(o *asked.Offer, list []asked.Offer) {
	d.offer = o
	d.Scenario.Fleet.RoundTrip = o.RoundTrip
	d.Scenario.Hardware = scenarios.Hardware{Accelerator: o.Accelerator, File: o.File, Link: o.Link,
		Network: o.Network, PerNode: o.PerNode, Price: o.Price}
	d.terms = o.Terms(list)
}

// speculate takes one of several ways of speculative decoding, the first being no speculation.
func (d *draft) speculate(list []scenarios.Speculation, i int) {
	if i > 0 {
		way := list[i]
		way.Baseline = "skip"
		d.Scenario.Speculation = &way
	}
}

// shape names accelerators, and how the replica is spread over them.
func (d *draft) shape() string {
	par := &d.Scenario.Parallelism
	var ways []string
	for _, way := range []struct {
		name   string
		degree int
	}{{"tensor", par.Tensor}, {"pipeline", par.Pipeline}, {"data", par.Data},
		{"expert", par.Expert}} {
		if way.degree > 1 {
			ways = append(ways, fmt.Sprintf("%s %d", way.name, way.degree))
		}
	}
	if par.Data > 1 && par.Expert == 1 {
		ways = append(ways, "each expert split")
	}
	shape := fmt.Sprintf("%d × %s", par.Accelerators(), d.offer.Accelerator)
	if par.Pipeline > 1 || par.Data > 1 || par.Expert > 1 {
		shape += " (" + strings.Join(ways, ", ") + ")"
	}
	return shape + d.terms
}

// Change is a setting of a server that differs from the engine's default.
type Change struct {
	Key, Value string
	answer.Setting
	Policy string // of batching
	Role   string // of the policy's parameter
}

// KVCache is the key of the number format of the KV cache.
const KVCache = "engine.kv-cache"

// apply makes the change in a scenario of one replica.
func (c *Change) apply(s *scenarios.Scenario) {
	if c.Key == KVCache {
		s.Engine.KVCache = c.Value
		return
	}
	params := maps.Clone(s.Batching.Params)
	if params == nil {
		params = map[string]string{}
	}
	params[strings.TrimPrefix(c.Key, "batching.")] = c.Value
	s.Batching = scenarios.Policy{Policy: c.Policy, Params: params}
}

// words names the change in labels.
func (c *Change) words() string {
	if c.Key == KVCache {
		return "KV " + c.Value
	}
	return strings.TrimPrefix(c.Key, "batching.") + " " + c.Value
}

// With returns the server with one more setting changed, in place of an earlier change of the same
// setting, and of a limit of chunks that are within a new budget anyway.
func (s *Server) With(c Change) *Server {
	others := slices.DeleteFunc(slices.Clone(s.Changes), func(old Change) bool {
		return old.Key == c.Key || c.Role == policies.Tokens && old.Role == policies.PromptOfOne &&
			Helps(metrics.TTFT, c.Value, old.Value)
	})
	list, choices := s.list, s.choices
	if s.Changes != nil { // the last dimension chooses the changes
		list, choices = list[:len(list)-1], choices[:len(choices)-1]
	}
	changes := append(others, c)
	last := dimension{size: 2, set: func(d *draft, _ int) {
		for i := range changes {
			changes[i].apply(&d.Scenario)
		}
	}, word: func(int) string {
		words := make([]string, len(changes))
		for i := range changes {
			words[i] = changes[i].words()
		}
		return strings.Join(words, ", ")
	}}
	other, _ := newServer(s.File, append(slices.Clone(list), last),
		append(slices.Clone(choices), 1))
	other.Changes = changes
	return other
}

// LastChanged returns the key of the last change of the option, and the servers that it changes.
func (o *Option) LastChanged() (key string) {
	for _, s := range o.Servers() {
		key += " of"
		if n := len(s.Changes); n > 0 {
			key += s.Changes[n-1].Key
		}
	}
	return key
}

// ChangesCache reports whether a setting beside the menu's is the format of the KV cache.
func (o *Option) ChangesCache() bool {
	return slices.ContainsFunc(o.Servers(), func(s *Server) bool {
		return slices.ContainsFunc(s.Changes, func(c Change) bool { return c.Key == KVCache })
	})
}

// Settings lists the changes of an option's servers.
func (o *Option) Settings() []answer.Setting {
	var list []answer.Setting
	for _, s := range o.Servers() {
		for i := range s.Changes {
			setting := s.Changes[i].Setting
			if o.Decode != nil && o.Decode != o.Prefill {
				setting.Pool = map[bool]string{true: "prefill", false: "decode"}[s == o.Prefill]
			}
			list = append(list, setting)
		}
		if o.Decode == o.Prefill {
			break
		}
	}
	return list
}

// Helps reports whether another value of a batching parameter may help against a limit of a
// latency. 0 means no bound.
func Helps(latency metrics.Latency, now, value string) bool {
	before, err := strconv.ParseFloat(now, 64)
	after, err2 := strconv.ParseFloat(value, 64)
	if cmp.Or(err, err2) != nil {
		return false
	}
	smaller := after > 0 && (before == 0 || after < before)
	switch latency {
	case metrics.TTFT:
		return !smaller
	case metrics.TPOT, metrics.ITL:
		return smaller
	}
	return true
}
