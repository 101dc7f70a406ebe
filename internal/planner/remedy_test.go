package planner

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/llmsim/llmsim/internal/report/diagnosis"
	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/policies"
	"github.com/llmsim/llmsim/scenarios"
)

// tried runs a scenario and tries what would help.
func tried(t *testing.T, overrides ...string) *scenarios.Result {
	t.Helper()
	return triedText(t, "model: llama-3.1-8b\nhardware: h100-sxm\n"+
		"workload: {rate: 60/s, prompt: 400, output: 150, requests: 2000}\nslo: {ttft: 1s, "+
		"tpot: 50ms}\n", overrides...)
}

func triedText(t *testing.T, text string, overrides ...string) *scenarios.Result {
	t.Helper()
	load := func() (*scenarios.File, error) {
		return scenarios.Parse("scenario", []byte(text), overrides...)
	}
	f, err := load()
	testkit.OK(t, err)
	r, err := f.Run(context.Background(), policies.Default())
	testkit.OK(t, err)
	testkit.OK(t, TryRemedies(context.Background(), load, r))
	return r
}

// What helps is found: a larger batch where the batch is what is too small, and
// then it is named first. A system that keeps its SLO is left alone.
func TestWhatHelpsIsNamed(t *testing.T) {
	if r := tried(t, "workload.rate=5/s"); len(r.Diagnosis.Remedies) > 0 || !r.SLOMet {
		t.Errorf("the SLO is met, and yet: %+v", r.Diagnosis)
	}
	r := tried(t, "batching.max-sequences=32", "workload.rate=40/s")
	best := r.Diagnosis.Remedies[0]
	if r.SLOMet || best.Kept[1] < best.Kept[0]+0.3 {
		t.Fatalf("%+v", r.Diagnosis)
	}
	batch := false
	for _, m := range r.Diagnosis.Remedies {
		if m.Set[0] == "batching.max-sequences=128" {
			batch = m.Kept[1] > m.Kept[0] && m.Price == 1
		}
	}
	if !batch {
		t.Errorf("a larger batch is not tried, or does not help: %+v", r.Diagnosis.Remedies)
	}
	list := diagnosis.Of(r)
	if !slices.ContainsFunc(list, func(words string) bool {
		return strings.HasPrefix(words, "What would help, tried with 1500 requests: ")
	}) {
		t.Errorf("no sentence says what helps: %q", list)
	}
}

// apartPools is a system whose prompts are computed apart, by too few replicas.
const apartPools = `
model: llama-3.1-8b
hardware: h100-sxm
fleet: {pools: [{role: prefill, replicas: 1}, {role: decode, replicas: 1}]}
workload: {rate: 40/s, prompt: 2000, output: 50, requests: 1500}
slo: {ttft: 1s, tpot: 50ms}
batching: {max-sequences: 200}
`

// Of pools that compute prompts and answers apart the one that is too small is found,
// by overrides that can be given as they are printed. What helps less, or is dearer, comes later.
func TestPoolsApart(t *testing.T) {
	r := triedText(t, apartPools)
	if r.Diagnosis.Load != scenarios.Overloaded {
		t.Fatalf("not overloaded: %+v", r.Diagnosis)
	}
	best := r.Diagnosis.Remedies[0]
	if !best.Helps || !best.Met || best.Price <= 1 ||
		!strings.HasPrefix(best.Set[0], "fleet.pools.0.replicas=") {
		t.Errorf("the best remedy is %+v", best)
	}
	decode, chunks := 0, 0
	for _, m := range r.Diagnosis.Remedies {
		if strings.HasPrefix(m.Set[0], "fleet.pools.0.batching={") {
			chunks++
		}
		if len(m.Set) == 1 && strings.HasPrefix(m.Set[0], "fleet.pools.1.") && m.Helps {
			decode++
		}
		if again := triedText(t, apartPools, m.Set...); again.Attainment.All != m.Kept[1] ||
			again.SLOMet != m.Met {
			t.Errorf("%s: %g of the requests meet the SLO, %g were announced", m.Set,
				again.Attainment.All, m.Kept[1])
		}
	}
	if chunks == 0 {
		t.Error("no other chunk budget was tried for prefill replicas, which share their batching")
	}
	if decode > 0 {
		t.Errorf("%d changes of decode replicas are said to help", decode)
	}
}

