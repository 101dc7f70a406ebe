package speculation_test

import (
	"testing"

	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/policies/speculation"
	"github.com/llmsim/llmsim/sim"
)

// rate serves equal answers and returns tokens a second.
func rate(t *testing.T, a speculation.Acceptance, lengths speculation.Lengths, together int,
	clock linear, pass sim.Time) float64 {
	t.Helper()
	p := speculator(t, speculation.Config{
		Acceptance: a, Shape: speculation.Shape{Depth: 8, Width: 1}, Lengths: lengths, Seed: 4,
		Drafter: drafter{pass: pass}, Verify: clock,
	})
	r := serve(t, answers(40*together, 300), together, clock, p, nil)
	return float64(r.Sampled) / r.Busy.Seconds()
}

func adaptive(t *testing.T) speculation.Lengths {
	t.Helper()
	p, err := speculation.NewAdaptive(0.9, 50)
	testkit.OK(t, err)
	return p
}

func perRequest(t *testing.T) speculation.Lengths {
	t.Helper()
	p, err := speculation.NewPerRequest(0.8, 2)
	testkit.OK(t, err)
	return p
}

func always(t *testing.T, length string) speculation.Lengths {
	t.Helper()
	p, err := speculation.NewByBatch("1:" + length)
	testkit.OK(t, err)
	return p
}

// The optimal policy gives as many tokens a second as the best fixed length, for any acceptance
// rate and batch; the adaptive one, which must find out, comes within a few percent. Where
// arithmetic binds, neither drafts.
func TestOptimalIsBestFixed(t *testing.T) {
	clock := linear{base: step, perToken: step / 100}
	for _, c := range []struct {
		alpha    float64
		together int
	}{{0.9, 1}, {0.6, 1}, {0.3, 1}, {0.8, 16}, {0.5, 16}, {0.8, 200}, {0.4, 200}, {0, 1}} {
		a := constant(t, c.alpha)
		best := 0.0
		for _, length := range []string{"0", "1", "2", "3", "4", "5", "6", "7", "8"} {
			best = max(best, rate(t, a, always(t, length), c.together, clock, step/20))
		}
		if got := rate(t, a, speculation.Optimal{}, c.together, clock, step/20); got < 0.98*best {
			t.Errorf("α=%g, %d together: the optimal length gives %.0f tokens a second, the best "+
				"fixed one %.0f", c.alpha, c.together, got, best)
		}
		if got := rate(t, a, adaptive(t), c.together, clock, step/20); got < 0.94*best {
			t.Errorf("α=%g, %d together: the adaptive length gives %.0f tokens a second, the "+
				"best fixed one %.0f", c.alpha, c.together, got, best)
		}
	}
}

// Where some requests are easy to draft for and others are not, and each token costs, telling them
// apart pays.
func TestPerRequestTellsRequestsApart(t *testing.T) {
	mixed := speculation.Acceptance{{0.95}, {0.1}}
	clock := linear{base: step, perToken: step / 40}
	one, each := rate(t, mixed, speculation.Optimal{}, 32, clock, step/50),
		rate(t, mixed, perRequest(t), 32, clock, step/50)
	if each < 1.1*one {
		t.Errorf("%.0f tokens a second with a length for each request, %.0f with one for all", each,
			one)
	}
}

// spy notes the largest number of tokens that the decoding sequences put into a step and, by their
// number, whether any of them drafts.
type spy struct {
	most    int
	drafted map[int]bool
}

func (s *spy) watch(inner sim.StepClock) sim.StepClock { return spyClock{s, inner} }

type spyClock struct {
	*spy
	sim.StepClock
}

func (s spyClock) Duration(step *sim.Step) sim.Time {
	s.most = max(s.most, step.DecodeTokens)
	s.drafted[step.Decodes] = step.DecodeTokens > step.Decodes
	return s.StepClock.Duration(step)
}

// A token budget shortens drafts, and a schedule by batch size turns them off where it says so.
func TestBudgetAndSchedule(t *testing.T) {
	schedule, err := speculation.NewByBatch("1:8, 4:3, 20:0")
	testkit.OK(t, err)
	var requests []sim.Request
	for i := range 30 {
		requests = append(requests, sim.Request{Prompt: 1, Output: 20 + 15*i})
	}
	for budget, want := range map[int]int{0: 19 * 4, 40: 40, 30: 30} {
		s := &spy{drafted: map[int]bool{}}
		p := speculator(t, speculation.Config{
			Acceptance: constant(t, 0.5), Shape: speculation.Shape{Depth: 8, Width: 1},
			Lengths: schedule, Drafter: drafter{},
			Verify: linear{base: step}, TokenBudget: budget,
		})
		serve(t, append([]sim.Request(nil), requests...), 30, s.watch(linear{base: step}), p, nil)
		if s.most != want {
			t.Errorf("budget %d: up to %d decode tokens in a step, want %d", budget, s.most, want)
		}
		for n, drafted := range s.drafted {
			if allowed := n > 0 && n < 20 && (budget == 0 || 2*n <= budget); drafted != allowed {
				t.Errorf("budget %d: %d sequences draft: %v, want %v", budget, n, drafted, allowed)
			}
		}
	}
}

func TestBadSchedules(t *testing.T) {
	for _, text := range []string{"", "5", "0:3", "1:-1", "8:3, 4:2", "1:2, 1:3", "a:b"} {
		if b, err := speculation.NewByBatch(text); err == nil {
			t.Errorf("%q: accepted, %v", text, b)
		}
	}
}
