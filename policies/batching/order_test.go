package batching_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"

	"github.com/llmsim/llmsim/policies/batching"
	"github.com/llmsim/llmsim/sim"
)

// drawList makes up jobs that arrive at the ends of steps.
func drawList(t *rapid.T) sim.List {
	jobs := make(sim.List, rapid.IntRange(1, 30).Draw(t, "n"))
	at := sim.Time(0)
	for i := range jobs {
		at += sim.Time(rapid.IntRange(0, 12).Draw(t, "gap")) * step
		jobs[i] = sim.Request{Arrival: at, Prompt: 1,
			Output: rapid.IntRange(1, 20).Draw(t, "output"), Priority: rapid.IntRange(0, 3).Draw(t,
				"priority")}
		jobs[i].Deadline = at + sim.Time(rapid.IntRange(1, 100).Draw(t, "slack"))*step
	}
	return jobs
}

// lateness notes by how much the latest answer missed its deadline.
type lateness struct {
	sojourns
	worst sim.Time
}

func (l *lateness) Finished(s *sim.Sequence) { l.worst = max(l.worst, s.LastToken-s.Deadline) }

// Of all orders, earliest deadline first makes the latest answer least late: without interruption
// where all are there from the beginning (Jackson 1955), and with it in any case (Horn 1974). So it
// misses no deadline where any order misses none.
func TestEarliestDeadlineFirstIsLeastLate(t *testing.T) {
	worst := func(t *rapid.T, jobs sim.List, s sim.Scheduler) sim.Time {
		l := lateness{worst: -sim.Never}
		simulate(t, &jobs, s, server{step: step}, &l, 0)
		return l.worst
	}
	rapid.Check(t, func(t *rapid.T) {
		jobs := drawList(t)
		displace := "true"
		if rapid.Bool().Draw(t, "together") {
			for i := range jobs {
				jobs[i].Arrival = 0
			}
			displace = "false"
		}
		edf := worst(t, jobs, build(t, "edf", 1, map[string]string{"displace": displace}))
		for _, other := range []string{"vllm-v1", "sjf", "priority"} {
			if late := worst(t, jobs, build(t, other, 1, nil)); edf > late {
				t.Fatalf("late by %v with the earliest deadline first, by %v with %s", edf, late,
					other)
			}
		}
	})
}

// orderly checks after each step that it plans that nobody who waits comes before one who runs.
type orderly struct {
	*batching.Displacing
	t      *rapid.T
	before func(a, b *sim.Sequence) bool
	all    []*sim.Sequence // that arrived; finished ones are neither waiting nor running
	done   map[*sim.Sequence]bool
}

func (o *orderly) Enqueue(s *sim.Sequence) {
	if s.Preemptions == 0 {
		o.all = append(o.all, s)
		o.done[s] = false
	}
	o.Displacing.Enqueue(s)
}

func (o *orderly) Left(b *sim.Batch, s *sim.Sequence, gone bool) {
	o.done[s] = gone
	o.Displacing.Left(b, s, gone)
}

func (o *orderly) Schedule(b *sim.Batch) sim.Decision {
	d := o.Displacing.Schedule(b)
	for _, s := range o.all {
		if s.Running() || o.done[s] {
			continue
		}
		for other := range b.All {
			if o.before(s, other) {
				o.t.Fatalf("request %d waits, and %d runs, which comes after it", s.ID, other.ID)
			}
		}
	}
	return d
}

