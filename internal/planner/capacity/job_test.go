package capacity

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/llmsim/llmsim/internal/planner/capacity/asked"
	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/scenarios"
	"github.com/llmsim/llmsim/scenarios/evidence"
)

const jobText = `
model: llama-3.1-8b
workload: {prompt: {distribution: lognormal, mean: 600, cv: 0.6, max: 4000}, output: {distribution: exponential, mean: 80, max: 600}}
job: {tokens: 10000000, within: 200s}
menu: {hardware: [l4, l40s, a100-80gb-sxm, {accelerator: h100-sxm, count: 2}], tensor: [1, 2], weights: [fp8], batching: [{max-sequences: 16}, {max-sequences: 128}, {token-budget: 2048}]}
`

// The fleet for a job costs the least of all that are in time; what is said of it and of others is
// what they take when the whole job is simulated, and in time.
func TestJob(t *testing.T) {
	testkit.Dear(t)
	s, _ := prepared(t, jobText)
	g := goalOf(s).(*jobGoal)
	if err := g.find(context.Background()); err != nil || s.best < 0 {
		t.Fatal("no answer", err)
	}
	requests, found := g.requests, g.all
	if l := s.load(); math.Abs(float64(requests)*(l.Prompt+l.Output)/l.Requests/10e6-1) > 1e-3 {
		t.Errorf("%d requests are not 10 million tokens", requests)
	}
	every, _ := prepared(t, jobText)
	every.outcomes = make([]outcome, len(every.options))
	each := &jobGoal{search: every, requests: requests}
	simulated := 0
	for i, o := range every.options {
		if o.Unfit() != "" {
			continue
		}
		simulated++
		j := &jobFleet{option: i}
		testkit.OK(t, each.timeJob(context.Background(), j))
		if j.replicas > 0 && j.dollars < found[0].dollars*(1-1e-9) {
			t.Errorf("%s does it for $%g, the answer for $%g", every.label(i), j.dollars,
				found[0].dollars)
		}
	}
	if len(found) == simulated {
		t.Errorf("all of %d options were simulated", simulated)
	}
	for _, j := range found {
		o := s.options[j.option]
		whole, err := s.Trials.Trial(context.Background(),
			o.Scenario(&s.Trials.File.Plan.Menu, j.replicas, o.Slow), 0, requests)
		testkit.OK(t, err)
		if whole.Seconds > 200 || math.Abs(whole.Seconds-j.total) > 1e-9*j.total {
			t.Errorf("the whole job takes %g s with %d of %s, want %g s and at most 200 s",
				whole.Seconds, j.replicas, s.label(j.option), j.total)
		}
	}
}

// Where the cheapest fleet for a job was not measured, the cheapest of all that were is known too.
func TestAJobHasAMeasuredFallback(t *testing.T) {
	s, _ := prepared(t, `
model: llama-3.1-8b
workload: {prompt: 1200, output: 50}
job: {requests: 20000, within: 15m}
menu: {hardware: [l40s, a100-80gb-sxm, h100-sxm], tensor: [1, 2], weights: [bf16, fp8], tune: none}
`)
	g := goalOf(s).(*jobGoal)
	testkit.OK(t, g.find(t.Context()))
	found := g.all
	measured := func(i int) bool { return s.options[i].Grade == evidence.Measured }
	if len(found) == 0 || measured(found[0].option) {
		t.Fatalf("%d fleets, and the first was measured", len(found))
	}
	k := slices.IndexFunc(found, func(j *jobFleet) bool { return measured(j.option) })
	if k < 0 {
		t.Fatal("no fleet was measured")
	}
	for i, o := range s.options {
		if o.Unfit() != "" || !measured(i) {
			continue
		}
		j := &jobFleet{option: i}
		testkit.OK(t, g.timeJob(t.Context(), j))
		if j.replicas > 0 && j.dollars < found[k].dollars {
			t.Errorf("%s does it for $%g, the fallback %s for $%g", s.label(i), j.dollars,
				s.label(found[k].option), found[k].dollars)
		}
	}
	sure, _ := evidence.Measured.Supported(0.95, false)
	if done := g.jobDone(found[k]); done.Grade != evidence.Measured || done.InTime < sure-1e-9 {
		t.Errorf("%+v, want a measured fleet that is in time in as many cases as "+
			"are known of the asked share", done)
	}
}

// jobAtHours finds the fleet of a job on accelerators with prices by hour.
func jobAtHours(t *testing.T, job, byHour string) (*jobGoal, *jobFleet) {
	t.Helper()
	s, _ := prepared(t, fmt.Sprintf(`
model: llama-3.1-8b
workload: {prompt: 1000, output: 120}
job: {requests: 12000, %s}
menu:
  hardware: [{accelerator: l4, price: $1/h, count: 8%s}]
  tensor: [1]
  tune: none
`, job, byHour))
	g := goalOf(s).(*jobGoal)
	if err := g.find(context.Background()); err != nil || len(g.all) != 1 {
		t.Fatalf("%d fleets (%v)", len(g.all), err)
	}
	return g, g.all[0]
}

