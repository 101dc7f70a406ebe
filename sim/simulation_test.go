package sim_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/sim"
)

// A simulation that is driven in slices of any length, into which requests are pushed, gives what
// Run gives where they come from a source.
func TestDrivenEqualsRun(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := drawFleet(t)
		c.users = 0
		want, told := c.run(t, 0)

		config, seen := c.config(t, 0)
		config.Source = nil
		s, err := sim.New(config)
		testkit.OK(t, err)
		for i, r := range c.requests {
			if r.Arrival > s.Now()+1 {
				for range rapid.IntRange(0, 2).Draw(t, "slices") {
					s.Advance(sim.Time(rapid.Int64Range(int64(s.Now()), int64(r.Arrival-1)).Draw(t,
						"until")))
				}
			}
			if id, err := s.Push(r); id != int64(i) || err != nil {
				t.Fatalf("pushed request %d: %d, %v", i, id, err)
			}
		}
		testkit.OK(t, errors.Join(s.Advance(sim.Never), s.Err()))
		if d := cmp.Diff(want, s.Result()); d != "" {
			t.Fatalf("result of Run (-), driven (+):\n%s", d)
		}
		if d := cmp.Diff(told, seen, cmp.AllowUnexported(journal{}, ends{}, end{}),
			cmp.Comparer(func(a, b []sim.Memory) bool { return true })); d != "" {
			t.Fatalf("journal of Run (-), driven (+):\n%s", d)
		}
	})
}

// Whatever is pushed, cancelled and made to fail from outside, at any time: each request ends once,
// all its tokens are told, memory is given back, and the invariants of the fields hold.
func TestOutsideConserves(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := drawFleet(t)
		c.users = 0
		config, seen := c.config(t, rapid.Int64Range(0, 1).Draw(t, "maxLeap"))
		config.Source = nil
		if rapid.Bool().Draw(t, "drafts") {
			drafts := drawSpeculator(t, c.clock)
			for i := range config.Replicas {
				if r := &config.Replicas[i]; r.Stages < 2 {
					r.Speculator = drafts(uint64(i))
				}
			}
		}
		came := map[int64]int{}
		config.Tokens = func(s *sim.Sequence, n int, _ sim.Time) {
			came[s.ID] += n
			if s.Progress() == n {
				came[s.ID] = n // it began anew
			}
		}
		s, err := sim.New(config)
		testkit.OK(t, err)
		var ids []int64
		for _, r := range c.requests {
			id, err := s.Push(r)
			testkit.OK(t, err)
			ids = append(ids, id)
			s.Advance(s.Now() + span(t, "wait", 0, 1, 1e9, 1e11))
			if err := s.CheckInvariants(); err != nil {
				t.Fatal(err)
			}
			if sum, visited := s.PausedSlots(); sum != visited {
				t.Fatalf("paused sequences keep %+v, summed up as %+v", visited, sum)
			}
			if rapid.Bool().Draw(t, "cancel") {
				s.Cancel(rapid.SampledFrom(ids).Draw(t, "id"))
			}
			if rapid.IntRange(0, 9).Draw(t, "fail") == 0 {
				testkit.OK(t, s.Fail(rapid.IntRange(0, c.replicas-1).Draw(t, "replica"),
					span(t, "for", 0, 1e10)))
			}
		}
		testkit.OK(t, errors.Join(s.Advance(sim.Never), s.Err()))
		if r := s.Result(); r.Arrived != int64(len(ids)) || r.Arrived != r.Completed+r.Rejected+
			r.TimedOut+r.Cancelled+r.Lost {
			t.Fatalf("%d requests pushed: %+v", len(ids), r)
		}
		for _, f := range seen.finished {
			if came[f.ID] != f.Output {
				t.Fatalf("request %d finished with %d tokens; %d were told", f.ID, f.Output,
					came[f.ID])
			}
		}
		for i, m := range seen.memories {
			if m.Used() != 0 {
				t.Fatalf("replica %d still holds %d blocks", i, m.Used())
			}
		}
		for _, id := range ids {
			if s.Cancel(id) {
				t.Fatalf("request %d can be cancelled after the end", id)
			}
		}
	})
}

