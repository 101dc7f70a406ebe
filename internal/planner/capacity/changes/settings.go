// Package changes tries what may help a fleet: other settings of its servers, and remedies for what
// its requests wait for.
package changes

import (
	"slices"
	"strings"

	"github.com/llmsim/llmsim/internal/launch"
	"github.com/llmsim/llmsim/internal/planner/capacity/answer"
	"github.com/llmsim/llmsim/internal/planner/capacity/asked"
	"github.com/llmsim/llmsim/internal/planner/capacity/candidate"
	"github.com/llmsim/llmsim/internal/planner/capacity/judge"
	"github.com/llmsim/llmsim/internal/planner/capacity/oracle"
	"github.com/llmsim/llmsim/internal/planner/tuning"
	"github.com/llmsim/llmsim/metrics"
)

// Changed returns the options that differ from o in one setting that may help against the limit
// that binds in a run of a fleet of o, which costs less than the answer.
func Changed(j *judge.Judge, missed oracle.Trial, o *candidate.Option) ([]*candidate.Option,
	error) {
	latency := asked.Binding(missed.Clauses).Latency
	for _, one := range []metrics.Latency{metrics.TTFT, metrics.TPOT} {
		if latency == "" && strings.HasSuffix(missed.Binds, strings.ToUpper(string(one))) {
			latency = one
		}
	}
	return ChangedFor(j, o, latency)
}

// ChangedFor returns the options that differ from o in one setting that may help against a limit of
// a latency: smaller batches and chunks against TPOT and gaps, larger ones against TTFT, and any
// against other limits.
func ChangedFor(j *judge.Judge, o *candidate.Option, latency metrics.Latency) ([]*candidate.Option,
	error) {
	var list []*candidate.Option
	both := func(prefill, decode *candidate.Server) {
		other := *o
		other.Parts = &candidate.Parts{Prefill: prefill, Decode: decode}
		other.Scaling = o.Scaling.Copied() // it has bounds of its own
		list = append(list, &other)
	}
	for _, server := range o.Servers() {
		changes, err := changesOf(j, server, latency)
		if err != nil {
			return nil, err
		}
		for _, c := range changes {
			switch {
			case o.Decode == nil:
				both(server.With(c), nil)
			case o.Decode == o.Prefill:
				same := server.With(c)
				both(same, same)
			case c.Key == candidate.KVCache: // which both sides of a group must share
				if server == o.Prefill {
					both(server.With(c), o.Decode.With(c))
				}
			case server == o.Prefill:
				both(server.With(c), o.Decode)
			default:
				both(o.Prefill, server.With(c))
			}
		}
		if o.Decode == o.Prefill {
			break
		}
	}
	return list, nil
}

// changesOf returns the changes of a server's batching and of the format of its KV cache, as far as
// the plan leaves these to the engine, that may help against a limit of a latency.
func changesOf(j *judge.Judge, server *candidate.Server,
	latency metrics.Latency) ([]candidate.Change,
	error) {
	steps, err := j.Trials.Steps(server)
	if err != nil {
		return nil, err
	}
	now := &steps.Scenario
	given := server.Asked()
	ours := func(key string) bool {
		return slices.ContainsFunc(server.Changes,
			func(c candidate.Change) bool { return strings.HasPrefix(c.Key, key) })
	}
	left := given.Batching.Policy == "" && given.Batching.Params == nil || ours("batching.")
	add := func(list []candidate.Change, key, name, value, was string) []candidate.Change {
		for _, old := range server.Changes {
			if old.Key == key {
				was = old.Default
			}
		}
		if value == was {
			return list // as it was at first
		}
		return append(list, candidate.Change{Key: key, Value: value,
			Setting: answer.Setting{Name: name, Value: value, Default: was},
			Policy:  now.Batching.Policy})
	}
	var list []candidate.Change
	for _, d := range tuning.Numbers(now) {
		for _, choice := range d.Choices[1:] {
			key, value, _ := strings.Cut(choice.Set[0], "=")
			if left && strings.HasPrefix(key, "batching.") &&
				candidate.Helps(latency, d.Choices[0].Label, value) {
				list = add(list, key, d.Name, value, d.Choices[0].Label)
			}
		}
	}
	if (given.Engine.KVCache == "" || ours(candidate.KVCache)) &&
		len(now.Engine.KVCache) == len("bf16") {
		name := candidate.KVCache
		if engine, _ := launch.EngineOf(now.Engine.Preset); engine != "" {
			if flag, known := launch.Flag(engine, candidate.KVCache); known {
				name = flag
			}
		}
		list = add(list, candidate.KVCache, name, "fp8", now.Engine.KVCache)
	}
	return list, nil
}
