package asked

import (
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/scenarios"
	"github.com/llmsim/llmsim/sim"
)

// drawRate draws a steady rate, a wave, long phases, or none.
func drawRate(t *rapid.T, name string) scenarios.Rate {
	x := scenarios.PerSecond(rapid.Float64Range(0.5, 50).Draw(t, name))
	switch rapid.IntRange(0, 3).Draw(t, name+" kind") {
	case 0:
		return scenarios.Rate{Value: x}
	case 1:
		return scenarios.Rate{Pattern: "wave", Average: x,
			Swing: rapid.Float64Range(0, 1).Draw(t, name+" swing")}
	case 2:
		to := x * scenarios.PerSecond(rapid.Float64Range(0.7, 1.5).Draw(t, name+" to"))
		return scenarios.Rate{Pattern: "phases", Repeat: true, Phases: []scenarios.Phase{
			{Rate: x, For: hour}, {Rate: x, To: &to, For: 2 * hour}}}
	}
	return scenarios.Rate{}
}

// A load that is put at a rate has that rate, steadily, with as many requests as asked for, and its
// classes have the shares that they had; the plan itself stays as it is. A load that is scaled has
// that many times its highest rate, and its rate in the long run.
func TestLoadsAreScaled(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var p Plan
		if rapid.Bool().Draw(t, "classes") {
			for range rapid.IntRange(1, 3).Draw(t, "number") {
				p.Workload.Classes = append(p.Workload.Classes,
					scenarios.Class{Rate: drawRate(t, "class")})
			}
		} else {
			p.Workload.Rate = drawRate(t, "rate")
		}
		peak, mean := p.Peak(), p.Mean()
		if peak == 0 {
			t.Skip("no load")
		}
		if !p.Steady() || mean > peak*(1+1e-12) || peak > 2*mean*(1+1e-12) {
			t.Fatalf("steady %v, %g in the long run, at most %g", p.Steady(), mean, peak)
		}
		rate := rapid.Float64Range(0.1, 500).Draw(t, "to")
		put := Plan{Workload: p.Put(p.Workload, rate, 77)}
		if put.Workload.Requests != 77 || math.Abs(put.Peak()/rate-1) > 1e-5 ||
			put.Mean() != put.Peak() {
			t.Fatalf("%d requests at %g and %g, want %g", put.Workload.Requests, put.Mean(),
				put.Peak(), rate)
		}
		for i := range put.Workload.Classes {
			was := (&Plan{Workload: scenarios.Workload{Rate: p.Workload.Classes[i].Rate}}).Peak()
			is := float64(put.Workload.Classes[i].Rate.Value)
			if math.Abs(is/rate-was/peak) > 1e-5 {
				t.Fatalf("class %d has %g of %g, before %g of %g", i, is, rate, was, peak)
			}
		}
		if p.Peak() != peak {
			t.Fatal("the plan was changed")
		}
		by := rapid.Float64Range(0.1, 10).Draw(t, "by")
		same := p.Workload
		p.ScaleRate(by)
		if math.Abs(p.Peak()/(by*peak)-1) > 1e-12 || math.Abs(p.Mean()/(by*mean)-1) > 1e-12 {
			t.Fatalf("%g times %g and %g: %g and %g", by, mean, peak, p.Mean(), p.Peak())
		}
		if again := (&Plan{Workload: same}).Peak(); len(same.Classes) > 0 && again != peak {
			t.Fatal("the classes of a copy were changed")
		}
	})
}

// A simulation is long enough that a queue that grows by a twentieth of what arrives reaches the
// limit of the first token: twenty times that limit, and the longest four times that.
func TestSimulationsAreLongEnough(t *testing.T) {
	p := Plan{Effort: Effort{Requests: 100, MostRequests: 300}}
	for _, limit := range []*scenarios.Span{&p.SLO.E2E.Request, &p.SLO.TTFT.Request} {
		*limit = scenarios.Span(3 * sim.Second) // that of the first token counts if there are both
		if limit == &p.SLO.TTFT.Request {
			*limit = scenarios.Span(sim.Second)
		}
		seconds := sim.Time(*limit).Seconds()
		for _, rate := range []float64{0.5, 10, 100} {
			enough := int64(20 * seconds * rate)
			first, most := p.Lengths(rate)
			if first != max(100, enough) || most != max(300, 4*enough) {
				t.Errorf("%g/s within %g s: %d and %d requests, enough are %d", rate, seconds,
					first, most, enough)
			}
		}
	}
	p.SLO = scenarios.SLO{}
	for replicas, want := range map[int]int64{1: 100, 2: 200, 200: 20_000, 201: 20_000} {
		if got := p.Together(1, replicas); got != want {
			t.Errorf("%d replicas: %d requests, want %d", replicas, got, want)
		}
	}
	p.Workload.Arrivals.Users = 5000
	if got := p.Together(1, 1); got != 100_000 {
		t.Errorf("5000 users: %d requests, want 20 for each", got)
	}
}

// The first way of scaling is none, and each least number of a range is a way of its own.
func TestWaysOfScaling(t *testing.T) {
	m := Menu{Scaling: []Autoscale{{Policy: "queue", Min: &Fewest{Counts{From: 0, To: 2}}},
		{Policy: "forecast"}}}
	zero, one, two := 0, 1, 2
	want := []scenarios.Scaling{{}, {Policy: "queue", Min: &zero}, {Policy: "queue", Min: &one},
		{Policy: "queue", Min: &two}, {Policy: "forecast"}}
	got := m.Scalings()
	if len(got) != len(want) {
		t.Fatalf("%+v", got)
	}
	for i := range want {
		if got[i].Policy != want[i].Policy || got[i].Least() != want[i].Least() {
			t.Errorf("way %d is %+v, want %+v", i, got[i], want[i])
		}
	}
}

// A plan warns that users march in step if all of them think for the same time.
func TestConstantThinkingIsTold(t *testing.T) {
	for load, told := range map[string]bool{
		"users: 200, think: {mean: 10s, distribution: constant}":        true,
		"arrivals: {process: closed-loop, users: 200, think: 10s}":      true,
		"users: 200, think: 10s":                                        false,
		"users: 200":                                                    false,
		"users: 9, think: {mean: 10s, distribution: lognormal, cv: .5}": false,
		"rate: 5/s": false,
	} {
		f, err := Parse("p.yaml", []byte("model: llama-3.1-8b\nworkload: {"+load+
			", prompt: 10, output: 20}\nslo: {ttft: 1s}\nmenu: {hardware: [h100-sxm]}\n"))
		testkit.OK(t, err)
		words := strings.Join(f.Plan.Warnings(), "\n")
		if strings.Contains(words, "All users think for 10s: they march in step") != told {
			t.Errorf("%s: %q", load, words)
		}
	}
}