// Doing what a remedy says gives what it announced.
func TestRemediesHold(t *testing.T) {
	r := tried(t, "batching.max-sequences=32", "workload.requests=400")
	for _, m := range r.Diagnosis.Remedies {
		if again := tried(t, "batching.max-sequences=32", "workload.requests=400",
			m.Set[0]); again.Attainment.All != m.Kept[1] {
			t.Errorf("%s: %g of the requests meet the SLO, %g were announced", m.Set[0],
				again.Attainment.All, m.Kept[1])
		}
	}
}

// waveLoad is a load that begins in its trough and misses its SLO at its peak, for one replica.
const waveLoad = "model: llama-3.1-8b\nhardware: h100-sxm\nworkload: {rate: {pattern: wave, " +
	"average: 20/s, swing: 0.9, period: 10m, peak: 5m}, prompt: 900, output: 200, " +
	"duration: 10m}\nslo: {ttft: 1s, tpot: 30ms, percentile: 95}\n"

// What helps is tried where the fault shows: with all of a load that changes. Where its first
// requests keep the SLO and it is too long for that, nothing is said.
func TestRemediesAreTriedWhereTheFaultShows(t *testing.T) {
	r := triedText(t, waveLoad)
	if len(r.Diagnosis.Remedies) == 0 {
		t.Fatal("nothing was tried")
	}
	best := r.Diagnosis.Remedies[0]
	if r.SLOMet || !best.Met || !best.Helps || best.Set[0] != "replicas=2" ||
		best.Requests != r.Sent() || best.Kept[0] != r.Attainment.All {
		t.Errorf("of %d requests %g keep the SLO; best: %+v", r.Sent(), r.Attainment.All, best)
	}
	if again := triedText(t, waveLoad, best.Set...); again.Attainment.All != best.Kept[1] {
		t.Errorf("%g of the requests meet the SLO, %g were announced", again.Attainment.All,
			best.Kept[1])
	}
	long := triedText(t, waveLoad, "workload.rate.period=120m", "workload.rate.peak=60m",
		"workload.duration=120m", "workload.output=50", "workload.rate.average=30/s")
	if long.SLOMet || long.Begun() <= mostWhole || len(long.Diagnosis.Remedies) > 0 {
		t.Errorf("of %d requests %g keep the SLO: %+v", long.Begun(), long.Attainment.All,
			long.Diagnosis.Remedies)
	}
	const up, over = scenarios.KeepsUp, scenarios.Overloaded
	for _, c := range []struct {
		first, whole *scenarios.Result
		want         bool
	}{
		{after(up, true, 1, 1), after(up, false, 0.5, 1), false},
		{after(up, false, 0.8, 1), after(up, false, 0.5, 1), true},
		{after(up, false, 0.8, 1), after(over, false, 0.5, 1), false},
		{after(over, false, 0.8, 1), after(over, false, 0.5, 1), true},
		{after(over, true, 1, 1), after(over, true, 1, 1), true},
	} {
		if showsFault(c.first, c.whole) != c.want {
			t.Errorf("%+v of %+v", c.first.Diagnosis, c.whole.Diagnosis)
		}
	}
}

// Static batches give all tokens of an answer at once: there is no TPOT to speak of. Without a
// price of the accelerator, a remedy has none.
func TestWhatIsNotThereIsNotTold(t *testing.T) {
	r := triedText(t, "model: llama-3.1-8b\nhardware: mi355x\nbatching: {policy: static, "+
		"batch-size: 4}\nworkload: {rate: 16/s, prompt: 500, output: 100, requests: 300}\n"+
		"slo: {ttft: 300ms, tpot: 20ms}\n")
	words := strings.Join(diagnosis.Remedies(r.Diagnosis), " ")
	if !strings.Contains(words, "would help") || strings.Contains(words, "TPOT") ||
		strings.Contains(words, "times the price") {
		t.Error(words)
	}
}

