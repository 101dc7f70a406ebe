package judge

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/llmsim/llmsim/internal/planner/capacity/asked"
	"github.com/llmsim/llmsim/internal/planner/capacity/candidate"
	"github.com/llmsim/llmsim/internal/planner/stats"
	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/scenarios"
)

// As many replicas are enough as serve the rate with steps as slow as they may be, whether one of
// them is simulated or the whole fleet, and the rate of each is its share.
func TestEnoughReplicas(t *testing.T) {
	for _, whole := range []bool{false, true} {
		var overrides []string
		if whole {
			overrides = []string{"menu.routing=[round-robin, least-requests]"}
		}
		j, options, law := stubbed(t, steadyPlan, overrides...)
		o := options[0]
		for slow, need := range map[float64]int{1: 10, 1.25: 12} {
			o.Slow = slow
			for n := need - 2; n <= need+1; n++ {
				law.obey(t, byCapacity)
				v, err := j.Enough(t.Context(), o, n)
				testkit.OK(t, err)
				at, err := j.Sustains(t.Context(), o, n, 95)
				testkit.OK(t, err)
				want := 95 / float64(n)
				if v.Sustained != (n >= need) || at.Sustained != v.Sustained ||
					math.Abs(v.Rate-want) > 1e-4 || math.Abs(at.Rate-want) > 1e-4 {
					t.Errorf("%d replicas of %d: %+v, %+v", n, need, v, at)
				}
				if seeds := law.seeds(); len(seeds) != 1 || seeds[0] != j.Trials.File.Plan.Seed {
					t.Errorf("seeds %v, want the plan's", seeds)
				}
				if got := replicas(&law.asked[0]); got != map[bool]int{false: 1, true: n}[whole] {
					t.Errorf("%d of %d replicas are simulated", got, n)
				}
			}
			v, err := j.Sustains(t.Context(), o, 3, 30/slow)
			testkit.OK(t, err)
			if !v.Sustained {
				t.Errorf("three replicas do not sustain %g/s", 30/slow)
			}
		}
	}
}

// A fleet is decided for sure where the share is clear of the target or the first run is hopeless,
// and missed by far where more than a twentieth is missing.
func TestDecisionsSayHowSureTheyAre(t *testing.T) {
	growing := run(0.95, 0.5)
	growing.Growing = true
	for _, c := range []struct {
		name string
		one  Trial
		want Decision
		runs int
	}{
		{"clear", run(0.95, 0.01),
			Decision{Kept: true, Sure: true, Share: 0.95, Missing: -0.05}, 4},
		{"close", run(0.9, 0.2), Decision{Kept: true, Share: 0.9}, 12},
		{"a little missing", run(0.87, 0.01), Decision{Sure: true, Share: 0.87, Missing: 0.03}, 2},
		{"far", run(0.84, 0.01), Decision{Sure: true, Far: true, Share: 0.84, Missing: 0.06}, 2},
		{"hopeless", run(0.5, 0.9), Decision{Sure: true, Far: true, Share: 0.5, Missing: 0.4}, 1},
		{"growing", growing, Decision{Sure: true, Share: 0.95, Missing: -0.05}, 1},
	} {
		j, options, law := stubbed(t, steadyPlan)
		law.obey(t, func(*scenarios.Scenario) Trial { return c.one })
		got, err := j.Decide(t.Context(), options[0], 10, candidate.AsPredicted())
		testkit.OK(t, err)
		if got.Share = math.Round(got.Share*1e9) / 1e9; true {
			got.Missing = math.Round(got.Missing*1e9) / 1e9
		}
		if got != c.want || len(law.seeds()) != c.runs {
			t.Errorf("%s: %+v after seeds %v, want %+v", c.name, got, law.seeds(), c.want)
		}
		kept, share, err := j.Keeps(t.Context(), options[0], 10, candidate.AsPredicted(), 2)
		testkit.OK(t, err)
		if kept != c.want.Kept || math.Abs(share-c.want.Share) > 1e-9 {
			t.Errorf("%s: kept %v by %g", c.name, kept, share)
		}
	}
}

