package candidate

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/llmsim/llmsim/internal/planner/capacity/answer"
	"github.com/llmsim/llmsim/metrics"
	"github.com/llmsim/llmsim/scenarios"
)

// Change is a setting of a server that differs from the engine's default.
type Change struct {
	Key, Value string
	answer.Setting
	Policy string // of batching
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
		return old.Key == c.Key || c.Key == "batching.token-budget" &&
			old.Key == "batching.chunk-limit" && Helps(metrics.TTFT, c.Value, old.Value)
	})
	list, choices := s.list, s.choices
	if s.Changes != nil { // the last dimension is that of the changes
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

// LastChanged returns the key of the last change of the option, and of which servers.
func (o *Option) LastChanged() (key string) {
	for _, s := range o.Servers() {
		key += " of"
		if n := len(s.Changes); n > 0 {
			key += s.Changes[n-1].Key
		}
	}
	return key
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
// latency. 0 stands for no bound.
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
