package scenarios_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/metrics"
	"github.com/llmsim/llmsim/policies"
	"github.com/llmsim/llmsim/scenarios"
)

const cascade = `
fleet:
  pools:
    - {name: small, model: llama-3.1-8b, hardware: l40s, parallelism: {tensor: 1}, replicas: 1}
    - {name: large, model: llama-3.1-70b, hardware: h100-sxm, parallelism: {tensor: 4}, replicas: 1}
workload:
  rate: 5/s
  requests: 400
  classes:
    - name: first
      model: llama-3.1-8b
      prompt: {distribution: lognormal, mean: 400, cv: 1, max: 4000}
      output: {distribution: lognormal, mean: 60, cv: 0.7, max: 400}
    - {name: hard, model: llama-3.1-70b, escalated: {from: first, share: SHARE}}
`

// Whatever share of requests is sent on, the first model serves the same requests in the same time.
// Each of them is sent on or not, with the same lengths: all of them with a share of 1, none with
// 0, and more with a larger share. So tokens are conserved, and their price with them.
func TestCascades(t *testing.T) {
	var first *metrics.ClassSummary
	sent := int64(0)
	for _, share := range []float64{0, 0.3, 0.7, 1} {
		r := parsed(t, strings.Replace(cascade, "SHARE", fmt.Sprint(share), 1))
		small, large := r.Classes["first"], r.Classes["hard"]
		small.Goodput = 0 // counts the time of the whole run, as means over time do
		small.MeanRunning *= r.Duration
		small.MeanWaiting *= r.Duration
		if first == nil {
			first = &small
		}
		if diff := cmp.Diff(*first, small,
			cmpopts.EquateApprox(1e-12, 0)); diff != "" {
			t.Errorf("share %g: the first model: %s", share, diff)
		}
		n := large.Completed
		if n < sent || n > small.Completed || share == 0 && n > 0 || share == 1 && n != 400 {
			t.Errorf("share %g: %d of %d requests are sent on, %d with a smaller share", share, n,
				small.Completed, sent)
		}
		if sent = n; share == 1 && r.TotalOutputTokens != 2*small.TotalOutputTokens {
			t.Errorf("%d output tokens, %d of the first model", r.TotalOutputTokens,
				small.TotalOutputTokens)
		}
	}
}

func parsed(t *testing.T, text string) *scenarios.Result {
	t.Helper()
	f, err := scenarios.Parse("cascade.yaml", []byte(text))
	testkit.OK(t, err)
	r, err := f.Run(context.Background(), policies.Default())
	testkit.OK(t, err)
	return r
}

// What cannot be sent on is refused, with the reason.
func TestCascadesRefused(t *testing.T) {
	for change, want := range map[string]string{
		"from: second, share: 1}":           "no class before this one",
		"from: first, share: 1}, rate: 1/s": "has no meaning for a class with escalated",
	} {
		text := strings.Replace(cascade, "from: first, share: SHARE}", change, 1)
		f, err := scenarios.Parse("cascade.yaml", []byte(text))
		if err == nil {
			_, err = f.Build(policies.Default())
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %q", change, err, want)
		}
	}
}
