package scenarios

import (
	"fmt"
	"slices"

	"github.com/llmsim/llmsim/metrics"
	"github.com/llmsim/llmsim/scenarios/evidence"
	"github.com/llmsim/llmsim/scenarios/strict"
	"github.com/llmsim/llmsim/sim"
)

// Result is the outcome of a scenario. Its JSON is what `--format json` prints: beside the metrics it has what they rest on.
type Result struct {
	Name string `json:"name,omitempty"`
	// Setup says in words what serves, Load who asks.
	Setup string `json:"setup"`
	Load  string `json:"load"`
	// Version is that of the program, Scenario has every default filled in. Together with the files that the scenario names they
	// determine everything else.
	Version  string `json:"version"`
	Seed     uint64 `json:"seed"`
	Scenario any    `json:"scenario"`

	metrics.Summary
	// Promise is the SLO of requests of no class or of a class without its own.
	Promise SLO `json:"slo"`
	// ClassPromises are the SLOs of the classes.
	ClassPromises map[string]SLO `json:"class_slo,omitempty"`

	// Accelerators is the number in use over all replicas, those that draft models have of their own included.
	Accelerators int `json:"accelerators"`
	// MFU and MBU are the shares of the accelerators' peak arithmetic and peak memory bandwidth that the steps used, of the time
	// in which steps ran. They count the work that the model's arithmetic needs, each byte moved once.
	MFU float64 `json:"mfu"`
	MBU float64 `json:"mbu"`
	// Cost is that of the accelerators for the duration, in US dollars; CostPerMillion is for a million output tokens. 0 where
	// the price is not known.
	Cost           float64 `json:"cost"`
	CostPerMillion float64 `json:"cost_per_million_output_tokens"`
	// Energy is that of the accelerators in Wh, at their peak power while steps run and idle otherwise: an upper bound.
	// EnergyPerMillion is for a million output tokens.
	Energy           float64 `json:"energy"`
	EnergyPerMillion float64 `json:"energy_per_million_output_tokens"`
	// AcceleratorHours is the time for which accelerators are paid, summed over them.
	AcceleratorHours float64 `json:"accelerator_hours"`

	// What became of drafts; absent without speculative decoding.
	*SpeculationResult

	// Fleet tells what went on between replicas; absent where each served alone, always.
	Fleet *FleetResult `json:"fleet,omitempty"`

	// Pools has an entry for each, where there are several.
	Pools []PoolResult `json:"pools,omitempty"`

	// Prefill and Decode tell what bounds a typical step of each phase, of the first pool that has it; absent where there was none.
	Prefill *Phenomenon `json:"prefill,omitempty"`
	Decode  *Phenomenon `json:"decode,omitempty"`
	// Evidence says what the predictions rest on: that of the server of the lowest grade, where there
	// are several kinds.
	Evidence evidence.Evidence `json:"evidence"`
	// Intervals say how sure the figures are; absent where nobody asked.
	Intervals *Intervals `json:"intervals,omitempty"`
	// Insights says in sentences what the numbers mean, Warnings what to keep in mind when reading them.
	Insights []string `json:"insights"`
	Warnings []string `json:"warnings"`

	// Series is the state of the fleet over time, TTFTs and TPOTs are how these latencies are distributed.
	Series       []metrics.Point   `json:"-"`
	TTFTs, TPOTs metrics.Histogram `json:"-"`
}

// ByClass reports whether classes have different SLOs.
func (r *Result) ByClass() bool {
	for _, promise := range r.ClassPromises {
		if promise != r.Promise.WithoutGaps() {
			return true
		}
	}
	return false
}

func (s *Simulation) result(outcome *sim.Result, collector *metrics.Collector, work *fleetWork) (*Result, error) {
	echo, err := strict.Plain(s.Scenario)
	if err != nil {
		return nil, err
	}
	summary := collector.Summary(outcome)
	r := &Result{
		Name: s.Scenario.Name, Setup: s.setup(), Load: s.Source.Summary().Text,
		Version: Version(), Seed: s.Scenario.Seed, Scenario: echo,
		Summary:  summary,
		Promise:  s.Scenario.SLO,
		Series:   collector.Series(),
		Warnings: slices.Concat(s.Warnings, s.runWarnings(collector, summary.Sent())),
	}
	r.TTFTs, r.TPOTs = collector.Histograms()
	for _, c := range s.Scenario.Workload.Classes {
		if r.ClassPromises == nil {
			r.ClassPromises = map[string]SLO{}
		}
		r.ClassPromises[c.Name] = c.SLO
	}
	s.Scenario.Fleet.sumUp(r, outcome)
	pools := s.sumUpPools(r, outcome, work)
	s.explainTime(r, pools, work)
	s.sumUpDrafts(r, outcome, work)
	s.tellEvidence(r)
	if len(pools) > 1 {
		r.Pools = pools
	}
	if r.Warnings == nil {
		r.Warnings = []string{}
	}
	return r, nil
}

// runWarnings tells what happened in the run that a reader should know.
// Ended is the number of requests.
func (s *Simulation) runWarnings(collector *metrics.Collector, ended int64) []string {
	var list []string
	for i := range s.pools {
		for _, warning := range s.pools[i].Clock.Outside() {
			if !slices.Contains(list, warning) {
				list = append(list, warning)
			}
		}
	}
	rejections := collector.Rejections()
	for why := range sim.Rejection(sim.Rejections) {
		n := rejections[why]
		switch {
		case n == 0:
		case why <= sim.TooLarge:
			list = append(list, fmt.Sprintf("%d requests were turned away: %v (%d tokens)", n, why, s.Scenario.Engine.MaxModelLen))
		default:
			list = append(list, fmt.Sprintf("%d requests got no answer: %v", n, why))
		}
	}
	if words := s.shortfall(ended); words != "" {
		list = append(list, words)
	}
	counts := s.Source.Counts()
	for _, c := range []struct {
		n    int64
		what string
	}{
		{counts.Failed, "rows of the trace are failed requests and were left out"},
		{counts.Clamped, "requests of the trace were cut to the longest context served"},
		{counts.Raised, "requests of the trace had no prompt or no output token and got one"},
	} {
		if c.n > 0 {
			list = append(list, fmt.Sprintf("%d %s", c.n, c.what))
		}
	}
	return list
}