// What helps a scenario helps it with all defaults written out, too, by the same changes. The
// longest context is given: by itself it is what the cache holds, which a larger chunk budget makes
// less.
func TestRemediesOfDefaultsWrittenOut(t *testing.T) {
	text := "model: llama-3.1-8b\nhardware: l4\nengine: {max-model-len: 4096}\n" +
		"fleet: {pools: [{name: a, replicas: 2}, " +
		"{name: b, batching: dynamic, replicas: 1}]}\nworkload: {requests: 60, rate: 9/s}\n" +
		"slo: {ttft: 100ms}\n"
	f, err := scenarios.Parse("scenario", []byte(text))
	testkit.OK(t, err)
	s, err := f.Build(policies.Default())
	testkit.OK(t, err)
	all, err := s.Explain()
	testkit.OK(t, err)
	want := triedText(t, text).Diagnosis.Remedies
	got := triedText(t, string(all)).Diagnosis.Remedies
	if d := cmp.Diff(want, got); d != "" || len(want) < 2 {
		t.Errorf("remedies of the scenario (-), and of the one with all defaults (+): %s", d)
	}
}

// Remedies that meet the SLO come first, the cheapest of them before the others; of others the one
// that helps most requests, and of equals the cheaper. The order is the reverse if swapped.
func TestOrderOfRemedies(t *testing.T) {
	remedy := func(met bool, price, kept float64) scenarios.Remedy {
		return scenarios.Remedy{Met: met, Price: price, Kept: [2]float64{0.1, kept}}
	}
	sorted := []scenarios.Remedy{remedy(true, 1, 0.99), remedy(true, 1, 0.98), remedy(true, 2, 1),
		remedy(false, 2, 0.9), remedy(false, 1, 0.5), remedy(false, 3, 0.5)}
	for i, a := range sorted {
		for j, b := range sorted {
			if got, want := better(a, b), i-j; got*want < 0 || (got == 0) != (want == 0) {
				t.Errorf("%d against %d: %d", i, j, got)
			}
		}
	}
}

// after returns a result of a run of 2 hours for a price, with a share that keeps the SLO.
func after(load scenarios.LoadState, met bool, kept, cost float64) *scenarios.Result {
	r := &scenarios.Result{Cost: cost, Diagnosis: &scenarios.Diagnosis{Load: load}}
	r.SLOMet, r.Attainment.All, r.Duration = met, kept, 7200
	return r
}

// What helps an overloaded system is that it keeps up; else, that the SLO is met, or that 1 % more
// of the requests meet it. Prices are of an hour.
func TestWhatCountsAsHelp(t *testing.T) {
	const up, over = scenarios.KeepsUp, scenarios.Overloaded
	for _, c := range []struct {
		before, after *scenarios.Result
		want          bool
	}{
		{after(over, false, 0.5, 1), after(over, true, 1, 1), false},
		{after(over, false, 0.5, 1), after(up, false, 0.5, 1), true},
		{after(up, false, 0.5, 1), after(up, true, 0.5, 1), true},
		{after(up, true, 0.5, 1), after(up, true, 0.5, 1), false},
		{after(up, false, 0.5, 1), after(up, false, 0.5+worthwhile, 1), true},
		{after(up, false, 0.5, 1), after(up, false, 0.509, 1), false},
		{after(up, false, 0.5, 1), after(over, false, 0.4, 1), false},
	} {
		if helps(c.before, c.after) != c.want {
			t.Errorf("%+v after %+v", c.after.Diagnosis, c.before.Diagnosis)
		}
	}
	twice := after(up, true, 1, 6)
	twice.Duration = 3600
	for _, c := range []struct {
		before, after *scenarios.Result
		want          float64
	}{{after(up, true, 1, 3), twice, 4}, {twice, after(up, true, 1, 3), 0.25},
		{after(up, true, 1, 0), twice, 0}, {twice, after(up, true, 1, 0), 0},
		{after(up, true, 1, 3), after(up, true, 1, 3*(1+1e-12)), 1}} {
		if got := price(c.before, c.after); got != c.want {
			t.Errorf("a price of %g, want %g", got, c.want)
		}
	}
	before, now := after(up, false, 0.5, 1), after(over, true, 0.75, 2)
	before.P99TTFT, now.P99TTFT, before.P99TPOT, now.P99TPOT = 1, 2, 3, 4
	before.Completed, now.Completed = 7, 8
	c := candidate{words: "w", set: []string{"k=1"}}
	want := scenarios.Remedy{Change: "w", Set: c.set, Requests: 7, Met: true, Load: over,
		Kept: [2]float64{0.5, 0.75}, TTFT: [2]float64{1, 2}, TPOT: [2]float64{3, 4}, Helps: true,
		Price: 2}
	if d := cmp.Diff(want, c.remedy(before, now)); d != "" {
		t.Error(d)
	}
}

