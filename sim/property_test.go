package sim_test

import (
	"context"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/policies/batching"
	"github.com/llmsim/llmsim/policies/memory"
	"github.com/llmsim/llmsim/policies/routing"
	"github.com/llmsim/llmsim/sim"
)

// setting is a random simulation that can be built again and again.
type setting struct {
	requests          []sim.Request
	clock             affineClock
	stages, lookahead int
	replicas          int
	maxSequences      int
	budget, chunk     int
	prefixCache       bool
	blocks            int64
	blockSize         int
	maxContext        int
	sampleEvery       sim.Time
	users             int    // of a closed loop; 0 where requests come by themselves
	drawn             *drawn // policies in place of vllm-v1 and the memories above
	// make makes a scheduler in place of vllm-v1.
	make func() (sim.Scheduler, error)
	host sim.HostMemory
	pool int64 // the blocks of a pool of KV caches; 0 for none
}

func drawSetting(t *rapid.T) setting {
	c := drawKind(t)
	gap := rapid.SampledFrom([]int64{1e8, 1e10, 1e12}).Draw(t, "gap")
	at := sim.Time(0)
	for range rapid.IntRange(1, 40).Draw(t, "n") {
		at += sim.Time(rapid.Int64Range(0, gap).Draw(t, "wait"))
		r := sim.Request{
			Arrival: at,
			Prompt:  rapid.IntRange(1, 120).Draw(t, "prompt"),
			Output:  rapid.IntRange(1, 90).Draw(t, "output"),
		}
		if c.prefixCache {
			drawContent(t, &r)
		}
		c.requests = append(c.requests, r)
	}
	return c
}

// drawKind makes up replicas without requests.
func drawKind(t *rapid.T) setting {
	c := setting{
		clock: affineClock{
			base:     sim.Time(rapid.Int64Range(1, 1e10).Draw(t, "base")),
			perToken: sim.Time(rapid.Int64Range(0, 1e8).Draw(t, "perToken")),
			perContext: sim.Time(rapid.SampledFrom([]int64{0, 1, 50_000, 3_000_000}).Draw(t,
				"perContext")),
			floor: sim.Time(rapid.SampledFrom([]int64{0, 2e9, 1e10}).Draw(t, "floor")),
		},
		stages:       rapid.IntRange(1, 3).Draw(t, "stages"),
		lookahead:    rapid.IntRange(0, 1).Draw(t, "lookahead"),
		replicas:     rapid.IntRange(1, 3).Draw(t, "replicas"),
		maxSequences: rapid.IntRange(1, 12).Draw(t, "maxSequences"),
		chunk:        rapid.SampledFrom([]int{0, 0, 5, 40}).Draw(t, "chunk"),
		prefixCache:  rapid.Bool().Draw(t, "prefixCache"),
		pool:         rapid.SampledFrom([]int64{0, 30, 1000}).Draw(t, "pool"),
		blockSize:    rapid.SampledFrom([]int{1, 3, 16}).Draw(t, "blockSize"),
		maxContext:   rapid.SampledFrom([]int{0, 0, 150}).Draw(t, "maxContext"),
		sampleEvery:  sim.Time(rapid.SampledFrom([]int64{0, 7e9, 1e12}).Draw(t, "sampleEvery")),
	}
	c.budget = max(c.maxSequences, c.chunk) + rapid.IntRange(0, 200).Draw(t, "budget")
	c.blocks = int64(rapid.IntRange(20, 400).Draw(t, "tokens"))/int64(c.blockSize) + 1
	return c
}

func (c *setting) scheduler() (sim.Scheduler, error) {
	if c.make != nil {
		return c.make()
	}
	if c.drawn != nil {
		return c.drawn.batching.Build(c.drawn.place, c.drawn.params)
	}
	return batching.NewVLLMV1(c.maxSequences, c.budget, c.chunk)
}

