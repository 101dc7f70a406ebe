package papers

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/llmsim/llmsim/policies"
	"github.com/llmsim/llmsim/scenarios"
	"github.com/llmsim/llmsim/sim"
)

// figures is what expressions can use of a run: the keys of its JSON, and the keys of latencies
// below.
type figures map[string]any

// do runs the scenario, once or several times, or searches its capacity.
func (r *Run) do(ctx context.Context) (figures, error) {
	if r.Draws > 0 {
		return r.draw(ctx)
	}
	if r.Capacity != nil {
		return r.Capacity.search(func(rate scenarios.PerSecond) (figures, error) {
			return simulate(ctx, r.Scenario,
				append(slices.Clip(r.Set), "workload.rate="+rate.String()))
		})
	}
	return simulate(ctx, r.Scenario, r.Set)
}

// draw returns the medians of the figures over several seeds.
func (r *Run) draw(ctx context.Context) (figures, error) {
	medians, all := figures{}, map[string][]float64{}
	for seed := range r.Draws {
		f, err := simulate(ctx, r.Scenario,
			append(slices.Clip(r.Set), fmt.Sprintf("seed=%d", seed)))
		if err != nil {
			return nil, err
		}
		for key, value := range f {
			if x, isNumber := value.(float64); isNumber {
				all[key] = append(all[key], x)
			}
		}
	}
	for key, list := range all {
		medians[key] = median(list)
	}
	return medians, nil
}

func simulate(ctx context.Context, scenario string, set []string) (figures, error) {
	file, err := scenarios.Load(scenario, set...)
	if err != nil {
		return nil, err
	}
	var l latencies
	result, err := file.Run(ctx, policies.Default(), &l)
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(result)
	if err != nil {
		return nil, err
	}
	var f figures
	if err := json.Unmarshal(text, &f); err != nil {
		return nil, err
	}
	for _, m := range scenarios.Metrics() { // a limit is kept by what no request has
		if _, found := f[m.Name]; !found && m.Path == "" {
			f[m.Name] = m.Of(result)
		}
	}
	l.addTo(f)
	return f, nil
}

// latencies observes what papers report of each request beside the usual.
type latencies struct {
	sim.NopObserver
	// E2E latency by output token, in ms (Yu et al., Orca, OSDI 2022, section 6.2)
	normalized []float64
	queued     []float64 // from the arrival to the first step, in ms
}

// Finished implements sim.Observer.
func (l *latencies) Finished(s *sim.Sequence) {
	l.normalized = append(l.normalized, s.E2E().Milliseconds()/float64(s.Output))
	l.queued = append(l.queued, (s.Scheduled - s.Arrival).Milliseconds())
}

func (l *latencies) addTo(f figures) {
	f["mean_normalized_ms"], f["median_normalized_ms"] = mean(l.normalized), median(l.normalized)
	f["median_queue_ms"] = median(l.queued)
}

func mean(list []float64) float64 {
	sum := 0.0
	for _, x := range list {
		sum += x
	}
	return sum / float64(max(1, len(list)))
}

func median(list []float64) float64 {
	if len(list) == 0 {
		return 0
	}
	slices.Sort(list)
	return (list[(len(list)-1)/2] + list[len(list)/2]) / 2
}

// command is the line that repeats a run with these figures: that at capacity, or the first of
// several.
func (r *Run) command(f map[string]any) string {
	line := "llmsim scenario " + r.Scenario
	for _, set := range r.Set {
		line += fmt.Sprintf(" --set %q", set)
	}
	if rate, found := f["rate"]; found {
		line += fmt.Sprintf(" --set workload.rate=%.4g/s", rate)
	}
	if r.Draws > 0 {
		line += " --set seed=0"
	}
	return line
}
