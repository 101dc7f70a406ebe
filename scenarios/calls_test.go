package scenarios

import (
	"strings"
	"testing"

	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/policies"
)

const diamond = `model: llama-3.1-8b
hardware: h100-sxm
replicas: 1
memory: {policy: prefix-cache}
workload:
  rate: 0.1/s
  requests: 400
  prefix: {groups: 1, tokens: 64}
  calls:
  - {name: join, after: [left, right], from: plan, prompt: 80, output: 30}
  - {name: plan, prompt: 200, output: 40}
  - {name: left, after: [plan], prompt: 100, output: 20, wait: 2s}
  - {name: right, after: [plan], from: plan, prompt: 10, output: 20}
`

// Calls are sent in the order of what they wait for, wherever they stand in the list, with what
// they continue; a scenario with its defaults filled in gives the same result.
func TestCallsFollowTheirGraph(t *testing.T) {
	s := presetScenario(t, diamond)
	explained, err := s.Explain()
	testkit.OK(t, err)
	r, again := run(t, s), run(t, presetScenario(t, string(explained)))
	if r.Sessions == nil || r.Sessions.Completed != 100 || r.Sessions.Incomplete != 0 ||
		r.Sessions.Calls != 4 {
		t.Fatalf("%+v", r.Sessions)
	}
	const input = (64 + 200) + (64 + 100) + (264 + 40 + 10) + (264 + 40 + 80)
	if r.Sessions.Input != input || r.Sessions.Output != 110 {
		t.Errorf("a session has %v and %v tokens, want %d and 110", r.Sessions.Input,
			r.Sessions.Output, input)
	}
	if r.Sessions.Mean < 2 || r.Sessions.WaitShare*r.Sessions.Mean > 2 {
		t.Errorf("%+v", r.Sessions)
	}
	if again.MeanE2EL != r.MeanE2EL || again.Sessions.P99 != r.Sessions.P99 {
		t.Errorf("read again: %+v and %+v", again.Sessions, r.Sessions)
	}
}

// Circles, joins that never come, and what may not have ended are refused at their place.
func TestCallsRefuse(t *testing.T) {
	for change, want := range map[string]string{
		"name: plan, prompt|name: plan, after: [join], prompt": "workload.calls.",
		"name: plan, prompt|name: plan, after: [plan], prompt": "found a circle: plan waits for " +
			"plan",
		"after: [left, right]|after: [left, rihgt]": `waits for a call that never comes: unknown ` +
			`call "rihgt"; did you mean right?`,
		"name: right, after: [plan], from: plan|name: right, after: [plan], from: left": "" +
			"workload.calls.3.from: found left, which may not have ended",
		"prompt: 10, output: 20}|prompt: 10, output: 20}\n" +
			"  - {name: left, after: [plan], prompt: 5, output: 5}": `found a second call "left"`,
		"  rate: 0.1/s|  prompt: 7": "leave preset, prompt",
	} {
		from, to, _ := strings.Cut(change, "|")
		file, err := Parse("t.yaml", []byte(strings.Replace(diamond, from, to, 1)))
		if err == nil {
			_, err = file.Build(policies.Default())
		}
		if !IsInputError(err) || !strings.Contains(err.Error(), want) ||
			strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v, want one line with %q", change, err, want)
		}
	}
}