func (c *setting) memory() (sim.Memory, error) {
	if c.drawn != nil {
		return c.drawn.memory.Build(c.drawn.place, c.drawn.blocks)
	}
	if c.prefixCache {
		return memory.NewPrefixCache(c.blocks, c.blockSize)
	}
	return memory.NewPaged(c.blocks, c.blockSize)
}

// drawContent makes up a prompt of a few texts, so that beginnings are often shared, and sometimes
// an answer that others repeat.
func drawContent(t *rapid.T, r *sim.Request) {
	for left := r.Prompt; left > 0 && rapid.Bool().Draw(t, "more"); {
		n := rapid.SampledFrom([]int{8, 16, 40}).Draw(t, "run")
		id := rapid.Uint64Range(1, 3).Draw(t, "text")
		r.Content = append(r.Content, sim.Segment{ID: id, Tokens: min(n, left)})
		left -= min(n, left)
	}
	r.Answer = rapid.Uint64Range(0, 3).Draw(t, "answer")
}

func (c *setting) run(t testkit.Test, maxLeap int64) (sim.Result, *journal) {
	config, j := c.config(t, maxLeap)
	r, err := sim.Run(context.Background(), config)
	testkit.OK(t, err)
	return r, j
}

// config returns the simulation, and the journal that observes it.
func (c *setting) config(t testkit.Test, maxLeap int64) (sim.Config, *journal) {
	j := &journal{gaps: map[sim.Time]int64{}}
	config := sim.Config{
		Source: c.source(), Router: &routing.RoundRobin{}, Observer: j,
		SampleEvery: c.sampleEvery, MaxLeap: maxLeap,
	}
	for range c.replicas {
		config.Replicas = append(config.Replicas, c.replica(t, j))
	}
	c.connect(&config)
	return config, j
}

func (c *setting) source() sim.Source {
	if c.users > 0 {
		return newUsers(c.users, c.requests)
	}
	return &listSource{requests: c.requests}
}

// replica returns one more replica, whose memory the journal remembers.
func (c *setting) replica(t testkit.Test, j *journal) sim.ReplicaConfig {
	s, err := c.scheduler()
	testkit.OK(t, err)
	m, err := c.memory()
	testkit.OK(t, err)
	j.memories = append(j.memories, m)
	r := sim.ReplicaConfig{
		Scheduler: s, Memory: m, Clock: c.clock, Stages: c.stages, Lookahead: c.lookahead,
		MaxContext: c.maxContext, Host: c.host,
	}
	if c.drawn != nil {
		r.Host = c.drawn.host
	}
	return r
}

// journal writes down all that an observer is told, token gaps by their length.
type journal struct {
	memories []sim.Memory
	finished []finished
	rejected []int64
	gaps     map[sim.Time]int64
	samples  []sample
	busyEnd  sim.Time
}

type finished struct {
	ID                                      int64
	Replica, Prompt, Output, Generated      int
	Preemptions, Drafted, Accepted          int
	Arrival, Scheduled, FirstToken, LastTok sim.Time
}

type sample struct {
	At      sim.Time
	Replica int
	State   sim.State
	Slots   sim.Slots
}

func (j *journal) Steps(l *sim.Leap) {
	for _, g := range l.Gaps {
		j.gaps[g.Span] += g.Count
	}
	for i := int64(1); i < l.Steps && !l.Together; i++ {
		j.gaps[l.Length(i)] += int64(l.Decodes)
	}
	j.busyEnd = max(j.busyEnd, l.End)
}

func (j *journal) Finished(s *sim.Sequence) {
	j.finished = append(j.finished, finished{
		s.ID, s.Replica, s.Prompt, s.Output, s.Generated, s.Preemptions, s.Drafted, s.Accepted,
		s.Arrival, s.Scheduled, s.FirstToken, s.LastToken,
	})
}

func (j *journal) Rejected(r *sim.Request, _ sim.Rejection) {
	j.rejected = append(j.rejected, r.ID)
}