// Failures and recoveries from outside: a failure begins where the replica runs and lasts for its
// own time, or until it is recovered. The end of an earlier failure that was cut short does not
// end a later one.
func TestRecoveredFailuresEndOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, err := sim.New(oneReplica(affineClock{base: sim.Millisecond}))
		testkit.OK(t, err)
		_, err = s.Push(sim.Request{Prompt: 1, Output: 1, Arrival: 61 * sim.Second})
		testkit.OK(t, err)      // until it comes, the run is not over
		var down, want sim.Time // want is the time that the replica was down
		end := sim.Time(-1)     // of the failure under way
		for at := range rapid.IntRange(1, 12).Draw(t, "changes") {
			now := sim.Time(at) * sim.Second
			s.Advance(now - 1)
			if end >= 0 && end < now {
				want, end = want+end-down, -1
			}
			s.Advance(now)
			if rapid.Bool().Draw(t, "recover") {
				testkit.OK(t, s.Recover(0))
				if end >= 0 {
					want, end = want+now-down, -1
				}
				continue
			}
			lasts := sim.Time(rapid.IntRange(1, 20).Draw(t, "half seconds")) * sim.Second / 2
			testkit.OK(t, s.Fail(0, lasts+1)) // and so it does not end in the instant of a change
			if end < 0 {
				down, end = now, now+lasts+1
			}
		}
		testkit.OK(t, s.Advance(60*sim.Second))
		if end >= 0 {
			want += end - down
		}
		if r := s.Result().Replicas[0]; r.Failed != want || r.Up+r.Failed != 60*sim.Second {
			t.Fatalf("down for %v and up for %v of 60 s, want down for %v", r.Failed, r.Up, want)
		}
	})
}

// A request that comes late is taken in right after what has happened, and what makes no sense is
// refused at once.
func TestPushChecks(t *testing.T) {
	s, err := sim.New(oneReplica(affineClock{base: sim.Millisecond}))
	testkit.OK(t, err)
	for _, wrong := range []sim.Request{{Output: 1}, {Prompt: 1}, {Prompt: 1, Output: 1, Model: 1},
		{Prompt: 1, Output: 1, Model: -1}} {
		if _, err := s.Push(wrong); err == nil {
			t.Errorf("%+v was taken", wrong)
		}
	}
	s.Advance(sim.Second)
	if _, err := s.Push(sim.Request{Prompt: 1, Output: 1}); err != nil || s.Next() != sim.Second+1 {
		t.Errorf("a request pushed at %v arrives at %v (%v)", sim.Second, s.Next(), err)
	}
	if s.Fail(1, 0) == nil || s.Fail(-1, 0) == nil || s.Fail(0, -1) == nil {
		t.Error("a replica failed that is not there, or for less than no time")
	}
}

// sleeper executes steps, slowly.
type sleeper struct{ affineClock }

func (c sleeper) Duration(*sim.Step) sim.Time {
	time.Sleep(5 * time.Millisecond)
	return c.base
}

// A run ends soon after it is cancelled, however slow its steps are.
func TestRunIsCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	c := oneReplica(struct{ sim.StepClock }{sleeper{affineClock{base: sim.Millisecond}}})
	c.Source = &listSource{requests: []sim.Request{{Prompt: 1, Output: 1 << 20}}}
	steps := 0
	c.Tokens = func(*sim.Sequence, int, sim.Time) {
		if steps++; steps == 3 {
			cancel()
		}
	}
	c.Replicas[0].MaxContext = 0
	if _, err := sim.Run(ctx, c); !errors.Is(err, context.Canceled) || steps > 3 {
		t.Errorf("after %d steps: %v", steps, err)
	}
}

// Cancel ends a request also where its answer has begun anew, and its user's patience counts from
// the first token.
func TestCancelEndsARequestThatBeganAnew(t *testing.T) {
	for _, afterFirst := range []bool{false, true} {
		config := oneReplica(affineClock{base: sim.Millisecond})
		config.Retry = sim.Retry{Attempts: 1}
		s, err := sim.New(config)
		testkit.OK(t, err)
		id, err := s.Push(sim.Request{Prompt: 1, Output: 1000, Patience: 10 * sim.Second,
			AfterFirst: afterFirst})
		testkit.OK(t, errors.Join(err, s.Advance(10*sim.Millisecond),
			s.Fail(0, sim.Millisecond), s.Advance(20*sim.Millisecond)))
		s.Cancel(id)
		testkit.OK(t, s.Advance(30*sim.Millisecond))
		if r := s.Result(); r.Retries != 1 || r.Cancelled != 1 {
			t.Fatalf("patience from the first token %v: %+v", afterFirst, r)
		}
	}
}
