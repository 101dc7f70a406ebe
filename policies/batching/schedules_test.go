package batching_test

import (
	"context"
	"flag"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/policies"
	"github.com/llmsim/llmsim/policies/routing"
	"github.com/llmsim/llmsim/sim"
)

var update = flag.Bool("update", false, "write testdata/schedules.txt anew")

// Schedules are what policies decide, as a table to read: when each of a dozen requests starts,
// sends its first token and ends, in steps of equal length, and how often it is preempted. A line
// of digests stands for the same figures of many more requests that are drawn. A change of a
// policy changes its part, and no other.
func TestSchedules(t *testing.T) {
	var b strings.Builder
	for _, v := range variants() {
		fmt.Fprintf(&b, "%s over %s\n", v.name(), v.memory)
		for _, q := range v.serve(t, fewRequests(), 0) {
			fmt.Fprintf(&b, "  %s\n", q)
		}
		digest := fnv.New64a()
		for seed := range uint64(12) {
			requests := manyRequests(seed)
			leapt := v.serve(t, requests, 0)
			if stepped := v.serve(t, requests, 1); !slices.Equal(stepped, leapt) {
				t.Errorf("%s: leaps give %v, and steps %v", v.name(), leapt, stepped)
			}
			fmt.Fprintln(digest, leapt)
		}
		fmt.Fprintf(&b, "  drawn: %016x\n", digest.Sum64())
	}
	golden := filepath.Join("testdata", "schedules.txt")
	if *update {
		testkit.OK(t, os.WriteFile(golden, []byte(b.String()), 0o644))
	}
	want := testkit.Read(t, golden)
	if diff := cmp.Diff(string(want), b.String()); diff != "" {
		t.Errorf("schedules changed (want −, got +; if they should, go test -run Schedules "+
			"-update): %s", diff)
	}
}

// variant is a policy with parameters and the memory that it schedules over.
type variant struct {
	policy, memory string
	params         map[string]string
}

func (v variant) name() string {
	name := v.policy
	for _, key := range []string{"batch-size", "prompts", "alone", "max-delay", "max-batch",
		"max-sequences", "token-budget", "chunk-limit", "chunk", "watermark", "mode", "capacity",
		"chunked-context", "order", "max-output", "wait-steps", "wait-tokens", "receive-interval",
		"prefill-interval", "new-token-ratio", "prediction-error", "levels", "quantum",
		"prefill-rate", "starvation", "key", "displace", "preemption", "input-weight",
		"output-weight"} {
		if value, ok := v.params[key]; ok {
			name += fmt.Sprintf(" %s=%s", key, value)
		}
	}
	return name
}

// variants are all policies, with small batches, so that requests wait and give way.
func variants() []variant {
	budget := map[string]string{"max-sequences": "4", "token-budget": "50"}
	with := func(more ...string) map[string]string {
		all := map[string]string{}
		for key, value := range budget {
			all[key] = value
		}
		for i := 0; i < len(more); i += 2 {
			all[more[i]] = more[i+1]
		}
		return all
	}
	static := func(more ...string) map[string]string {
		all := map[string]string{"batch-size": "3"}
		for i := 0; i < len(more); i += 2 {
			all[more[i]] = more[i+1]
		}
		return all
	}
	return []variant{
		{"static", "contiguous", static()},
		{"static", "paged", static("prompts", "packed", "alone", "true")},
		{"static", "paged", static("prompts", "shortest")},
		{"dynamic", "paged", static("max-delay", "9ms")},
		{"orca", "contiguous", map[string]string{"max-batch": "4"}},
		{"orca", "paged", map[string]string{"max-batch": "4"}},
		{"vllm-v0", "paged", with("watermark", "0.1")},
		{"vllm-v0", "paged", with("preemption", "swap")},
		{"vllm-v1", "paged", with()},
		{"vllm-v1", "prefix-cache", with("chunk-limit", "20")},
		{"vllm-v1", "paged", with("prefill-interval", "5")},
		{"sarathi", "paged", with()},
		{"sarathi", "paged", with("mode", "hybrid-only")},
		{"sarathi", "paged", with("mode", "chunked-only")},
		{"trtllm", "paged", with("token-budget", "100")},
		{"trtllm", "paged", with("token-budget", "100", "max-output", "80")},
		{"trtllm", "paged", with("token-budget", "100", "capacity", "max-utilization")},
		{"trtllm", "paged", with("chunked-context", "true")},
		{"trtllm", "paged", with("token-budget", "100", "wait-steps", "5", "wait-tokens", "0.7")},
		{"sglang", "radix", map[string]string{"max-sequences": "4", "chunk": "30"}},
		{"sglang", "radix", map[string]string{"max-sequences": "4", "chunk": "30",
			"order": "longest-prefix"}},
		{"sglang", "radix", map[string]string{"max-sequences": "4", "chunk": "30",
			"receive-interval": "4", "max-output": "60", "new-token-ratio": "0.5",
			"order": "longest-prefix"}},
		{"sglang", "radix", map[string]string{"max-sequences": "5", "chunk": "40",
			"receive-interval": "2", "new-token-ratio": "0.1", "order": "longest-prefix"}},
		{"lightllm", "paged", with("token-budget", "100")},
		{"lightllm", "paged", with("token-budget", "100", "wait-steps", "3", "max-output", "80")},
		{"sjf", "paged", with()},
		{"sjf", "paged", with("prediction-error", "0.5")},
		{"srtf", "paged", with()},
		{"srtf", "paged", with("preemption", "swap")},
		{"mlfq", "paged", map[string]string{"max-sequences": "4", "levels": "3",
			"quantum": "8ms", "prefill-rate": "5000"}},
		{"mlfq", "paged", map[string]string{"max-sequences": "4", "levels": "3",
			"quantum": "8ms", "prefill-rate": "5000", "starvation": "20ms",
			"preemption": "swap"}},
		{"mlfq", "paged", map[string]string{"max-sequences": "3", "levels": "4",
			"quantum": "4ms", "prefill-rate": "5000", "starvation": "9ms"}},
		{"priority", "paged", with()},
		{"priority", "paged", with("key", "prompt + 4 * output", "displace", "true")},
		{"edf", "paged", with()},
		{"edf", "paged", with("displace", "true", "preemption", "swap")},
		{"vtc", "paged", with()},
		{"vtc", "prefix-cache", with("input-weight", "2", "output-weight", "1")},
	}
}