func (j *journal) Sampled(at sim.Time, replica int, state sim.State) {
	slots := sim.Slots{}
	if state.Slots != nil {
		slots = state.Slots()
		state.Slots = nil
	}
	j.samples = append(j.samples, sample{at, replica, state, slots})
}

// Leaping gives what stepping gives, to the last bit: results, every request's times, every gap,
// every sample.
func TestLeapEqualsStep(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := drawSetting(t)
		drawPolicies(t, &c)
		stepped, steps := c.run(t, 1)
		for _, maxLeap := range []int64{0, 7} {
			leaped, leaps := c.run(t, maxLeap)
			if d := cmp.Diff(stepped, leaped); d != "" {
				t.Fatalf("result, stepping (-) against leaps of %d (+):\n%s", maxLeap, d)
			}
			if d := cmp.Diff(steps, leaps, cmp.AllowUnexported(journal{}),
				cmp.Comparer(func(a, b []sim.Memory) bool { return true })); d != "" {
				t.Fatalf("journal, stepping (-) against leaps of %d (+):\n%s", maxLeap, d)
			}
		}
	})
}

// Every request arrives, and finishes or is rejected, once; every token comes out; every block is
// given back; nothing happens before its cause.
func TestConservationAndCausality(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := drawSetting(t)
		drawPolicies(t, &c)
		r, j := c.run(t, 0)
		if r.Arrived != int64(len(c.requests)) || r.Arrived != r.Completed+r.Rejected {
			t.Fatalf("%d requests: %+v", len(c.requests), r)
		}
		var seen []int64
		var tokens, gaps int64
		together := c.drawn != nil && c.drawn.batching.Params()[0].Name == "batch-size"
		for _, f := range j.finished {
			seen = append(seen, f.ID)
			tokens += int64(f.Output)
			if f.Generated != f.Output {
				t.Fatalf("request %d finished with %d of %d tokens", f.ID, f.Generated, f.Output)
			}
			if f.Arrival > f.Scheduled || f.Scheduled >= f.FirstToken || f.FirstToken > f.LastTok ||
				(f.Output > 1 && !together) != (f.FirstToken < f.LastTok) {
				t.Fatalf("times out of order: %+v", f)
			}
			if least := c.clock.base * sim.Time(f.Output*c.stages); f.LastTok-f.Arrival < least {
				t.Fatalf("request %d took %v, less than %v", f.ID, f.LastTok-f.Arrival, least)
			}
		}
		seen = append(seen, j.rejected...)
		slices.Sort(seen)
		for i, id := range seen {
			if int64(i) != id {
				t.Fatalf("requests finished or rejected: %v", seen)
			}
		}
		for _, n := range j.gaps {
			gaps += n
		}
		want := tokens - r.Completed
		if together { // static batches return whole answers
			want = 0
		}
		if gaps != want {
			t.Fatalf("%d gaps between tokens, want %d", gaps, want)
		}
		var sampled int64
		for i := range r.Replicas {
			sampled += r.Replicas[i].Sampled
		}
		if sampled != tokens {
			t.Fatalf("%d tokens sampled, want %d", sampled, tokens)
		}
		for i, m := range j.memories {
			if m.Used() != 0 {
				t.Fatalf("replica %d still holds %d blocks", i, m.Used())
			}
		}
		for _, s := range j.samples {
			peak := r.Replicas[s.Replica].KVPeak
			if s.State.Used > peak || peak > s.State.Capacity || s.State.Used < 0 ||
				s.State.Running > c.maxSequences*c.stages {
				t.Fatalf("impossible state: %+v", s)
			}
			m, ok := j.memories[s.Replica].(sim.SlotMemory)
			if !ok {
				continue
			}
			d := s.Slots
			if all, _ := m.Slots(); d.Tokens+d.Reserved+d.Internal+d.External != all ||
				min(d.Tokens, d.Reserved, d.Internal, d.External) < 0 {
				t.Fatalf("slots divided wrongly: %+v", s)
			}
		}
	})
}