// Running sequences come before waiting ones, where they can be displaced.
func TestDisplacingKeepsOrder(t *testing.T) {
	left := func(s *sim.Sequence) float64 { return float64(s.Output - s.Progress()) }
	for _, c := range []struct {
		policy string
		params map[string]string
		rank   func(s *sim.Sequence) float64
	}{
		{"srtf", map[string]string{"chunk-limit": "3"}, left},
		{"edf", map[string]string{"displace": "true", "chunk-limit": "3"},
			func(s *sim.Sequence) float64 { return float64(s.Deadline) }},
		{"priority", map[string]string{"displace": "true", "key": "prompt - priority",
			"chunk-limit": "3"}, func(s *sim.Sequence) float64 {
			return float64(s.Prompt - s.Priority)
		}},
	} {
		t.Run(c.policy, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				jobs := drawList(t)
				for i := range jobs {
					jobs[i].Prompt = rapid.IntRange(1, 12).Draw(t, "prompt") // in chunks
				}
				before := func(a, b *sim.Sequence) bool {
					x, y := c.rank(a), c.rank(b)
					return x < y || x == y && a.ID < b.ID
				}
				s := build(t, c.policy, rapid.IntRange(1, 4).Draw(t, "places"),
					c.params).(*batching.Displacing)
				simulate(t, &jobs, &orderly{Displacing: s, t: t, before: before,
					done: map[*sim.Sequence]bool{}}, server{step: step}, &sojourns{}, 1)
			})
		})
	}
}

// account keeps how much more service tenant 0 got than tenant 1 while both had requests waiting.
type account struct {
	sim.Scheduler
	finished    [2]float64
	waiting     [2]int
	least, most float64
}

const inputWeight, outputWeight = 1, 2

func (a *account) Enqueue(s *sim.Sequence) {
	a.waiting[s.Tenant]++
	a.Scheduler.Enqueue(s)
}

func (a *account) Entered(b *sim.Batch, s *sim.Sequence) {
	a.waiting[s.Tenant]--
	a.finished[s.Tenant] += inputWeight * float64(s.Prompt)
	if l, ok := a.Scheduler.(sim.Listener); ok {
		l.Entered(b, s)
	}
}

func (a *account) Joined(b *sim.Batch, s *sim.Sequence) {
	if l, ok := a.Scheduler.(sim.Listener); ok {
		l.Joined(b, s)
	}
}

func (a *account) Left(b *sim.Batch, s *sim.Sequence, gone bool) {
	a.finished[s.Tenant] += outputWeight * float64(s.Progress())
	if l, ok := a.Scheduler.(sim.Listener); ok {
		l.Left(b, s, gone)
	}
}

func (a *account) Schedule(b *sim.Batch) sim.Decision {
	d := a.Scheduler.Schedule(b)
	if a.waiting[0] == 0 || a.waiting[1] == 0 {
		return d
	}
	service := a.finished
	for s := range b.All {
		service[s.Tenant] += outputWeight * float64(s.Progress())
	}
	ahead := service[0] - service[1]
	a.least, a.most = min(a.least, ahead), max(a.most, ahead)
	return d
}

// Two tenants whose requests always wait get the same service, but for 2·max(w_p·L, w_q·M) over any
// span of time; L is the longest prompt and M the most tokens in a batch (Sheng et al., OSDI 2024,
// section 4). In order of arrival they do not.
func TestVirtualTokenCounterBoundsUnfairness(t *testing.T) {
	const places, longestPrompt, longestAnswer = 16, 400, 300
	const bound = 2 * max(inputWeight*longestPrompt,
		outputWeight*places*(longestPrompt+longestAnswer))
	unfairness := func(policy string, seed uint64) float64 {
		rng := rand.New(rand.NewPCG(seed, 5))
		jobs := make(sim.List, 4000)
		for i := range jobs {
			jobs[i] = sim.Request{Prompt: 1 + rng.IntN(longestPrompt),
				Output: 1 + rng.IntN(longestAnswer)}
			if rng.IntN(4) == 0 { // fewer and shorter requests
				jobs[i].Tenant, jobs[i].Output = 1, 1+rng.IntN(20)
			}
		}
		a := account{Scheduler: build(t, policy, places, nil), least: math.Inf(1),
			most: math.Inf(-1)}
		simulate(t, &jobs, &a, server{step: step}, &sojourns{}, 1)
		return a.most - a.least
	}
	for seed := range uint64(5) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			if fair := unfairness("vtc", seed); fair > bound {
				t.Errorf("service differs by %.0f weighted tokens, want %d at most", fair, bound)
			}
			if unfair := unfairness("vllm-v1", seed); unfair < 10*bound {
				t.Errorf("in order of arrival service differs by %.0f weighted tokens, want far "+
					"more than %d for the test to mean something", unfair, bound)
			}
		})
	}
}
