package capacity

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/llmsim/llmsim/internal/planner/capacity/asked"
	"github.com/llmsim/llmsim/internal/planner/capacity/candidate"
	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/policies"
	"github.com/llmsim/llmsim/scenarios"
)

// scaledMenu asks for a fleet under a wave, with the whole menu or a part of it.
func scaledMenu(whole bool) string {
	const head = `
model: llama-3.1-8b
workload: {rate: {pattern: wave, average: 10/s, swing: 0.95, period: 20m, peak: 10m}, prompt: 900, output: 60}
slo: {ttft: 1s, tpot: 40ms, percentile: 95}
effort: {requests: 200, most-requests: 400}
menu:
`
	if !whole {
		return head + `
  hardware: [l40s, a100-80gb-sxm]
  tensor: [1]
  scaling:
    - {policy: outstanding, target: 6, min: 1..2, keep: 30s, cold-start: {boot: 20s, disk: xeon-8480}}
`
	}
	return head + `
  hardware: [l40s, a100-80gb-sxm, h100-sxm, a40]
  tensor: [1, 2]
  weights: [bf16, fp8]
  batching: [{max-sequences: 64}, {max-sequences: 256, token-budget: 2048}]
  scaling:
    - {policy: outstanding, target: 5, min: 1..3, keep: 30s, cold-start: {boot: 20s, disk: xeon-8480}}
    - {policy: outstanding, target: 8, min: 1..3, keep: 30s, cold-start: {boot: 20s, disk: xeon-8480}}
    - {policy: utilization, target: 0.5, min: 1..3, keep: 30s, cold-start: {boot: 20s, disk: xeon-8480}}
    - {policy: queue, per-replica: 1, min: 1..3, keep: 30s, cold-start: {boot: 20s, disk: xeon-8480}}
    - {policy: forecast, per-replica: 4, ahead: 40s, min: 1..3, keep: 30s, cold-start: {boot: 20s, disk: xeon-8480}}
`
}

// The answer of a menu with scaling is that of every fleet, simulated whole: of each option every
// number of replicas up to the first that is not used at once. No fleet runs fewer replicas on
// average than the bound.
func TestScaledFleetsAreThoseOfExhaustiveSearch(t *testing.T) {
	if testing.Short() {
		t.Skip("simulates every fleet of a menu")
	}
	testkit.Dear(t)
	planned, trials := checked(t, scaledMenu(*long), 0)
	if planned.best < 0 {
		t.Fatal("no fleet keeps the SLO: nothing is tested")
	}
	every, allTrials := prepared(t, scaledMenu(*long))
	best, replicas, running := -1, 0, 0.0
	for i, o := range every.options {
		n, mean := leastFleet(t, every, o)
		if n == 0 {
			continue
		}
		if o.Scaled() && mean < o.Scaling.Mean {
			t.Errorf("%s: %g replicas run on average, below the bound %g", every.label(i), mean,
				o.Scaling.Mean)
		}
		if best < 0 || cmp.Or(cmp.Compare(mean*o.Price, running*every.options[best].Price),
			cmp.Compare(candidate.Rank(o.Grade), candidate.Rank(every.options[best].Grade)),
			cmp.Compare(n*o.GPUs, replicas*every.options[best].GPUs)) < 0 {
			best, replicas, running = i, n, mean
		}
	}
	if planned.best != best || planned.outcomes[best].replicas != replicas {
		t.Errorf("planned %s, exhaustive search finds %s", bestOf(planned, planned.best),
			answerOf(every, best, replicas))
	}
	needed, all := trials.Count(), allTrials.Count()
	t.Logf("%d options, %d simulations, exhaustive %d; %s", len(every.options), needed, all,
		bestOf(planned, planned.best))
	if most := map[bool]int{false: 50, true: 3}[*long]; 100*needed > most*all {
		t.Errorf("%d simulations, exhaustive search needs %d: more than %d %%", needed, all, most)
	}
}

