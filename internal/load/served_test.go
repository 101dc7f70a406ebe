package load_test

import (
	"testing"

	"github.com/llmsim/llmsim/internal/load"
	"github.com/llmsim/llmsim/internal/serve/servetest"
	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/policies"
	"github.com/llmsim/llmsim/scenarios"
)

// chats is conversations of four turns that find what earlier turns left in the cache.
const chats = `
model: llama-3.1-8b
hardware: h100-sxm
memory: prefix-cache
engine: {max-model-len: 4096}
workload: {arrivals: {process: closed-loop, users: 1}, requests: 24, prompt: 211, output: 73,
  sessions: {turns: 4, think: 100ms}}
`

// build returns the simulation of a scenario.
func build(t *testing.T, text string) *scenarios.Simulation {
	t.Helper()
	file, err := scenarios.Parse("test.yaml", []byte(text))
	testkit.OK(t, err)
	s, err := file.Build(policies.Default())
	testkit.OK(t, err)
	return s
}

// Conversations over the network find as many tokens in the cache as they do in the simulation:
// earlier turns with their answers. Chat has a few tokens more, of its template.
func TestConversationsAreCachedAsInTheSimulation(t *testing.T) {
	simulated, err := build(t, chats).Run(t.Context())
	testkit.OK(t, err)
	want := simulated.CachedTokens
	if want == 0 {
		t.Fatal("the simulation finds nothing in its cache")
	}
	const speed = 10
	for _, chat := range []bool{false, true} {
		r, err := load.Run(t.Context(), load.Config{
			URL: servetest.At(t, build(t, chats), speed), Chat: chat,
			Source: build(t, chats).Source, Speed: speed})
		testkit.OK(t, err)
		if r.Completed != 24 || !chat && r.CachedTokens != want ||
			chat && float64(r.CachedTokens)/float64(r.TotalInputTokens) <
				0.99*float64(want)/float64(simulated.TotalInputTokens) {
			t.Errorf("chat %v: %d of %d prompt tokens of %d requests were cached; simulated %d "+
				"of %d", chat, r.CachedTokens, r.TotalInputTokens, r.Completed, want,
				simulated.TotalInputTokens)
		}
	}
}
