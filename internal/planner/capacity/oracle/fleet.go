package oracle

import (
	"context"

	"github.com/llmsim/llmsim/scenarios"
)

// mostDoubled bounds how often the simulation of a whole fleet is doubled in length. Where answers
// take minutes, as those of the plan decode-heavy, half of the runs seem to grow after two.
const mostDoubled = 4

// Fleet simulates a fleet, or the part that stands for it, for as long as one of that many replicas
// is, where TTFT is late times what is predicted. While the SLO is kept and yet latencies seem to
// grow, which a short run may show by chance, the simulation is doubled in length. Of a run that
// misses the SLO, the share of requests that keep it tells enough, so that one in which queues are
// long by chance counts like others.
func (t *Trials) Fleet(ctx context.Context, scenario scenarios.Scenario, replicas int,
	rate, late float64) (run Trial, requests int64, err error) {
	scenario, rate = t.Part(scenario, rate)
	p := &t.File.Plan
	requests = p.Together(rate, replicas)
	for doubled := 0; ; doubled++ {
		run, err = t.Trial(ctx, scenario, rate, requests)
		run = run.Under(late)
		enough := run.fills(rate)
		filled := requests >= enough-enough/filling // else a little more is asked for each time
		if err != nil || !run.Growing && filled || run.Kept.Mean < run.Target ||
			doubled == mostDoubled {
			run.Growing = run.Growing && run.Kept.Mean >= run.Target
			return run, p.Put(scenario.Workload, rate, requests).Requests, err
		}
		if requests = max(requests, enough); run.Growing {
			requests *= 2
		}
	}
}