// leastFleet returns the cheapest number of replicas of an option that keeps the SLO, and how many
// of them run on average; 0 where none does.
func leastFleet(t *testing.T, s *search, o *candidate.Option) (replicas int, running float64) {
	t.Helper()
	if o.Unfit() != "" {
		return 0, 0
	}
	running = math.Inf(1)
	for n := max(1, o.Always()); n <= min(12, s.Allowed(o)-s.Spare); n++ {
		ok, _, err := s.Keeps(context.Background(), o, n, o.Worst(), s.Seeds)
		testkit.OK(t, err)
		mean, err := s.Charge(context.Background(), o, n)
		testkit.OK(t, err)
		if ok && mean < running*(1-1e-9) {
			replicas, running = n, mean
		}
	}
	return replicas, running
}

// A fleet of all accelerators that there are is found, also where their number is not one that
// doubling comes to.
func TestScaledFleetsOfAllThereIs(t *testing.T) {
	text := strings.Replace(scaledMenu(false), "[l40s, a100-80gb-sxm]",
		"[{accelerator: l40s, count: 3}]", 1)
	text = strings.Replace(text, "average: 10/s", "average: 2.8/s", 1)
	s, _ := prepared(t, text)
	testkit.OK(t, s.answer(t.Context()))
	if s.best < 0 || !s.chosen().Scaled() || s.size() != 3 {
		t.Errorf("planned %s, want 3 replicas, scaled", bestOf(s, s.best))
	}
}

// Phases of one class end, and the steady rate of another does not.
func TestScaledLoadsMustEnd(t *testing.T) {
	text := `
model: llama-3.1-8b
workload:
  classes:
    - {name: a, rate: {pattern: phases, phases: [{rate: 1/s, for: 60s}]}, prompt: 100, output: 10}
    - {name: b, rate: 1/s, prompt: 100, output: 10}
slo: {ttft: 1s}
menu: {hardware: [l40s], scaling: [outstanding]}
`
	_, err := asked.Parse("plan.yaml", []byte(text))
	if err == nil || !strings.Contains(err.Error(), "has no end") {
		t.Errorf("found %v, want that the load has no end", err)
	}
}

// What a plan says of a scaled fleet and its spares is what its scenario shows: a recorded load has
// one run, so that both are the same.
func TestScaledFleetCostsWhatItsScenarioDoes(t *testing.T) {
	path := filepath.Join(t.TempDir(), "day.csv")
	var b strings.Builder
	b.WriteString("arrival_s,prompt_tokens,output_tokens\n")
	at := 0.0
	for at < 900 {
		rate := 2.0
		if at > 300 && at < 600 { // requests a second
			rate = 14
		}
		at += 1 / rate
		fmt.Fprintf(&b, "%.2f,1200,80\n", at)
	}
	testkit.OK(t, os.WriteFile(path, []byte(b.String()), 0o666))
	a := solve(t, "many-users", "workload={trace: "+path+"}", "slo={ttft: 2s, percentile: 90}",
		"menu={hardware: [l40s], tensor: [1], scaling: [{policy: outstanding, target: 5, "+
			"keep: 60s}]}",
		"fleet={spare: 1}")
	d := a.Chosen
	if d == nil || d.Scaled == nil {
		t.Fatalf("chosen %+v, want a scaled fleet", d)
	}
	if f := d.Scaled; f.Fewest != 2 || f.Mean >= float64(d.Replicas) || f.Mean < 2 {
		t.Errorf("%g of %d to %d replicas run on average", f.Mean, f.Fewest, d.Replicas)
	}
	file, err := scenarios.Parse("answer.yaml", []byte(d.Scenario))
	testkit.OK(t, err)
	simulation, err := file.Build(policies.Default())
	testkit.OK(t, err)
	r, err := simulation.Run(t.Context())
	testkit.OK(t, err)
	last, err := strconv.ParseFloat(fmt.Sprintf("%.2f", at), 64)
	testkit.OK(t, err)
	if got := r.Cost / (last - 0.5) * 3600; math.Abs(got/d.Hourly-1) > 1e-9 {
		t.Errorf("the plan says $%g an hour, its scenario costs $%g", d.Hourly, got)
	}
	if !r.SLOMet {
		t.Errorf("its scenario keeps %v", r.Attainment)
	}
}
