package timeline_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/llmsim/llmsim/internal/report/timeline"
	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/policies"
	"github.com/llmsim/llmsim/scenarios"
	"github.com/llmsim/llmsim/sim"
)

// run simulates a scenario with leaps or step by step, and returns the lives of its requests and
// what was told of each at its end.
func run(set []string, step bool) (lives []*timeline.Life, ended map[int64]sim.Sequence,
	err error) {
	file, err := scenarios.Parse("lives.yaml", []byte("model: gpt2\nhardware: l4\n"), set...)
	if err != nil {
		return nil, nil, err
	}
	s, err := file.Build(policies.Default())
	if err != nil {
		return nil, nil, err
	}
	if step {
		s.StepByStep(nil)
	}
	r := timeline.NewRecorder(func(l *timeline.Life) { lives = append(lives, l) })
	ended = map[int64]sim.Sequence{}
	_, err = s.Run(context.Background(), r, endings(ended))
	r.Close()
	return lives, ended, err
}

// endings notes what each request was when it finished.
type endings map[int64]sim.Sequence

func (e endings) Steps(*sim.Leap)                        {}
func (e endings) Finished(s *sim.Sequence)               { e[s.ID] = *s }
func (e endings) Rejected(*sim.Request, sim.Rejection)   {}
func (e endings) Sampled(_ sim.Time, _ int, _ sim.State) {}

// draw makes up settings in which requests wait, are preempted, move, fail and are held.
func draw(t *rapid.T) []string {
	pick := func(key string, values ...string) string {
		return key + "=" + rapid.SampledFrom(values).Draw(t, key)
	}
	set := []string{
		pick("batching", "vllm-v1", "vllm-v0", "orca", "static", "sarathi", "mlfq",
			"{policy: vllm-v1, token-budget: 64, max-sequences: 8}",
			"{policy: sarathi, token-budget: 32, max-sequences: 5}"),
		pick("memory", "paged", "contiguous", "{policy: paged, utilization: 0.072}",
			"{policy: prefix-cache, utilization: 0.072}"),
		pick("parallelism", "1", "{pipeline: 2}"),
		pick("workload.rate", "1/s", "40/s", "300/s"),
		pick("workload.prompt", "1", "300", "{distribution: lognormal, mean: 200, cv: 1}"),
		pick("workload.output", "1", "60", "{distribution: exponential, mean: 80}"),
		pick("fleet.pools", "[{name: one, replicas: 2}]",
			"[{role: prefill, replicas: 1}, {role: decode, replicas: 1}]"),
		pick("fleet.outages", "[]", "[{replica: 0, at: 500ms, for: 1s}]",
			"[{replica: 1, at: 1s, for: 500ms}]"),
		"fleet.retries=3", "workload.requests=40",
		"seed=" + fmt.Sprint(rapid.IntRange(1, 1000).Draw(t, "seed")),
	}
	if rapid.Bool().Draw(t, "impatient") {
		set = append(set, "workload.patience=2s")
	}
	if rapid.Bool().Draw(t, "drafts") {
		set = append(set, "speculation={method: n-gram, tokens: 3}")
	}
	return set
}

// The parts of a life follow each other from arrival to the last token, and add up to the latency
// that the user sees: to the tick, whatever happens to the request, and whether replicas step or
// leap.
func TestPartsAddUp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		set := draw(t)
		lives, ended, err := run(set, false)
		if scenarios.IsInputError(err) {
			t.Skip(err)
		}
		testkit.OK(t, err)
		if len(lives) != len(ended) {
			t.Fatalf("%d lives of %d requests", len(lives), len(ended))
		}
		for _, l := range lives {
			s := ended[l.ID]
			if l.E2E() != s.E2E() || l.TTFT() != s.TTFT() || l.Preemptions != s.Preemptions {
				t.Fatalf("request %d: %+v differs from what was told at its end", l.ID, l)
			}
			check(t, l)
		}
		stepped, _, err := run(set, true)
		testkit.OK(t, err)
		if d := cmp.Diff(stepped, lives); d != "" {
			t.Fatalf("stepping (-), leaps (+):\n%s", d)
		}
	})
}

