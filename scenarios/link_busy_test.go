package scenarios

import (
	"context"
	"testing"

	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/policies"
)

// A link is not taken for longer than the run lasts, although the KV caches of users who have left
// are still on their way.
func TestLinksAreNotTakenBeyondTheRun(t *testing.T) {
	file, err := Parse("links.yaml", []byte(`
model: llama-2-7b
hardware: l4
steps: {prefill: {step: 13ms}, decode: {step: 7ms}}
workload: {requests: 60, prompt: {distribution: uniform, min: 1, max: 900}, output: 2,
  arrivals: at-once, patience: 200ms}
fleet: {pools: [{role: prefill, replicas: 1}, {role: decode, replicas: 1}], transfer: {whole: true}}
`))
	testkit.OK(t, err)
	s, err := file.Build(policies.Default())
	testkit.OK(t, err)
	r, err := s.Run(context.Background())
	testkit.OK(t, err)
	if r.Cancelled == 0 || r.Fleet.LinkBusy < 0.5 || r.Fleet.LinkBusy > 1 {
		t.Errorf("%d cancelled, the link is taken for %v of the run", r.Cancelled,
			r.Fleet.LinkBusy)
	}
}