// A fleet on spot whose replicas are replaced at once loses the requests that a replica has under
// way when it goes: a hundredth, where each lasts a second and each replica is preempted once in
// 100 s, and less by the share that a base serves. The seeds count the same.
func TestSpotLosesWhatIsUnderWay(t *testing.T) {
	j, options, law := stubbed(t, steadyPlan)
	ctx, seed := t.Context(), j.Trials.File.Plan.Seed
	law.obey(t, func(s *scenarios.Scenario) Trial {
		if float64(s.Workload.Rate.Value)*s.Engine.Slowdown > each*float64(replicas(s)) {
			return steady(0)
		}
		one := steady(1 - float64(s.Seed-seed)/40)
		one.Growing = s.Seed-seed == 3
		return one
	})
	const n = 16
	for _, o := range options {
		if !o.IsSpot() || o.Based() != 0 && o.Based() != 3 {
			continue
		}
		lost := 0.01 * float64(n-o.Based()) / n
		for s, want := range []float64{1 - lost, 0.975 - lost, 0.95 - lost, 0.925 - lost,
			0.9 - lost, 0.875 - lost} {
			got, err := j.KeepsOnSpot(ctx, o, n, 95, candidate.AsPredicted(), uint64(s))
			testkit.OK(t, err)
			if math.Abs(got.Kept.Mean-want) > 1e-9 || got.Target != 0.9 || got.Kept.Half != 0 ||
				strings.Contains(got.Limit, "preempted 36 times an hour") != (s < 3 || s == 4) ||
				got.Keeps() != (s < 3) {
				t.Errorf("a base of %d, seed %d: %+v, want %g", o.Based(), s, got, want)
			}
		}
		for seeds, want := range [][]float64{1: {1, 0}, 2: {0.9875, 0}, 3: {0.975, 0},
			4: {0.9625, 1}, 5: {0.95, 1}} {
			if seeds == 0 {
				continue
			}
			got, err := j.KeepsOnSpotOver(ctx, o, n, candidate.AsPredicted(), j.SeedsBelow(seeds))
			testkit.OK(t, err)
			if math.Abs(got.Kept.Mean-want[0]+lost) > 1e-9 || got.Growing != (want[1] == 1) {
				t.Errorf("%d seeds: %+v, want %g", seeds, got, want[0]-lost)
			}
			kept, share, err := j.Keeps(ctx, o, n, candidate.AsPredicted(), seeds)
			testkit.OK(t, err)
			if seeds == 5 { // a probability takes four
				got.Kept.Mean = 0.9625 - lost
				share = math.Round(1e9*share) / 1e9
				got.Kept.Mean = math.Round(1e9*got.Kept.Mean) / 1e9
			}
			if kept != got.Keeps() || share != got.Kept.Mean {
				t.Errorf("%d seeds: %v and %g, %+v", seeds, kept, share, got)
			}
		}
		first, err := j.KeepsOnSpotOver(ctx, o, n, candidate.AsPredicted(), []uint64{3, 0})
		testkit.OK(t, err)
		if !first.Growing || first.Latencies["mean_e2el_ms"] != 1000 {
			t.Errorf("the first of two seeds grows: %+v", first)
		}
		for seeds, want := range map[int]float64{2: 0.9875, 12: 0.9625} {
			j.Seeds = seeds
			d, err := j.Decide(ctx, o, n, candidate.AsPredicted())
			testkit.OK(t, err)
			if d.Kept != (seeds == 2) || !d.Sure || d.Far || d.Missing != 1 ||
				math.Abs(d.Share-want+lost) > 1e-9 {
				t.Errorf("%+v, want a share of %g", d, want-lost)
			}
		}
		for _, rate := range []float64{95, 161} {
			j.Rate = rate
			v, err := j.Enough(ctx, o, n)
			testkit.OK(t, err)
			at, err := j.Sustains(ctx, o, n, rate)
			testkit.OK(t, err)
			if v.Sustained != (rate == 95) || at.Sustained != v.Sustained || v.Rate != rate/n ||
				at.Rate != rate/n {
				t.Errorf("%g/s: %+v, %+v", rate, v, at)
			}
		}
		j.Rate = 95
		l, err := j.InterruptedFleet(ctx, o, n, 95, candidate.AsPredicted(), 0)
		testkit.OK(t, err)
		one := l.Sustained(n - 1)
		if l.Spot != n-o.Based() || l.Share != float64(l.Spot)/n || l.Step != 1 || l.Rate != 95 ||
			l.Sustained(0) != n*one || one > each || one < 0.96*each {
			t.Errorf("%+v sustains %g with one replica", l, one)
		}
		if t7, err := l.Simulate(ctx, 7); err != nil || t7.Kept.Mean != 0 {
			t.Errorf("9 of 16 serve 95/s: %+v, %v", t7, err)
		}
	}
}

