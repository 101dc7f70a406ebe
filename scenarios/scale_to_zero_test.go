package scenarios

import (
	"testing"

	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/policies"
)

const emptied = `
model: llama-3.1-8b
hardware: l40s
workload: {rate: 0.002/s, arrivals: constant, prompt: 100, output: 20, requests: 3}
fleet: {pools: [{replicas: 1, scaling: {every: 1ms, min: 0, keep: 1s, ` +
	`cold-start: {boot: 30s, network: ethernet-100g}}}]}
`

// Where all replicas stop, each request that finds none waits for one to boot and for its weights
// to come over the network, at 12.5 GB/s, and at most for one decision; whatever the policy.
func TestRequestsWaitForTheFirstReplica(t *testing.T) {
	f, err := Parse("s.yaml", []byte(emptied))
	testkit.OK(t, err)
	m, err := f.Memory(policies.Default())
	testkit.OK(t, err)
	start := 30e3 + m.Plan.Weights/12.5e9*1e3
	for _, policy := range []string{"{policy: outstanding, target: 8", "{policy: queue",
		"{policy: utilization", "{policy: forecast"} {
		with := func(least string) *Result {
			return runText(t, emptied, "fleet.pools.0.scaling="+policy+", every: 1ms, min: "+least+
				", keep: 1s, cold-start: {boot: 30s, network: ethernet-100g}}")
		}
		none, one := with("0"), with("1")
		waited := none.MeanTTFT - one.MeanTTFT
		if none.Completed != 3 || waited < start || waited > start+1.001 {
			t.Errorf("%s: %d requests wait %g ms longer, want %g", policy, none.Completed, waited,
				start)
		}
		// Three starts, of which each is paid for; else nothing but the answers.
		if got := none.Fleet.MeanReplicas * none.Duration; got < 3*start/1e3 ||
			got > 3*(start/1e3+4) {
			t.Errorf("%s: replicas run for %g s, want little more than %g", policy, got,
				3*start/1e3)
		}
	}
}
