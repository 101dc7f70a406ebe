package trace

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/sim"
)

// turns returns the later requests of the first session of a trace, and its first request.
func turns(t *testing.T, path string) (first sim.Request, later []Turn) {
	t.Helper()
	r, err := Open(path, Options{})
	testkit.OK(t, err)
	defer r.Close()
	if err := r.Read(&first); err != nil || !r.Sessions() {
		t.Fatalf("%v, sessions %t", err, r.Sessions())
	}
	return first, r.Turns()
}

// Agents work at once after the call that starts them, and the next call waits for all of them.
func TestWekaSessions(t *testing.T) {
	const second = sim.Second
	_, got := turns(t, filepath.Join("testdata", "weka.jsonl"))
	l := func(hash uint64, tokens int) sim.Segment { return local(1, hash, tokens) }
	want := []Turn{
		{Message: 64, Output: 5, Wait: 1500 * sim.Millisecond, After: []int{0},
			Prompt: []sim.Segment{l(3, 64)}},
		{Message: 130, Output: 7, Wait: second, After: []int{1},
			Prompt: []sim.Segment{l(3, 64), l(4, 64), l(5, 2)}},
		{Message: 70, Output: 6, Wait: 2 * second, After: []int{0},
			Prompt: []sim.Segment{l(8, 64), l(9, 6)}},
		{Message: 200, Output: 20, Wait: 500 * sim.Millisecond, After: []int{2, 3},
			Prompt: []sim.Segment{l(1, 64), l(2, 64), l(6, 64), l(7, 8)}},
		{Message: 264, Output: 8, Wait: 500 * sim.Millisecond, After: []int{4},
			Prompt: []sim.Segment{l(1, 64), l(2, 64), l(6, 64), l(7, 64), l(10, 8)}},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("later calls (-want +got):\n%s", d)
	}
}

// A span follows the spans that had ended before it and that no other of them followed, and a
// prompt names an answer as the call that gave it does.
func TestOTelSessions(t *testing.T) {
	first, got := turns(t, filepath.Join("testdata", "otel.json"))
	want := []Turn{
		{Message: 50, Output: 5, Wait: sim.Second, After: []int{0}},
		{Message: 5, Output: 5, Wait: 1500 * sim.Millisecond, After: []int{0}},
		{Message: 8, Output: 3, Wait: 250 * sim.Millisecond, After: []int{1, 2}},
	}
	if d := cmp.Diff(want, got, cmpopts.IgnoreFields(Turn{}, "Prompt", "Answer")); d != "" {
		t.Errorf("later calls (-want +got):\n%s", d)
	}
	if p := got[0].Prompt; len(p) != 3 || p[0].ID != first.Content[0].ID ||
		p[1].ID != first.Answer || p[0].Tokens+p[1].Tokens+p[2].Tokens != 50 {
		t.Errorf("the second prompt is %v after %+v", p, first)
	}
}

func TestSessionsOfAgentsRefuse(t *testing.T) {
	otel := testkit.Read(t, filepath.Join("testdata", "otel.json"))
	weka := `{"id":"a","block_size":64,"requests":[{"type":"n","t":0,"in":64,"out":1,` +
		`"hash_ids":[1]}]}`
	for change, want := range map[string]string{
		`"t":0>"t":-1`:                         "seconds from 0",
		`"block_size":64>"block_size":0`:       "block_size: found none or 0",
		`[1]>[1,2]`:                            "at most one for each 64 of the 64",
		`"in":64>"in":99999999999`:             "tokens in",
		`"out":1>"out":1,"out":2`:              "twice",
		`2026-02-25T10:00:03.000000>yesterday`: "found \"yesterday\"",
		`: 50>: -1`:                            "gen_ai.usage",
		`"[]">"{}"`:                            "no list of messages",
		`10:00:05.000000>10:00:02.999999`: "span 1: end_time: found " +
			`"2026-02-25T10:00:02.999999", allowed: from start_time`,
		`"span_id": "3">"span_id": "2"`: `span_id: found "2" twice`,
	} {
		from, to, _ := strings.Cut(change, ">")
		text := weka
		if !strings.Contains(weka, from) {
			text = string(otel)
		}
		path := save(t, []byte(strings.Replace(text, from, to, 1)))
		if _, _, err := read(path, Options{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", change, err, want)
		}
	}
}

// All examples of inference-perf can be read, with every call.
func TestReadsInferencePerfsSpans(t *testing.T) {
	for name, calls := range map[string]int{
		"code_review_workflow": 15, "customer_support_escalation": 9, "fan_in_dependencies": 4,
		"multi_agent_research": 12, "parallel_requests": 5, "prefix_sharing_example": 7,
		"simple_chain": 3, "simple_chain_alt": 3, "software_architecture_review": 15,
	} {
		path := testkit.Shared(t, "traces", "agents", "otel", name+".json")
		if _, later := turns(t, path); len(later)+1 != calls {
			t.Errorf("%s: %d calls, want %d", name, len(later)+1, calls)
		}
	}
}
