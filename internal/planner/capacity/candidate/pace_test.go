package candidate

import (
	"math"
	"testing"

	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/policies"
	"github.com/llmsim/llmsim/scenarios"
	"github.com/llmsim/llmsim/sim"
)

// stepsOf returns the steps of the last server of a plan.
func stepsOf(t *testing.T, overrides ...string) *scenarios.Steps {
	t.Helper()
	f, list := optionsOf(t, overrides...)
	file, err := f.File(list[len(list)-1].Prefill.Asked(), f.Plan.Peak(), 1)
	testkit.OK(t, err)
	steps, err := file.Steps(policies.Default())
	testkit.OK(t, err)
	return steps
}

// decodes is a step in which n sequences decode after a token each.
func decodes(n int) *sim.Step {
	return &sim.Step{Decodes: n, DecodeTokens: n, Context: int64(n)}
}

// The pace of a server has the times of its steps without attention: those of a hull at its points,
// those of decoding sequences for each number, and bounds of a token's time.
func TestPacesAreThoseOfSteps(t *testing.T) {
	for _, overrides := range [][]string{nil, {"menu.hardware=[l4]"},
		{"model=mixtral-8x7b", "menu.tensor=[2]", "menu.data=[2]"}} {
		s := stepsOf(t, overrides...)
		p := NewPace(s)
		at := map[float64]bool{}
		for _, h := range p.Hull {
			at[h.tokens] = true
			if h.seconds != LinearTime(s, int(h.tokens)) {
				t.Errorf("a step of %g tokens takes %g s", h.tokens, h.seconds)
			}
		}
		if !at[1] || !at[LargestStep] || len(at) != len(p.Hull) {
			t.Errorf("the hull %v", p.Hull)
		}
		last, before := p.Hull[len(p.Hull)-1], p.Hull[len(p.Hull)-2]
		if p.token != min(last.seconds/last.tokens,
			(last.seconds-before.seconds)/(last.tokens-before.tokens)) {
			t.Errorf("a token takes %g s", p.token)
		}
		for n := 1; n <= LargestStep; n += n/2 + 1 {
			if got := LinearTime(s, n); got > withoutAttention(s, decodes(n)) {
				t.Errorf("a step of %d tokens takes %g s", n, got)
			}
			// Both tiles that end at powers of two and between them are looked at.
			for m := n; m&(m-1) == 0 || m%3 == 0 && (m/3)&(m/3-1) == 0; m += LargestStep {
				if got := LinearTime(s, m); p.Step(float64(m)) > got*(1+1e-12) {
					t.Errorf("a step of %d tokens takes %g s, and its bound is %g", m, got,
						p.Step(float64(m)))
				}
			}
		}
		// Each number up to 64, and then numbers that grow by a 32nd.
		next := 1
		for i, c := range p.curve {
			if int(c.tokens) != next {
				t.Fatalf("place %d of the curve is of %g sequences, want %d", i, c.tokens, next)
			}
			next += max(1, next/32)
			least := math.Inf(1)
			for _, later := range p.curve[i:] {
				least = min(least, withoutAttention(s, decodes(int(later.tokens))))
			}
			if c.seconds != least {
				t.Errorf("%g sequences and more take %g s at least, want %g", c.tokens, c.seconds,
					least)
			}
		}
		if next <= 4096 || p.curve[len(p.curve)-1].tokens > 4096 {
			t.Errorf("the curve ends before %d sequences", next)
		}
		if p.context <= 0 {
			t.Error("context costs nothing")
		}
		for n := 1; n <= 256; n *= 4 {
			if each := s.Clock.Decode(n, int64(n)*1024).PerToken.Seconds(); p.context > each {
				t.Errorf("a token of context takes %g s, and %g of %d sequences", p.context, each,
					n)
			}
		}
		if p.Watts > s.Accelerator.PeakPower || p.Watts < s.Accelerator.IdlePower ||
			p.Watts != leastPower(s) {
			t.Errorf("steps draw %g W", p.Watts)
		}
		for n := 1; n <= 4096; n *= 2 {
			long := sim.Step{Decodes: n, DecodeTokens: n, Context: int64(n) * 8192}
			prompt := sim.Step{Prefill: []sim.Chunk{{New: n, Last: true}}}
			for _, step := range []*sim.Step{decodes(n), &long, &prompt} {
				if w := s.Accelerator.Power(s.Clock.Usage(step)); w < p.Watts {
					t.Errorf("%d tokens draw %g W, at least are %g", n, w, p.Watts)
				}
			}
		}
		if all, part := s.Clock.Duration(decodes(64)).Seconds(),
			withoutAttention(s, decodes(64)); part >= all || part < all/2 {
			t.Errorf("without attention %g of %g s are left", part, all)
		}
	}
}