// check holds one life to what is true of all.
func check(t *rapid.T, l *timeline.Life) {
	at, total := l.Arrival, sim.Time(0)
	given, prefill, preempted := 0, 0, false
	for _, p := range l.Parts {
		if p.From != at || p.To <= p.From {
			t.Fatalf("request %d: %v from %v to %v comes after %v", l.ID, p.Kind, p.From, p.To, at)
		}
		at = p.To
		total += p.Span()
		switch p.Kind {
		case timeline.Prefill:
			prefill += p.Tokens
		case timeline.Decode:
			given += p.Tokens
		case timeline.Preempted:
			preempted = true
		}
	}
	var totals sim.Time
	for _, sum := range l.Totals() {
		totals += sum.Span
	}
	if at != l.End || total != l.E2E() || totals != l.E2E() {
		t.Fatalf("request %d: its parts end at %v and add up to %v (by kind %v), not %v and %v",
			l.ID, at, total, totals, l.End, l.E2E())
	}
	if l.Preemptions == 0 && l.Retries == 0 {
		if preempted || given != l.Output-1 || prefill > l.Prompt {
			t.Fatalf("request %d: decode steps give %d of %d tokens, and %d of %d prompt tokens "+
				"are computed, without a preemption: %+v", l.ID, given, l.Output, prefill, l.Prompt,
				l.Parts)
		}
	}
}

// Each kind of part is seen where it is to be expected, and nowhere else.
func TestKinds(t *testing.T) {
	load := []string{"workload.requests=40", "workload.rate=300/s", "workload.prompt=300",
		"workload.output=60"}
	always := []timeline.Kind{timeline.Queued, timeline.Prefill, timeline.Decode, timeline.FrontEnd}
	for _, c := range []struct {
		name string
		set  []string
		want []timeline.Kind
	}{
		{"alone", []string{"workload.rate=0.1/s", "workload.arrivals=constant"},
			[]timeline.Kind{timeline.Prefill, timeline.Decode, timeline.FrontEnd}},
		{"together", nil, always},
		{"static", []string{"batching=static", "memory=contiguous",
			"workload.output={distribution: uniform, min: 2, max: 60}"},
			append(always, timeline.Held)},
		{"prefill first", []string{"batching=vllm-v0"}, append(always, timeline.Waiting)},
		{"pools", []string{"fleet.pools=[{role: prefill, replicas: 1}, " +
			"{role: decode, replicas: 1}]"}, append(always, timeline.Transfer, timeline.Placing)},
		{"short of memory", []string{"memory.utilization=0.071"}, append(always,
			timeline.Preempted, timeline.Recompute)},
		{"failing", []string{"replicas=2", "fleet.retries=3",
			"fleet.outages=[{replica: 0, at: 100ms, for: 1s}]"}, append(always, timeline.Failed,
			timeline.Recompute)},
	} {
		lives, _, err := run(append(slices.Clone(load), c.set...), false)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		seen := map[timeline.Kind]bool{}
		for _, l := range lives {
			for _, p := range l.Parts {
				seen[p.Kind] = true
			}
		}
		want := map[timeline.Kind]bool{}
		for _, k := range c.want {
			want[k] = true
		}
		if d := cmp.Diff(want, seen); d != "" {
			t.Errorf("%s: kinds of parts, want (-), got (+):\n%s", c.name, d)
		}
	}
}

// A replica that fails in the middle of a leap reports the
// steps that ended, without the one that is lost.
func TestALeapThatAFailureCutsHasOnlyItsTokens(t *testing.T) {
	set := []string{"memory=paged", "parallelism={pipeline: 2}", "workload.rate=40/s",
		"workload.prompt={distribution: lognormal, mean: 200, cv: 1}", "workload.output=60",
		"workload.requests=40", "fleet.pools=[{name: one, replicas: 2}]", "fleet.retries=3",
		"fleet.outages=[{replica: 0, at: 500ms, for: 1s}]", "seed=19"}
	leapt, _, err := run(set, false)
	testkit.OK(t, err)
	stepped, _, err := run(set, true)
	testkit.OK(t, err)
	if d := cmp.Diff(stepped, leapt); d != "" {
		t.Errorf("stepping (-), leaps (+):\n%s", d)
	}
}