// served is what becomes of a request.
type served struct{ id, start, first, last, preempted int64 }

func (s served) String() string {
	text := fmt.Sprintf("%2d: %3d %3d %3d", s.id, s.start, s.first, s.last)
	if s.preempted > 0 {
		text += fmt.Sprintf(", preempted %d times", s.preempted)
	}
	return text
}

// book notes what becomes of requests, by their number; -1 stands for a refused one.
type book struct {
	sim.NopObserver
	served []served
}

func (b *book) Finished(s *sim.Sequence) {
	b.served[s.ID] = served{s.ID, int64(s.Scheduled / sim.Millisecond),
		int64(s.FirstToken / sim.Millisecond), int64(s.LastToken / sim.Millisecond),
		int64(s.Preemptions)}
}

func (b *book) Rejected(q *sim.Request, _ sim.Rejection) {
	b.served[q.ID] = served{q.ID, -1, -1, -1, 0}
}

// serve serves requests with steps of a millisecond and memory for 256 tokens, or three times the
// longest sequence.
func (v variant) serve(t *testing.T, requests sim.List, maxLeap int64) []served {
	t.Helper()
	r := policies.Default()
	place := policies.Deployment{Seed: 1, KVTokens: 256, MaxContext: 200, HostTokens: 150,
		TokenBytes: 1, HostRate: 1e6}
	scheduler, err := r.Batching.Lookup(v.policy)
	testkit.OK(t, err)
	params := map[string]string{}
	if v.memory == "contiguous" {
		place.KVTokens = 600 // three of the longest sequences, which it reserves
	} else {
		params["block-size"] = "4"
	}
	cache, err := r.Memory.Lookup(v.memory)
	testkit.OK(t, err)
	s, err := scheduler.Build(place, v.params)
	testkit.OK(t, err)
	m, err := cache.Build(place, params)
	testkit.OK(t, err)
	b := book{served: make([]served, len(requests))}
	if _, err := sim.Run(context.Background(), sim.Config{
		Source: &requests, Router: &routing.RoundRobin{}, Observer: &b, MaxLeap: maxLeap,
		Replicas: []sim.ReplicaConfig{{Scheduler: s, Memory: m,
			Clock: server{step: sim.Millisecond}}},
	}); err != nil {
		t.Fatalf("%s: %v", v.name(), err)
	}
	return b.served
}

// fewRequests come in two waves, and some in between, of lengths that make memory short.
func fewRequests() sim.List {
	lengths := []struct{ at, prompt, output, tenant, priority, deadline int }{
		{0, 40, 30, 0, 0, 0}, {0, 90, 10, 1, 0, 200}, {0, 12, 60, 0, 1, 0}, {1, 60, 40, 2, 0, 90},
		{2, 30, 5, 1, 2, 30}, {10, 8, 8, 1, 0, 0}, {30, 100, 50, 0, -1, 0}, {40, 40, 20, 2, 1, 70},
		{40, 40, 20, 1, 0, 100}, {41, 41, 25, 0, 0, 0}, {42, 5, 70, 2, 2, 0}, {90, 20, 20, 1, 0, 0},
	}
	var all sim.List
	for i, q := range lengths {
		r := sim.Request{Arrival: sim.Time(q.at) * sim.Millisecond, Prompt: q.prompt,
			Output: q.output, Tenant: q.tenant, Priority: q.priority,
			Deadline: sim.Time(q.deadline) * sim.Millisecond, Adapter: i % 3}
		if i%2 == 0 { // it shares a beginning with others
			r.Content = []sim.Segment{{ID: uint64(1 + i%4), Tokens: min(24, q.prompt)}}
		}
		all = append(all, r)
	}
	return all
}

// manyRequests are drawn.
func manyRequests(seed uint64) sim.List {
	rng := rand.New(rand.NewPCG(seed, 7))
	all, at := make(sim.List, 60), sim.Time(0)
	for i := range all {
		at += sim.Time(rng.IntN(12)) * sim.Millisecond
		q := sim.Request{Arrival: at, Prompt: 1 + rng.IntN(100), Output: 1 + rng.IntN(60),
			Tenant: rng.IntN(3), Priority: rng.IntN(3) - 1, Session: int64(rng.IntN(4))}
		if rng.IntN(2) == 0 {
			q.Deadline = at + sim.Time(1+rng.IntN(150))*sim.Millisecond
		}
		if rng.IntN(2) == 0 {
			q.Content = []sim.Segment{{ID: uint64(1 + rng.IntN(3)), Tokens: 1 + rng.IntN(q.Prompt)}}
		}
		all[i] = q
	}
	return all
}
