package capacity

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/llmsim/llmsim/internal/launch"
	"github.com/llmsim/llmsim/internal/planner/capacity/answer"
	"github.com/llmsim/llmsim/internal/planner/tuning"
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
// setting.
func (s *server) with(c change) *server {
	others := slices.DeleteFunc(slices.Clone(s.changes),
		func(old change) bool { return old.key == c.key })
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
	other, _ := s.file.newServer(append(slices.Clone(list), last), append(slices.Clone(choices), 1))
	other.changes = changes
	return other
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

// changed returns the options that differ from option i in one setting that may help against the
// limit that binds the largest fleet that costs less than the answer.
func (s *search) changed(ctx context.Context, i int) ([]*option, error) {
	o := s.options[i]
	n := max(1, s.cheaper(i))
	missed, _, err := s.simulate(ctx, o, n, o.worst(), 0)
	if err != nil {
		return nil, err
	}
	latency := binding(missed.Clauses).Latency
	for _, one := range []metrics.Latency{metrics.TTFT, metrics.TPOT} {
		if latency == "" && strings.HasSuffix(missed.Binds, strings.ToUpper(string(one))) {
			latency = one
		}
	}
	return s.changedFor(o, latency)
}

// changedFor returns the options that differ from o in one setting that may help against a limit of
// a latency: smaller batches and chunks against TPOT and gaps, larger ones against TTFT, and any
// against other limits.
func (s *search) changedFor(o *option, latency metrics.Latency) ([]*option, error) {
	var list []*option
	both := func(prefill, decode *server) {
		other := *o
		other.parts = &parts{prefill: prefill, decode: decode}
		list = append(list, &other)
	}
	for _, server := range o.servers() {
		changes, err := s.changesOf(server, latency)
		if err != nil {
			return nil, err
		}
		for _, c := range changes {
			switch {
			case o.decode == nil:
				both(server.with(c), nil)
			case o.decode == o.prefill:
				same := server.with(c)
				both(same, same)
			case c.key == kvCache: // which both sides of a group must share
				if server == o.prefill {
					both(server.with(c), o.decode.with(c))
				}
			case server == o.prefill:
				both(server.with(c), o.decode)
			default:
				both(o.prefill, server.with(c))
			}
		}
		if o.decode == o.prefill {
			break
		}
	}
	return list, nil
}

// changesOf returns the changes of a server's batching and of the format of its KV cache, as far as
// the plan leaves these to the engine, that may help against a limit of a latency.
func (s *search) changesOf(server *server, latency metrics.Latency) ([]change, error) {
	steps, err := s.trials.steps(server)
	if err != nil {
		return nil, err
	}
	now := &steps.Scenario
	given := server.asked()
	ours := func(key string) bool {
		return slices.ContainsFunc(server.changes,
			func(c change) bool { return strings.HasPrefix(c.key, key) })
	}
	left := given.Batching.Policy == "" && given.Batching.Params == nil || ours("batching.")
	add := func(list []change, key, name, value, was string) []change {
		for _, old := range server.changes {
			if old.key == key {
				was = old.Default
			}
		}
		if value == was {
			return list // as it was at first
		}
		return append(list, change{key, value, answer.Setting{Name: name, Value: value,
			Default: was}, now.Batching.Policy})
	}
	var list []change
	for _, d := range tuning.Numbers(now) {
		for _, choice := range d.Choices[1:] {
			key, value, _ := strings.Cut(choice.Set[0], "=")
			if left && strings.HasPrefix(key, "batching.") &&
				helps(latency, d.Choices[0].Label, value) {
				list = add(list, key, d.Name, value, d.Choices[0].Label)
			}
		}
	}
	if (given.Engine.KVCache == "" || ours(kvCache)) && len(now.Engine.KVCache) == len("bf16") {
		name := kvCache
		if engine, _ := launch.EngineOf(now.Engine.Preset); engine != "" {
			if flag, known := launch.Flag(engine, kvCache); known {
				name = flag
			}
		}
		list = add(list, kvCache, name, "fp8", now.Engine.KVCache)
	}
	return list, nil
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