// The rate of one replica is the highest of a grid that it sustains with the errors asked about.
// What chance says against the errors that decide is not believed.
func TestTheRateOfOneReplica(t *testing.T) {
	j, options, law := stubbed(t, steadyPlan)
	o, base := options[0], j.Trials.File.Plan.Seed
	o.Slow = 2
	rate := func(w candidate.ErrorFactors, seed uint64) float64 {
		got, err := j.Alone(t.Context(), o, w, seed)
		testkit.OK(t, err)
		return got
	}
	highest := func(ceiling, most float64) float64 {
		g := RateGrid{Ceiling: ceiling}
		for place := range Grid + 1 {
			if place > 0 && g.Rate(place) <= most {
				return g.Rate(place)
			}
		}
		return 0
	}
	for _, steps := range []float64{1, 2, 4} {
		want := highest(40/steps, each/steps)
		if got := rate(late(steps, 1), 0); got != want {
			t.Errorf("at most %g/s with steps of %g, want %g", got, steps, want)
		}
	}
	if len(law.seeds()) != 1 || law.seeds()[0] != base {
		t.Errorf("seeds %v", law.seeds())
	}
	// All rates and none.
	law.obey(t, func(*scenarios.Scenario) Trial { return run(1, 0) })
	if got := rate(late(2, 1), 5); got != highest(20, 20) {
		t.Errorf("at most %g/s, want %g", got, highest(20, 20))
	}
	if seeds := law.seeds(); len(seeds) != 1 || seeds[0] != base+5 {
		t.Errorf("seeds %v, want 5 more than %d", seeds, base)
	}
	law.obey(t, func(*scenarios.Scenario) Trial { return run(0, 0) })
	if got := rate(candidate.AsPredicted(), 0); got != 0 {
		t.Errorf("at most %g/s where none is sustained", got)
	}
	// Slower steps sustain more by chance.
	law.obey(t, func(s *scenarios.Scenario) Trial {
		most := map[float64]float64{1: 4, 2: 6, 4: 8}[s.Engine.Slowdown]
		if float64(s.Workload.Rate.Value) > most {
			return run(0, 0)
		}
		return run(1, 0)
	})
	decided := highest(20, 6)
	for _, steps := range []float64{1, 2, 4} {
		if got := rate(late(steps, 1), 0); got != decided {
			t.Errorf("at most %g/s with steps of %g, want %g", got, steps, decided)
		}
	}
	// The SLO is kept where TTFT is at most twice what is predicted.
	law.obey(t, func(s *scenarios.Scenario) Trial {
		one := byCapacity(s)
		for _, factor := range asked.LateFactors() {
			kept := stats.Interval{}
			if factor <= 2 {
				kept = one.Kept
			}
			one.Clauses[0].Late = append(one.Clauses[0].Late, kept)
		}
		return one
	})
	for late, want := range map[float64]float64{1.5: highest(20, 5), 3: 0} {
		o.Late = asked.LateBy(late)
		if got := rate(candidate.ErrorFactors{Steps: 2, Late: o.Late}, 0); got != want {
			t.Errorf("TTFT %g times as late: at most %g/s, want %g", late, got, want)
		}
	}
}

