package capacity

import (
	"context"
	"slices"
	"strings"

	"github.com/llmsim/llmsim/internal/launch"
	"github.com/llmsim/llmsim/internal/planner/capacity/answer"
	"github.com/llmsim/llmsim/internal/planner/capacity/asked"
	"github.com/llmsim/llmsim/internal/planner/tuning"
	"github.com/llmsim/llmsim/metrics"
)

// changed returns the options that differ from o in one setting that may help against the limit
// that binds n replicas, which cost less than the answer.
func (s *search) changed(ctx context.Context, o *option, n int) ([]*option, error) {
	missed, _, err := s.simulate(ctx, o, n, o.worst(), 0)
	if err != nil {
		return nil, err
	}
	latency := asked.Binding(missed.Clauses).Latency
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

// changedAny returns the options that differ from option i in one setting of any kind.
func (s *search) changedAny(i int) ([]*option, error) { return s.changedFor(s.options[i], "") }

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
