package capacity

import (
	"context"
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

// What contradicts a job is an error.
func TestBadJobs(t *testing.T) {
	for change, want := range map[string]string{
		"job: {within: 1h}":                                    "either requests or tokens",
		"job: {within: 1h, tokens: 5, requests: 5}":            "either requests or tokens",
		"job: {tokens: 5}":                                     "within: must be given",
		"job: {tokens: 5, within: 1h}\nslo: {ttft: 1s}":        "slo: has no meaning for a job",
		"job: {tokens: 5, within: 1h}\ngoal: front":            "goal: has no meaning for a job",
		"job: {tokens: 5, until: 1h}":                          `unknown key`,
		"job: {requests: 5, within: 1h}\nfleet: {spare: 1}":    "fleet: has no meaning for a job",
		"job: {requests: 5, within: 1h}\nmodels: [{model: a}]": "models",
	} {
		_, err := asked.Parse("job.yaml",
			[]byte("model: llama-3.1-8b\nworkload: {prompt: 5}\nmenu: "+
				"{hardware: [l4]}\n"+change))
		if !scenarios.IsInputError(err) || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want %q in it", change, err, want)
		}
	}
}
