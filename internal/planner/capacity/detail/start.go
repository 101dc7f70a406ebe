//go:build !js

package detail

import (
	"fmt"
	"math"
	"strings"

	"github.com/llmsim/llmsim/internal/launch"
	"github.com/llmsim/llmsim/internal/planner/capacity/answer"
	"github.com/llmsim/llmsim/scenarios"
)

// start sets the files and commands that start the fleet.
func start(d *answer.Deployment, s *scenarios.Simulation) error {
	bundle, err := launch.NewBundle(s, "")
	if err != nil {
		d.Unstartable = err.Error()
		return nil
	}
	d.Bundle, d.Lacks = bundle, bundle.Notes
	d.Launch, err = bundle.Lines()
	return err
}

// serving adds the commands that start one replica and load it, and that take what was measured.
func (f *Fleet) serving(simulation *scenarios.Simulation, m *answer.Measurement) error {
	bundle, err := launch.NewBundle(simulation, "")
	if err != nil {
		return nil // no engine that is known runs on it: how to start it is not known either
	}
	if m.Commands, err = bundle.Lines(); err != nil {
		return err
	}
	m.Commands = append(m.Commands, f.bench(bundle, m.Fleets[0].Replicas-f.Spare)...)
	m.Commands = append(m.Commands, "llmsim twin observe bench-*.json --out observed",
		"llmsim twin adapt observed --scenario "+answer.MeasureFile+" --out deployment.yaml",
		"llmsim plan "+f.Trials.File.Name+" --set engine.deployment=deployment.yaml")
	return nil
}

// measured is how long a load is kept up in a measurement, in seconds.
const measured = 300

// bench returns the commands that load a replica with half its share of the plan's requests and
// with all of it, with prompts and answers of the mean lengths: two loads tell what a prompt and
// what a sequence costs apart.
func (f *Fleet) bench(b *launch.Bundle, n int) (list []string) {
	l := f.Option.Load()
	mean := func(tokens float64) int { return max(1, int(math.Round(tokens/l.Requests))) }
	for i, share := range []float64{0.5, 1} {
		load, requests := "", 0.0
		if users := f.Trials.File.Plan.Workload.Arrivals.Users; users > 0 {
			each := math.Ceil(share * float64(users) / float64(n))
			load, requests = fmt.Sprintf("--max-concurrency %.0f", each), 10*each
		} else if rate := share * f.Rate / float64(n); rate > 0 {
			load, requests = fmt.Sprintf("--request-rate %.3g", rate), measured*rate
		} else {
			return nil
		}
		list = append(list, strings.Join([]string{"vllm bench serve --model",
			b.Servers[0].Model,
			fmt.Sprintf("--port %d --dataset-name random --random-input-len %d "+
				"--random-output-len %d --ignore-eos", b.Port, mean(l.Prompt), mean(l.Output)),
			load,
			fmt.Sprintf("--num-prompts %.0f --save-result --save-detailed --result-filename "+
				"bench-%d.json", min(max(100, math.Ceil(requests)), 10_000), i+1)}, " "))
	}
	return list
}
