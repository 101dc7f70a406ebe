package capacity

import (
	"context"
	"strings"
	"testing"

	"github.com/llmsim/llmsim/internal/testkit"
)

// Shorter simulations of whole fleets come to the answer of longer ones, although latencies grow
// by chance in some of them while the SLO is kept.
func TestShortRunsOfWholeFleets(t *testing.T) {
	const text = `
model: llama-3.1-8b
workload: {rate: 30/s, prompt: 100, output: 60, prefix: {groups: 6, tokens: 3000}}
slo: {ttft: 500ms, tpot: 30ms}
menu:
  hardware: [a100-80gb-sxm, h100-sxm]
  tensor: [1]
  memory: [{policy: prefix-cache}]
  routing: [round-robin, prefix-aware]
effort: {requests: 300, most-requests: 4000}
`
	var answers []string
	for _, requests := range []string{"300", "2400"} {
		s, _ := prepared(t, strings.Replace(text, "requests: 300", "requests: "+requests, 1))
		testkit.OK(t, s.answer(context.Background()))
		answers = append(answers, bestOf(s, s.best))
	}
	if answers[0] != answers[1] || answers[0] == "nothing" {
		t.Errorf("with 300 requests %s, with 2400 %s", answers[0], answers[1])
	}
}