// A scaled fleet is charged for the replicas that run on average over two seeds, spares among them;
// a fixed one for all.
func TestReplicasThatAreCharged(t *testing.T) {
	j, options, law := stubbed(t, wavePlan)
	seed := j.Trials.File.Plan.Seed
	j.Spare = 3
	fixed, scaled := options[0], options[1]
	if got, err := j.Charge(t.Context(), fixed, 5); err != nil || got != 8 {
		t.Errorf("a fixed fleet of 5 and 3 spares is charged for %g, %v", got, err)
	}
	for _, unused := range []int{0, 1, 2, 4} {
		law.obey(t, func(s *scenarios.Scenario) Trial {
			one := steady(1)
			one.Running = []float64{float64(2 + 3*(s.Seed-seed))}
			if int(s.Seed-seed) < unused {
				one.Unused = 1
			}
			return one
		})
		if got, err := j.Charge(t.Context(), scaled, 5); err != nil || got != 3.5 {
			t.Errorf("a scaled fleet of 2 and 5 replicas is charged for %g, %v", got, err)
		}
		for i := range law.asked {
			pool := &law.asked[i].Fleet.Pools[0]
			if pool.Replicas != 8 || pool.Scaling.Least() != 5 ||
				law.asked[i].Engine.Slowdown != 1 {
				t.Errorf("%+v runs, want 8 of which 2 and 3 spares always do", pool)
			}
		}
		sum, idle, err := j.MeanRunning(t.Context(), scaled, 5, 2)
		if testkit.OK(t, err); sum != 7 || idle != (unused >= 2) {
			t.Errorf("%g run in two seeds, some never: %v", sum, idle)
		}
		v, err := j.Enough(t.Context(), scaled, 5)
		if testkit.OK(t, err); !v.Sustained || v.Unused != (unused == 4) || v.Trial.Kept.Mean != 1 {
			t.Errorf("%+v", v)
		}
	}
	law.obey(t, func(s *scenarios.Scenario) Trial {
		one := run(1-0.2*float64(s.Seed-seed), 0.5)
		one.Unused = 1
		return one
	})
	j.Seeds = 3
	v, err := j.Enough(t.Context(), scaled, 5)
	if testkit.OK(t, err); v.Sustained || !v.Unused || math.Abs(v.Trial.Kept.Mean-0.8) > 1e-12 {
		t.Errorf("shares of 1, 0.8 and 0.6: %+v", v)
	}
	pair := *scaled.Spared(4)
	pair.Parts = &candidate.Parts{Prefill: scaled.Prefill, Decode: scaled.Prefill}
	for _, c := range [][3]int32{{2, 3, 3}, {4, 1, 4}} {
		pair.Prefills, pair.Decodes = c[0], c[1]
		// Of nine groups two and four spares always run.
		for unused, want := range map[int]bool{int(3 * c[2]): false, int(3*c[2]) + 1: true} {
			if got := NeverRan(&pair, &Trial{Unused: unused}, 9); got != want {
				t.Errorf("%v: %d unused of nine groups: %v", c, unused, got)
			}
		}
	}
}

// Fleets are judged by a part where they are larger than 64 replicas that are all alike, and their
// numbers are then found to one in a hundred.
func TestPartsJudgeLargeFleets(t *testing.T) {
	j, options, _ := stubbed(t, steadyPlan)
	o := options[0]
	for n, want := range map[int][2]int{64: {0, 1}, 65: {1, 1}, 99: {1, 1}, 100: {1, 2},
		500: {1, 6}} {
		if j.ByPart(o, n) != (want[0] == 1) || j.Step(o, n) != want[1] {
			t.Errorf("%d replicas: by part %v, in steps of %d", n, j.ByPart(o, n), j.Step(o, n))
		}
	}
	pair := *o
	pair.Parts = &candidate.Parts{Prefill: o.Prefill, Decode: o.Prefill}
	waves, scaled, _ := stubbed(t, wavePlan)
	if j.ByPart(&pair, 500) || j.Step(&pair, 500) != 1 || waves.ByPart(scaled[1], 500) {
		t.Error("groups or scaled fleets are judged by a part")
	}
}

// A probability rests on fewer runs than a decision, unless a trace is resampled. Recorded requests
// are the same with every seed.
func TestRunsOfAProbability(t *testing.T) {
	j, _, _ := stubbed(t, steadyPlan)
	if got := j.SeedsBelow(3); !slices.Equal(got, []uint64{0, 1, 2}) {
		t.Errorf("seeds %v", got)
	}
	for seeds, want := range map[int]int{12: 4, 4: 4, 3: 3} {
		if j.Seeds = seeds; j.Few() != want {
			t.Errorf("of %d runs a probability takes %d", seeds, j.Few())
		}
	}
	j.Seeds = 12
	w := &j.Trials.File.Plan.Workload
	w.Rate, w.Trace = scenarios.Rate{}, &scenarios.Trace{}
	if got := j.SeedsBelow(3); !slices.Equal(got, []uint64{0}) {
		t.Errorf("seeds %v of a trace", got)
	}
}

