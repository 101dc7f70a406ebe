package candidate

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/llmsim/llmsim/internal/planner/capacity/asked"
	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/policies"
	"github.com/llmsim/llmsim/sim"
)

// A step gives one token and those accepted on average; over kinds of requests of which as many
// tokens are asked for, the mean is the harmonic one.
func TestTokensOfSteps(t *testing.T) {
	d := &drafting{reach: [][]float64{{0.5, 0.25}, {}}}
	if got, want := d.Mean(), 2/(1/1.75+1); !near(got, want) {
		t.Errorf("%g tokens a step, want %g", got, want)
	}
}

// The chance over all kinds is their mean, exact for few tokens and bounded for many.
func TestChancesOfKinds(t *testing.T) {
	kinds := [][]float64{{0.5}, {0.9, 0.3}}
	for tokens, exact := range map[int]bool{100: true, 101: false} {
		d := &drafting{reach: kinds, known: map[waiting]float64{}}
		w := waiting{tokens, 10, 12, sim.Time(9 * tokens)}
		want := 0.0
		for _, reach := range kinds {
			if exact {
				want += walkChance(reach, w) / 2
			} else {
				want += chernoffTail(reach, w) / 2
			}
		}
		if got := d.inTime(w); !near(got, want) || d.known[w] != got || d.inTime(w) != got {
			t.Errorf("%d tokens: %g, want %g", tokens, got, want)
		}
	}
}

// Where drafts have one token, or are accepted whole, the bound is Chernoff's of a binomial number:
// exp(−n·KL(share‖p)).
func TestTheTailIsChernoffs(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := rapid.Float64Range(0.6, 0.9).Draw(t, "acceptance")
		n := rapid.IntRange(20, 200).Draw(t, "steps")
		whole := rapid.IntRange(1, 2).Draw(t, "tokens of a draft")
		slow := rapid.SampledFrom([]float64{1, 1.25}).Draw(t, "drafted")
		share := p + (1-p)*rapid.Float64Range(0.1, 0.9).Draw(t, "share")
		within := sim.Time(float64(1000*n)*slow) + 1
		accepted := share * float64(n*whole)
		tokens := int(accepted) + n
		reach := []float64{p, p}[:whole]
		got := chernoffTail(reach, waiting{tokens, 1000, sim.Time(1000 * slow), within})
		need := (float64(tokens) - float64(n)) / float64(n*whole)
		if need <= p {
			t.Skip("is likely")
		}
		kl := need*math.Log(need/p) + (1-need)*math.Log((1-need)/(1-p))
		exact := -float64(n) * kl
		if log := math.Log(got); log < exact-0.01 || log > exact+0.1+0.1*math.Abs(exact) {
			t.Fatalf("the tail is exp(%g), Chernoff's is exp(%g)", log, exact)
		}
	})
	if got := chernoffTail([]float64{0.5}, waiting{10, 10, 10, 100}); got != 1 {
		t.Errorf("where nothing is lacking the tail is %g", got)
	}
}

// A probe without a second token, a limit or drafts is in time; else its chance is that of its
// tokens within the limit, as much shorter as steps are slower.
func TestProbesInTime(t *testing.T) {
	l := testLoad()
	s := testServer(l)
	s.Alone[0].Plain, s.Alone[0].Drafted = 10*sim.Millisecond, 12*sim.Millisecond
	if got := s.inTime(0, 5*sim.Millisecond, 1); got != 1 {
		t.Errorf("without drafts the chance is %g", got)
	}
	s.Drafts = &drafting{reach: [][]float64{{0.8}}, known: map[waiting]float64{}}
	if got := s.inTime(0, 0, 1); got != 1 {
		t.Errorf("without a limit the chance is %g", got)
	}
	for _, slow := range []float64{1, 1.1} {
		limit := 7 * sim.Millisecond
		want := walkChance([]float64{0.8}, waiting{10, s.Alone[0].Plain, s.Alone[0].Drafted,
			sim.Time(float64(limit+1) * 10 / slow)})
		if got := s.inTime(0, limit, slow); !near(got, want) || got <= 0 || got >= 1 {
			t.Errorf("steps %g times as slow: %g, want %g", slow, got, want)
		}
	}
	if l.Probes[0].Output = 2; s.inTime(0, 1*sim.Millisecond, 1) != 0 {
		t.Error("a second token in a tenth of a step")
	}
	if l.Probes[0].Output = 1; s.inTime(0, 1*sim.Millisecond, 1) != 1 {
		t.Error("without a second token there is no limit")
	}
	// Chances count as shares of requests, to four digits.
	for i := range l.Probes {
		l.Probes[i].Output = 11
		l.Promises[i].TTFT, l.Promises[i].TPOT = 0, 10*sim.Millisecond
		s.Alone[i] = Latency{TPOT: 5 * sim.Millisecond, Plain: 12 * sim.Millisecond,
			Drafted: 15 * sim.Millisecond}
	}
	p := &Parts{Prefill: s, Slow: 1, Late: asked.LateBy(1)}
	p.latencies(l)
	want := math.Round(1e4*s.inTime(0, 10*sim.Millisecond, 1)) / 1e4
	if p.Alone != want || want <= 0 || want >= 1 {
		t.Errorf("%g keep the SLO alone, want %g", p.Alone, want)
	}
}

// Drafts come at each step unless a look-up finds none, and then a step may be as short as a plain
// one.
func TestDraftsOfServers(t *testing.T) {
	for way, c := range map[string]struct{ drafts, sometimes bool }{
		"menu.tensor=[1]": {},
		"menu.speculation=[{method: eagle, tokens: 3, acceptance: 0.7}]":   {true, false},
		"menu.speculation=[{method: n-gram, match: 1, acceptance: 0.7}]":   {true, false},
		"menu.speculation=[{method: n-gram, match: 0.5, acceptance: 0.7}]": {true, true},
	} {
		f, err := asked.Parse("plan.yaml", []byte(steady), way)
		testkit.OK(t, err)
		list, err := Options(f)
		testkit.OK(t, err)
		file, err := f.File(list[len(list)-1].Prefill.Asked(), 1, 1)
		testkit.OK(t, err)
		s, err := file.Build(policies.Default())
		testkit.OK(t, err)
		d := NewDrafting(s, 48)
		if testkit.OK(t, s.Source.Close()); (d != nil) != c.drafts {
			t.Fatalf("%q: %+v", way, d)
		}
		if d == nil {
			continue
		}
		plain := 1 * sim.Microsecond
		r := &sim.Request{Prompt: 100}
		want := plain
		if !c.sometimes {
			want = d.source.Least(101, 48)
		}
		if got := d.Least(r, plain); d.sometimes != c.sometimes || got != want || d.Mean() <= 1 {
			t.Errorf("%q: a step takes %v, want %v", way, got, want)
		}
		if got := d.Least(r, 10*sim.Second); got != 10*sim.Second {
			t.Errorf("%q: a step is shorter than a plain one: %v", way, got)
		}
	}
}
