package capacity

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

// change is a setting of a server that differs from the engine's default.
type change struct {
	key, value string
	answer.Setting
	policy string // of batching
}

// kvCache is the key of the number format of the KV cache.
const kvCache = "engine.kv-cache"

// apply makes the change in a scenario of one replica.
func (c *change) apply(s *scenarios.Scenario) {
	if c.key == kvCache {
		s.Engine.KVCache = c.value
		return
	}
	params := maps.Clone(s.Batching.Params)
	if params == nil {
		params = map[string]string{}
	}
	params[strings.TrimPrefix(c.key, "batching.")] = c.value
	s.Batching = scenarios.Policy{Policy: c.policy, Params: params}
}

// words names the change in labels.
func (c *change) words() string {
	if c.key == kvCache {
		return "KV " + c.value
	}
	return strings.TrimPrefix(c.key, "batching.") + " " + c.value
}

// with returns the server with one more setting changed, in place of an earlier change of the same
// setting, and of a limit of chunks that are within a new budget anyway.
func (s *server) with(c change) *server {
	others := slices.DeleteFunc(slices.Clone(s.changes), func(old change) bool {
		return old.key == c.key || c.key == "batching.token-budget" &&
			old.key == "batching.chunk-limit" && helps(metrics.TTFT, c.value, old.value)
	})
	list, choices := s.list, s.choices
	if s.changes != nil { // the last dimension is that of the changes
		list, choices = list[:len(list)-1], choices[:len(choices)-1]
	}
	changes := append(others, c)
	last := dimension{size: 2, set: func(d *draft, _ int) {
		for i := range changes {
			changes[i].apply(&d.scenario)
		}
	}, word: func(int) string {
		words := make([]string, len(changes))
		for i := range changes {
			words[i] = changes[i].words()
		}
		return strings.Join(words, ", ")
	}}
	other, _ := newServer(s.file, append(slices.Clone(list), last), append(slices.Clone(choices), 1))
	other.changes = changes
	return other
}

// lastChanged returns the key of the last change of the option, and of which servers.
func (o *option) lastChanged() (key string) {
	for _, s := range o.servers() {
		key += " of"
		if n := len(s.changes); n > 0 {
			key += s.changes[n-1].key
		}
	}
	return key
}

// settings lists the changes of an option's servers.
func (o *option) settings() []answer.Setting {
	var list []answer.Setting
	for _, s := range o.servers() {
		for i := range s.changes {
			setting := s.changes[i].Setting
			if o.decode != nil && o.decode != o.prefill {
				setting.Pool = map[bool]string{true: "prefill", false: "decode"}[s == o.prefill]
			}
			list = append(list, setting)
		}
		if o.decode == o.prefill {
			break
		}
	}
	return list
}

// helps reports whether another value of a batching parameter may help against a limit of a
// latency. 0 stands for no bound.
func helps(latency metrics.Latency, now, value string) bool {
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
