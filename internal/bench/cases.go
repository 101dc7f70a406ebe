// Package bench measures what simulations cost: the processor's time and memory of whole runs of
// the program, beside a plain case or beside another build, and counts that no machine changes.
package bench

import (
	"errors"
	"fmt"
	"slices"

	"github.com/llmsim/llmsim/internal/nearest"
	"github.com/llmsim/llmsim/policies"
	"github.com/llmsim/llmsim/scenarios"
)

// scenario is the file of all cases, for which each gives arrivals and the number of requests. It
// is the load on which simulators are compared.
const scenario = `name: bench
model: llama-3.1-8b
hardware: h100-sxm
workload:
  prompt: {distribution: normal, mean: 500, std: 200, min: 2, max: 2000}
  output: {distribution: normal, mean: 250, std: 100, min: 2, max: 1000}
`

// Case is a load whose cost is of interest.
type Case struct {
	Name string
	// Requests is the length of a run. It is such that starting the program counts for little.
	Requests int
	// Set lists changes of the scenario, in the words of scenario --set.
	Set []string
	// Interval is true for a run with the further simulations that show how uncertain the figures
	// are, and Out for one that writes its requests, pictures and page.
	Interval, Out bool
	// Goal is the wanted ratio of a request's time to the base's; 0 without one.
	Goal float64
	// Axis names the quantity that grows in a list of cases, and Value its size; empty for cases by
	// themselves.
	Axis  string
	Value float64
	// Most bounds the counts of a request. It is a tenth above what was counted, or more where
	// that is almost nothing.
	Most Counts
}

// base is the name of the case with which others are compared.
const base = "base"

// Cases lists all cases, the base first.
func Cases() []Case {
	const mtp = "speculation={method: mtp, tokens: 1, acceptance: {rate: 0.85}}"
	const turns = "workload.sessions={turns: 5, think: 10s}"
	const long, longest = "workload.output.mean=2500", "workload.output.max=10000"
	return []Case{
		{Name: base, Requests: 200_000, Set: rate(20), Most: Counts{2.42, 0.02, 16}},
		{Name: "outputs ×10", Requests: 200_000, Set: rate(2, long, longest),
			Most: Counts{3.73, 0.02, 16}},
		{Name: "speculation", Goal: 3, Requests: 200_000, Set: rate(20, mtp),
			Most: Counts{2.35, 0.02, 24}},
		{Name: "speculation, outputs ×10", Goal: 6, Requests: 20_000,
			Set: rate(2, mtp, long, longest), Most: Counts{3.82, 0.02, 24}},
		{Name: "mlfq, overloaded", Goal: 3, Requests: 200_000, Set: rate(60, "batching=mlfq"),
			Most: Counts{1.03, 1.1, 930}},
		{Name: "KV memory short", Requests: 200_000, Set: rate(60, "parallelism.tensor=2",
			"memory.tokens=126592"), Most: Counts{1.36, 0.05, 60}},
		{Name: "sessions", Goal: 2, Requests: 200_000, Set: rate(4, turns),
			Most: Counts{1.17, 1.06, 303}},
		{Name: "sessions, 1,000 replicas", Goal: 4, Requests: 200_000,
			Set:  rate(1600, turns, "replicas=1000", "routing=kv-aware"),
			Most: Counts{3.24, 7.11, 2030}},
		{Name: "sessions, four tiers", Requests: 150_000, Set: tiers(0.5),
			Most: Counts{3.19, 3.57, 330}},
		{Name: "64 replicas", Goal: 1.3, Requests: 300_000, Set: rate(1280, "replicas=64"),
			Most: Counts{2.78, 0.03, 40}},
		{Name: "1,000 replicas", Goal: 2, Requests: 300_000, Set: rate(20_000, "replicas=1000"),
			Most: Counts{3.28, 1.25, 670}},
		{Name: "at once", Goal: 3, Requests: 1_000_000,
			Set: []string{"workload.arrivals=at-once"}, Most: Counts{0.45, 0.06, 210}},
		{Name: "with --out", Goal: 1.4, Requests: 300_000, Set: rate(20), Out: true},
		{Name: "with intervals", Goal: 1.2, Requests: 300_000, Set: rate(20), Interval: true},
	}
}

// rate returns changes after which that many requests arrive in a second.
func rate(requests float64, set ...string) []string {
	return append(set, fmt.Sprintf("workload.rate=%g/s", requests))
}

// tiers returns changes after which that many sessions of 30 turns begin in a second, whose KV
// caches wait on the accelerators, in host memory, on disk and in a pool.
func tiers(sessions float64) []string {
	return rate(sessions, "workload.sessions={turns: 30, think: 10s}", "replicas=4",
		"routing=session-affinity",
		"memory={policy: offload, cpu: 64GiB, disk: 256GiB, pool: 1TiB}")
}

// Choose returns the base and the cases with the given names, or all cases if there are no names.
func Choose(names []string) ([]Case, error) {
	all := Cases()
	if len(names) == 0 {
		return all, nil
	}
	var known []string
	for _, c := range all {
		known = append(known, c.Name)
	}
	wanted := []string{base}
	for _, name := range names {
		if !slices.Contains(known, name) {
			return nil, errors.New(nearest.Unknown("case", name, known))
		}
		wanted = append(wanted, name)
	}
	return slices.DeleteFunc(all, func(c Case) bool {
		return !slices.Contains(wanted, c.Name)
	}), nil
}

// changes returns the case's changes of the scenario for a number of requests.
func (c *Case) changes(requests int) []string {
	return append([]string{fmt.Sprintf("workload.requests=%d", requests)}, c.Set...)
}

// Build returns the simulation of the case with a number of requests.
func (c *Case) Build(requests int) (*scenarios.Simulation, error) {
	file, err := scenarios.Parse("bench.yaml", []byte(scenario), c.changes(requests)...)
	if err != nil {
		return nil, err
	}
	return file.Build(policies.Default())
}

// arguments returns the command line that runs the case with the scenario of a file. What Out
// writes goes into a folder.
func (c *Case) arguments(requests int, file, folder string) []string {
	args := []string{"scenario", file, "--format", "json"}
	for _, change := range c.changes(requests) {
		args = append(args, "--set", change)
	}
	if !c.Interval {
		args = append(args, "--no-interval")
	}
	if c.Out {
		args = append(args, "--out", folder)
	}
	return args
}