// A job runs in hours that cost no more than to run at once, and with one price at once. Each of
// its runs is what the simulated fleet takes for the requests of the run, the last is in time, and
// its price is what the hours cost. More time never costs more, but for 1 %: hours are chosen by
// the time of one replica, which is about the simulated one.
func TestAJobRunsInTheCheapestHours(t *testing.T) {
	testkit.Dear(t)
	rng := testkit.Rand(t)
	waits := 0
	for range testkit.Cases(12) {
		var b asked.ByHour
		for h := range b {
			b[h] = float64(1+rng.IntN(6)) / 4
		}
		hours, start, from := 3+rng.IntN(28), 1+rng.IntN(20), rng.IntN(24)
		within := func(hours int) string {
			return fmt.Sprintf("within: %dh, start: %dm", hours, start)
		}
		at := fmt.Sprintf(", from: %d", from)
		g, j := jobAtHours(t, within(hours)+at, fmt.Sprintf(", by-hour: %s", b))
		_, once := jobAtHours(t, within(hours), "")
		_, equal := jobAtHours(t, within(hours)+at, ", by-hour: 0..24 at 1")
		if equal.replicas != once.replicas || math.Abs(equal.dollars-once.dollars) > 1e-9 ||
			len(equal.runs) != 1 || equal.runs[0].From != 0 {
			t.Fatalf("%+v where all hours cost the same, %+v without hours", equal, once)
		}
		price := func(from, to float64) (sum float64) { // from minute to minute
			const parts = 3600
			for k := range parts {
				at := from + (to-from)*(float64(k)+0.5)/parts
				sum += b.At(g.Trials.File.Plan.Job.From+int(at)) * (to - from) / parts
			}
			return sum
		}
		atOnce := float64(once.replicas) * price(0, once.total/3600)
		if math.Abs(j.atOnce/atOnce-1) > 0.01 || j.dollars > j.atOnce {
			t.Fatalf("$%g, at once $%g, want $%g at once", j.dollars, j.atOnce, atOnce)
		}
		if j.runs[0].From > 0 || len(j.runs) > 1 {
			waits++
		}
		requests, dollars, before := int64(0), 0.0, -1.0
		for _, r := range j.runs {
			o := g.options[j.option]
			sim, err := g.Trials.Trial(context.Background(),
				o.Scenario(&g.Trials.File.Plan.Menu, j.replicas, o.Slow), 0, r.Requests)
			if took := sim.Seconds/3600 + float64(start)/60; err != nil || r.From <= before ||
				math.Abs(r.From+took-r.To) > 1e-9 || r.To > float64(hours) {
				t.Fatalf("%+v after %g takes %g hours of %d (%v)", r, before, took, hours, err)
			}
			before, requests = r.To, requests+r.Requests
			dollars += float64(j.replicas) * price(r.From, r.To)
		}
		if requests != 12000 || math.Abs(j.dollars/dollars-1) > 0.01 || j.slack < 1 {
			t.Fatalf("%d requests for $%g, want $%g: %+v", requests, j.dollars, dollars, j)
		}
		if _, more := jobAtHours(t, within(hours+6)+at, fmt.Sprintf(", by-hour: %s", b)); more.
			dollars > 1.01*j.dollars {
			t.Fatalf("$%g in %d hours, $%g in 6 more", j.dollars, hours, more.dollars)
		}
	}
	if waits == 0 {
		t.Error("no job waited for cheaper hours")
	}
}

// What contradicts a job is an error.
func TestBadJobs(t *testing.T) {
	hours := func(words string) string {
		return "menu: {hardware: [{accelerator: l4, price: $1/h, by-hour: " + words + "}]}"
	}
	night := hours("22..6 at 0.6")
	for change, want := range map[string]string{
		"job: {within: 1h}":                                    "either requests or tokens",
		"job: {within: 1h, tokens: 5, requests: 5}":            "either requests or tokens",
		"job: {tokens: 5}":                                     "within: must be given",
		"job: {tokens: 5, within: 1h}\nslo: {ttft: 1s}":        "slo: has no meaning for a job",
		"job: {tokens: 5, within: 1h}\ngoal: front":            "goal: has no meaning for a job",
		"job: {tokens: 5, until: 1h}":                          `unknown key`,
		"job: {requests: 5, within: 1h}\nfleet: {spare: 1}":    "fleet: has no meaning for a job",
		"job: {requests: 5, within: 1h}\nmodels: [{model: a}]": "models",
		"job: {requests: 5, within: 1h, start: 1h}":            "job.yaml:4: job.start: found 1h",
		"job: {requests: 5, within: 1h, from: 24}":             "job.from: found 24",
		"job: {requests: 5, within: 1h, from: 8}": "job.yaml:4: job.from: has no meaning without " +
			"a price",
		night + "\njob: {requests: 5, within: 1h}": "job.from: must be given where",
		night + "\njob: {requests: 5, within: 200h, from: 8}": "job.within: found " +
			"200h; where a price differs by hour, want at most 7d",
		night + "\ngoal: {find: throughput, budget: $4/h}": "menu.hardware.0.by-hour: " +
			"found a price of l4 that differs by hour, 22..6 at 0.6, and no job",
		hours("22..25 at 0.6"):                `found "22..25 at 0.6"; want hours from 0 to 24`,
		hours("6..6 at 0.6"):                  `found "6..6 at 0.6"; want`,
		hours("22..6 at 11"):                  `found "22..6 at 11"; want`,
		hours("22..6 at 0.5x"):                `found "22..6 at 0.5x"; want`,
		hours("22..6 at 0.6 and 5..7 at 0.9"): "found two prices for 5..6",
		hours("22..6 at 0.6, term: reserved"): "by-hour: applies only where term is on-demand or " +
			"spot; here it is reserved",
	} {
		menu := "menu: {hardware: [l4]}\n"
		if strings.HasPrefix(change, "menu") {
			menu = ""
		}
		_, err := asked.Parse("job.yaml",
			[]byte("model: llama-3.1-8b\nworkload: {prompt: 5}\n"+menu+change))
		if !scenarios.IsInputError(err) || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want %q in it", change, err, want)
		}
	}
}
