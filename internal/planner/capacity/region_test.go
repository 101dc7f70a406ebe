package capacity

import (
	"context"
	"strings"
	"testing"

	"github.com/llmsim/llmsim/internal/testkit"
)

// The cheaper region far away is the answer while the first token may take as long as a message
// there and back, and the near one otherwise.
func TestRegionsAreChosenByDistance(t *testing.T) {
	const text = `
model: llama-3.1-8b
workload: {rate: 2/s, prompt: 100, output: 20}
slo: {ttft: LIMIT}
menu:
  hardware:
    - {accelerator: h100-sxm, region: near, price: $3/h}
    - {accelerator: h100-sxm, region: far, price: $2/h, round-trip: 150ms}
  tensor: [1]
effort: {requests: 200, most-requests: 400}
`
	for limit, want := range map[string]string{"140ms": "near", "400ms": "far"} {
		s, _ := prepared(t, strings.Replace(text, "LIMIT", limit, 1))
		if err := s.answer(context.Background()); err != nil {
			t.Fatal(err)
		}
		if s.best < 0 || s.chosen().Prefill.Offer.Region != want {
			t.Errorf("within %s: the answer is %s, want the %s region", limit, bestOf(s, s.best),
				want)
		}
	}
}

// A region that is further away than the first token may take is left out without a simulation, and
// the answer says what the way takes.
func TestRegionsOutOfReachAreNotSimulated(t *testing.T) {
	s, trials := prepared(t, `
model: llama-3.1-8b
workload: {rate: 2/s, prompt: 100, output: 20}
slo: {ttft: 140ms}
menu: {hardware: [{accelerator: h100-sxm, price: $2/h, round-trip: 150ms}], tensor: [1]}
`)
	testkit.OK(t, s.run(t.Context()))
	if words := s.words(0); trials.Count() > 0 ||
		!strings.Contains(words, "(150 ms of that for messages there and back)") {
		t.Errorf("%d simulations; %s", trials.Count(), words)
	}
}