// Chunks of a prompt are as even as can be over data-parallel ranks.
func TestChunksOnRanks(t *testing.T) {
	s := stepsOf(t, "model=mixtral-8x7b", "menu.tensor=[2]", "menu.data=[2]")
	if s.Memory.Ranks != 2 {
		t.Fatalf("%d ranks", s.Memory.Ranks)
	}
	for _, n := range []int{1, 2, 5, 1001, 8192} {
		even := &sim.Step{Prefill: []sim.Chunk{{New: n / 2}, {New: (n + 1) / 2}}}
		if n == 1 {
			even.Prefill = even.Prefill[1:]
		}
		want := min(withoutAttention(s, even), withoutAttention(s, decodes(n)))
		if got := LinearTime(s, n); got != want {
			t.Errorf("%d tokens take %g s, want %g", n, got, want)
		}
	}
	s = stepsOf(t)
	for _, n := range []int{1000, 8192} {
		if got := LinearTime(s, n); got != withoutAttention(s, &sim.Step{
			Prefill: []sim.Chunk{{New: n}}}) {
			t.Errorf("on one rank %d tokens take %g s", n, got)
		}
	}
}

// Policies and memory limit the pace of a server.
func TestLimitsOfAPace(t *testing.T) {
	paged := stepsOf(t, "menu.batching=[{max-sequences: 48}]", "menu.memory=[paged]")
	plain := Pace{context: 7}.Under(paged)
	s := stepsOf(t, "menu.speculation=[{method: eagle, tokens: 3, acceptance: 0.7}]",
		"menu.memory=[prefix-cache]")
	other := Pace{}.Under(s)
	if plain.Batch != 48 || plain.Stride != 1 || plain.Mean != 1 || plain.Shares ||
		plain.context != 7 || plain.room != float64(paged.Memory.Tokens) ||
		plain.room < 1000 {
		t.Errorf("%+v", plain)
	}
	if other.Stride != 4 || other.Mean != 4 || !other.Shares {
		t.Errorf("with drafts %+v", other)
	}
	s.Scenario.Batching = scenarios.Policy{}
	s.Memory.State.Fixed = 1
	if free := (Pace{}).Under(s); !math.IsInf(free.Batch, 1) || !math.IsInf(free.room, 1) {
		t.Errorf("without limits %+v", free)
	}
	s.Memory.State.Fixed, s.Memory.State.Windowed = 0, 1
	if free := (Pace{}).Under(s); !math.IsInf(free.room, 1) {
		t.Errorf("with windows %+v", free)
	}
	for _, policy := range []string{"paged", "contiguous"} {
		if s.Scenario.Memory.Policy = policy; (Pace{}).Under(s).Shares {
			t.Errorf("%s shares prompts", policy)
		}
	}
}

// A prompt alone takes the steps that the budget of tokens makes of it, or none where a cache may
// have it; each further token a step, or its part of one.
func TestRequestsAlone(t *testing.T) {
	steps := stepsOf(t)
	r := &sim.Request{Prompt: 250, Output: 9}
	chunk := func(n, cached int, last bool) sim.Time {
		return steps.Clock.Duration(&sim.Step{Prefill: []sim.Chunk{{New: n, Cached: cached,
			Last: last}}})
	}
	for budget, want := range map[int]sim.Time{0: chunk(250, 0, true), 250: chunk(250, 0, true),
		100: chunk(100, 0, false) + chunk(100, 100, false) + chunk(50, 200, true),
		125: chunk(125, 0, false) + chunk(125, 125, true)} {
		s := &Server{Budget: budget, Pace: Pace{Shares: true, Stride: 4}}
		if got := s.PrefillAlone(steps, r); got != want {
			t.Errorf("a budget of %d: %v, want %v", budget, got, want)
		}
		if got := s.DecodeAlone(steps, r); got != PlainStep(steps, r)/4 {
			t.Errorf("a token takes %v", got)
		}
	}
	cached := &sim.Request{Prompt: 250, Output: 1, Content: make([]sim.Segment, 1)}
	if got := (&Server{Pace: Pace{Shares: true}}).PrefillAlone(steps, cached); got != 0 {
		t.Errorf("a cached prompt takes %v", got)
	}
	if got := (&Server{}).PrefillAlone(steps, cached); got != chunk(250, 0, true) {
		t.Errorf("without a cache a prompt takes %v", got)
	}
	one := &sim.Step{Decodes: 1, DecodeTokens: 1, Context: 251}
	if got := PlainStep(steps, r); got != steps.Clock.Duration(one) ||
		PlainStep(steps, cached) != 0 {
		t.Errorf("a plain step takes %v, want %v", got, steps.Clock.Duration(one))
	}
	r.Output = 2
	if PlainStep(steps, r) == 0 {
		t.Error("a second token takes no time")
	}
}