// An overloaded pool needs its replicas times what arrives over what is served, sixteen times at
// most, and at least one more.
func TestMissingReplicas(t *testing.T) {
	for _, c := range []struct {
		replicas        int
		offered, served float64
		want            int
	}{{1, 10, 5, 1}, {2, 10, 4, 3}, {4, 10, 10, 1}, {3, 100, 1, 45}, {1, 10, 0, 15},
		{0, 30, 10, 2}, {3, 30.000000001, 10, 6}, {10, 10.1, 10, 1}, {10, 11.1, 10, 2}} {
		s := &scenarios.Scenario{Replicas: c.replicas}
		r := &scenarios.Result{Diagnosis: &scenarios.Diagnosis{}}
		r.OfferedRate, r.Diagnosis.Served = c.offered, c.served
		p := poolsOf(s)[0]
		if got := p.missing(s, r); got != c.want {
			t.Errorf("%+v: %d are missing", c, got)
		}
		more := p.larger(s, 2)
		n := max(1, c.replicas) + 2
		if more.apply(s); s.Replicas != n || more.set[0] != fmt.Sprintf("replicas=%d", n) {
			t.Errorf("two more than %d: %+v", c.replicas, more)
		}
	}
	pools := func(n ...int) *scenarios.Scenario {
		s := &scenarios.Scenario{Replicas: 2}
		for _, k := range n {
			s.Fleet.Pools = append(s.Fleet.Pools, scenarios.Pool{Replicas: k})
		}
		return s
	}
	for want, s := range map[int]*scenarios.Scenario{2: pools(), 5: pools(2, 3), 3: pools(3),
		1: {}} {
		if got := replicas(s); got != want {
			t.Errorf("%d replicas, want %d", got, want)
		}
	}
	one := poolsOf(&scenarios.Scenario{})[0]
	if c := one.larger(&scenarios.Scenario{}, 1); c.words != "a second replica" {
		t.Errorf("one more is %q", c.words)
	}
	if c := one.larger(&scenarios.Scenario{Replicas: 2}, 1); c.words !=
		"3 replicas in place of 2" {
		t.Errorf("one more than two is %q", c.words)
	}
}

// The candidates of pools, by hand: what a pool computes decides what is tried for it, a batch only
// where it was full, and all pools at once where the system is overloaded. Each sets what its
// override says, and nothing else.
func TestCandidatesByHand(t *testing.T) {
	f, err := scenarios.Parse("scenario", []byte(apartPools))
	testkit.OK(t, err)
	built, err := f.Build(policies.Default())
	testkit.OK(t, err)
	testkit.OK(t, built.Source.Close())
	s := &built.Scenario
	sets := func(load scenarios.LoadState, peak int) (list []string) {
		r := &scenarios.Result{Diagnosis: &scenarios.Diagnosis{Load: load, Served: 10}}
		r.OfferedRate, r.PeakBatch = 30, peak
		for _, c := range candidates(s, r) {
			list = append(list, strings.Join(c.set, " "))
		}
		return list
	}
	count := func(list []string, part string) (n int) {
		for _, set := range list {
			if strings.Contains(set, part) {
				n++
			}
		}
		return n
	}
	calm, busy := sets(scenarios.KeepsUp, 199), sets(scenarios.Overloaded, 200)
	for _, c := range []struct {
		part       string
		calm, busy int
	}{
		{"fleet.pools.0.replicas=2", 1, 1}, {"fleet.pools.1.replicas=2", 1, 1},
		{"fleet.pools.0.replicas=3", 0, 2}, {"fleet.pools.1.replicas=3", 0, 2},
		{"fleet.pools.0.replicas=3 fleet.pools.1.replicas=3", 0, 1},
		{"fleet.pools.0.batching", 2, 2}, {"fleet.pools.1.batching", 0, 1},
		{"max-sequences: 800", 0, 1},
	} {
		if x, y := count(calm, c.part), count(busy, c.part); x != c.calm || y != c.busy {
			t.Errorf("%q is tried %d and %d times, want %d and %d\n%q\n%q", c.part, x, y, c.calm,
				c.busy, calm, busy)
		}
	}
	if len(calm) != 4 || len(busy) != 8 {
		t.Errorf("tried %q and %q", calm, busy)
	}
}