// A policy of scaling is refused before anything is simulated, with the nearest name.
func TestScalingsAreChecked(t *testing.T) {
	j, options, _ := stubbed(t, wavePlan)
	testkit.OK(t, j.CheckScalings(options))
	j, options, law := stubbed(t, wavePlan, "menu.scaling=[{policy: outstanding, target: 6}, "+
		"{policy: outstandin, target: 7}]")
	err := j.CheckScalings(options)
	if err == nil || !scenarios.IsInputError(err) || !strings.HasPrefix(err.Error(),
		"--set menu.scaling: scaled by outstandin ") ||
		!strings.Contains(err.Error(), "did you mean outstanding") {
		t.Errorf("error %v", err)
	}
	testkit.OK(t, j.CheckScalings(options[:2]))
	options[0].Prefill.Unfit = "too small" // and so are all of the same server
	testkit.OK(t, j.CheckScalings(options))
	if len(law.asked) > 0 {
		t.Errorf("%d simulations", len(law.asked))
	}
}

// A scenario is built at the rate of the search, and refused with its error.
func TestScenariosAreBuilt(t *testing.T) {
	j, options, _ := stubbed(t, steadyPlan)
	s := options[0].Scenario(&j.Trials.File.Plan.Menu, 2, 1)
	built, err := j.Built(s)
	testkit.OK(t, err)
	if got := built.Scenario; got.Workload.Rate.Value != 95 || got.Replicas != 2 {
		t.Errorf("%+v is built", got)
	}
	s.Batching.Policy = "none such"
	if _, err := j.Built(s); err == nil {
		t.Error("an unknown policy is built")
	}
	s.Model = ""
	if _, err := j.Built(s); err == nil {
		t.Error("no model is built")
	}
	if got := j.Money(12.345); got != "$12.3" {
		t.Errorf("%q", got)
	}
	if j.Goal() != &j.Trials.File.Plan.Goal || j.Currency() != j.Trials.File.Plan.Currency {
		t.Error("the goal or the currency is not the plan's")
	}
}

// A closed loop has no rate: there are at most as many replicas as users.
func TestUsersBoundReplicas(t *testing.T) {
	j, options, _ := stubbed(t, steadyPlan)
	j.Rate, j.Trials.File.Plan.Workload.Arrivals.Users = 0, 70
	o := options[0]
	if got := j.Most(o); got != 70 {
		t.Errorf("70 users: %d replicas at most", got)
	}
	if o.Least = 2; j.Most(o) != 128 || j.Fewest(o) != 2 {
		t.Errorf("a load of two: %d replicas at most", j.Most(o))
	}
}

// A fleet is confirmed by draws of the load that no decision saw: it does not matter what the
// draws that decisions take show.
func TestFreshDrawsConfirm(t *testing.T) {
	j, options, law := stubbed(t, steadyPlan)
	ctx, seed := t.Context(), j.Trials.File.Plan.Seed
	for _, freshKeep := range []bool{true, false} {
		law.obey(t, func(s *scenarios.Scenario) Trial {
			if fresh := s.Seed-seed >= MostSeeds; fresh == freshKeep {
				return steady(1)
			}
			return steady(0.5)
		})
		for _, o := range options {
			if o.IsSpot() && (freshKeep || o.Based() > 0) {
				continue // the rate of a replica alone is a decision's
			}
			got, err := j.Confirms(ctx, o, 16)
			testkit.OK(t, err)
			if got != freshKeep {
				t.Errorf("spot %v: confirmed %v, where fresh draws keep the SLO: %v", o.IsSpot(),
					got, freshKeep)
			}
		}
	}
}

// late is factors on steps and on TTFT.
func late(steps, first float64) candidate.ErrorFactors {
	return candidate.ErrorFactors{Steps: steps, Late: asked.LateBy(first)}
}
