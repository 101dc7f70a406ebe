package scenarios

import (
	"github.com/llmsim/llmsim/metrics"
	"github.com/llmsim/llmsim/policies/speculation"
	"github.com/llmsim/llmsim/sim"
	"github.com/llmsim/llmsim/workload"
)

// finished is a simulation after its run, from which the result is made.
type finished struct {
	scenario    Scenario
	warnings    []string
	pools       []pool
	speculators []*speculation.Speculator // by replica; nil for replicas that did not draft
	source      workload.Source

	outcome   *sim.Result
	collector *metrics.Collector
	summary   metrics.Summary
	work      *fleetWork
	crowd     *togetherness
	// adapterLoads counts the adapters that came from host memory.
	adapterLoads int64
	// baseline is the summary of the run without speculative decoding; nil if there is no
	// comparison.
	baseline *metrics.Summary
}
