package capacity

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/llmsim/llmsim/internal/planner"
	"github.com/llmsim/llmsim/internal/planner/capacity/answer"
	"github.com/llmsim/llmsim/internal/planner/capacity/asked"
	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/policies"
	"github.com/llmsim/llmsim/scenarios"
)

// solve answers a shipped plan, and leaves settings to the engine's defaults.
func solve(t *testing.T, name string, overrides ...string) *answer.Answer {
	t.Helper()
	return solveAll(t, name, append(overrides, untuned)...).Models[0]
}

// untuned leaves settings to the engine's defaults. TestShippedPlans answers a plan as it is
// shipped, as docs/planning.md, docs/questions.md and scripts of cmd/llmsim do.
const untuned = "menu.tune=none"

// small asks for the shortest simulations.
const small = "effort={requests: 100, most-requests: 200}"

// found has the answers to shipped plans at which several tests look.
var found sync.Map

// solved returns the answer to a shipped plan by short simulations, which is found once.
func solved(t *testing.T, name string) *answer.Answer {
	t.Helper()
	if a, ok := found.Load(name); ok {
		return a.(*answer.Answer)
	}
	a := solve(t, name, small)
	found.Store(name, a)
	return a
}

func solveAll(t *testing.T, name string, overrides ...string) *answer.Answers {
	t.Helper()
	f, err := asked.Open(name, overrides...)
	testkit.OK(t, err)
	answers, err := Solve(context.Background(), f, Options{})
	testkit.OK(t, err)
	return answers
}

func shapeOf(t *testing.T, a *answer.Answer, name string) *answer.Shape {
	t.Helper()
	for i := range a.Shapes {
		if a.Shapes[i].Shape == name {
			return &a.Shapes[i]
		}
	}
	t.Fatalf("no shape %s", name)
	return nil
}

// The likely fleet is the smallest whose chance is even and known well enough to act on: at a limit
// near what a step takes alone, a tenth of the sure answer.
func TestTheLikelyFleetIsTheSmallest(t *testing.T) {
	testkit.Dear(t)
	for _, seed := range []string{"seed=0", "seed=2"} {
		f, err := asked.Parse("near.yaml", []byte("model: llama-3.1-8b\nslo: {ttft: 500ms, "+
			"tpot: 30ms, percentile: 99}\nworkload: {rate: 8/s, prompt: 800, output: 250}\n"+
			"menu: {hardware: [l40s], tensor: [1], tune: none}\n"), seed)
		testkit.OK(t, err)
		answers, err := Solve(t.Context(), f, Options{})
		testkit.OK(t, err)
		d := answers.Models[0].Chosen
		if d.Likely == nil || 4*d.Likely.Replicas > d.Replicas || d.Likely.Probability < 0.5 {
			t.Errorf("%s: %+v, and %d replicas are sure", seed, d.Likely, d.Replicas)
		}
	}
}

// Two A100-80GB hold Llama-2-70B and leave little memory for requests; each of four sustains far
// more.
func TestFourA100ServeWellWhatTwoHold(t *testing.T) {
	testkit.Dear(t)
	a := solve(t, "llama2-70b-chat", small, "menu.hardware=[a100-80gb-sxm]",
		"menu.tensor=[1, 2, 4]")
	one, two, four := shapeOf(t, a, "1 × a100-80gb-sxm"), shapeOf(t, a, "2 × a100-80gb-sxm"),
		shapeOf(t, a, "4 × a100-80gb-sxm")
	if one.Rate > 0 || !strings.Contains(one.Limit, "does not fit") {
		t.Errorf("one: %+v", one)
	}
	if two.Rate <= 0 || four.KVTokens < 5*two.KVTokens || four.Rate/4 < 1.3*two.Rate/2 {
		t.Errorf("two hold %d tokens and sustain %g/s, four %d and %g/s", two.KVTokens, two.Rate,
			four.KVTokens, four.Rate)
	}
	if a.Chosen == nil || a.Chosen.Kept < 0.99 || a.Chosen.KeptWithoutSpares < 0.99 {
		t.Errorf("the chosen fleet: %+v", a.Chosen)
	}
}

// One user is served cheapest by a desktop processor, many by GPUs.
func TestACPUForOneGPUsForMany(t *testing.T) {
	testkit.Dear(t)
	if a := solve(t, "one-user", small); a.Chosen == nil || a.Chosen.Label != "1 × desktop-50gbs" {
		t.Errorf("for one user: %+v", a.Chosen)
	}
	a := solved(t, "many-users")
	if a.Chosen == nil || strings.Contains(a.Chosen.Label, "desktop") ||
		shapeOf(t, a, "1 × desktop-50gbs").Rate > 0 {
		t.Errorf("for many users: %+v", a.Chosen)
	}
}

// Host memory for the texts of 64 coding agents saves a second server, and costs what a GiB of it
// does (docs/agents.md).
func TestHostMemoryPays(t *testing.T) {
	if testing.Short() {
		t.Skip("simulates coding agents for hours")
	}
	testkit.Dear(t)
	hourly := func(overrides ...string) float64 {
		return solve(t, "host-memory", overrides...).Chosen.Hourly
	}
	const server, host = 8 * 3.29, 512 * 0.0034
	if with := hourly(); math.Abs(with-server-host) > 1e-6 {
		t.Errorf("with host memory $%v an hour, want $%v", with, server+host)
	}
	if without := hourly("menu.memory=[prefix-cache]"); math.Abs(without-2*server) > 1e-6 {
		t.Errorf("without host memory $%v an hour, want $%v", without, 2*server)
	}
}

// A plan has one answer.
func TestTheAnswerIsDetermined(t *testing.T) {
	testkit.Dear(t)
	var answers [2][]byte
	for i, a := range []*answer.Answer{solved(t, "many-users"),
		solve(t, "many-users", small)} {
		var err error
		if answers[i], err = json.Marshal(a); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(answers[0], answers[1]) {
		t.Error("two answers differ")
	}
}

// A plan that is stopped at any simulation, again and again, comes to the answer of an undisturbed
// one, and repeats nothing.
func TestAStoppedPlanGoesOn(t *testing.T) {
	testkit.Dear(t)
	undisturbed, err := json.Marshal(solved(t, "many-users"))
	testkit.OK(t, err)
	path := filepath.Join(t.TempDir(), "journal.jsonl")
	each := 7
	if testing.Short() {
		each = 60
	}
	for stop := 3; ; stop += each {
		f, err := asked.Open("many-users", small, untuned)
		testkit.OK(t, err)
		j, err := planner.OpenJournal(path)
		testkit.OK(t, err)
		before := j.Len()
		ctx, cancel := context.WithCancel(context.Background())
		a, err := Solve(ctx, f, Options{Journal: j, Ran: func() {
			if j.Len() >= stop {
				cancel()
			}
		}})
		cancel()
		// Each core may end one simulation while the plan is told to stop, and one after.
		if j.Len() > before+each+2*runtime.GOMAXPROCS(0) {
			t.Errorf("%d results kept before, %d after: stopped too late", before, j.Len())
		}
		testkit.OK(t, j.Close())
		if errors.Is(err, context.Canceled) {
			continue
		}
		testkit.OK(t, err)
		got, err := json.Marshal(a.Models[0])
		testkit.OK(t, err)
		if !bytes.Equal(got, undisturbed) {
			t.Error("the answer differs from that of an undisturbed plan")
		}
		return
	}
}

// Answers to shipped plans are scenarios that run: to a drawn plan as it is shipped, and to four
// others with short simulations and the engines' defaults. Each fits on a screen.
func TestShippedPlans(t *testing.T) {
	if testing.Short() {
		t.Skip("solves five shipped plans")
	}
	check := func(name string, overrides ...string) {
		all := solveAll(t, name, overrides...)
		fitsOnAScreen(t, all, "Answer: ")
		for _, a := range all.Models {
			if a.Chosen == nil {
				t.Errorf("%s %v: no answer", name, overrides)
				continue
			}
			checkMeasurements(t, a)
			s := rebuilt(t, a)
			if s.Accelerators() != a.Chosen.Accelerators {
				t.Errorf("%s %v: the scenario has %d accelerators, the answer %d", name, overrides,
					s.Accelerators(), a.Chosen.Accelerators)
			}
			s.Source.Close()
		}
	}
	drawn := testkit.DrawCases(t, 5, asked.Shipped())
	for _, name := range drawn[1:] {
		check(name, untuned, small)
	}
	check(drawn[0])
}

// checkMeasurements checks that what is worth measuring are fleets that cost less than the answer
// and are not as sure as the plan asks, and that a measurement saves a hundredth of the price, and
// no more than its cheapest fleet costs less.
func checkMeasurements(t *testing.T, a *answer.Answer) {
	t.Helper()
	const year = 8766 // hours
	for i := range a.Measurements {
		m, most := &a.Measurements[i], 0.0
		for _, f := range m.Fleets {
			if f.Less <= 0 || f.Less <= most || f.Probability >= a.Confidence ||
				math.Abs(f.Hourly+f.Less-a.Chosen.Hourly) > 1e-9*a.Chosen.Hourly {
				t.Errorf("%+v beside an answer for %g", f, a.Chosen.Hourly)
			}
			most = f.Less
		}
		if hourly := m.Saving / year; hourly < 0.0095*a.Chosen.Hourly || hourly > 1.05*most {
			t.Errorf("%s is expected to save %g a year, of at most %g", m.Label, m.Saving,
				year*most)
		}
	}
}

// Prompts on GPUs of their own are an option, and its bound holds.
func TestDisaggregatedIsOnTheMenu(t *testing.T) {
	testkit.Dear(t)
	a := solve(t, "disaggregated", small, "workload.rate=4/s",
		"menu.batching=[{token-budget: 2048}]")
	together, apart := 0, 0
	for i := range a.Shapes {
		s := &a.Shapes[i]
		if strings.Contains(s.Shape, "P+") {
			apart++
		} else {
			together++
		}
		for _, f := range a.Outcomes {
			if f.Label == s.Label && s.Rate > f.Ceiling {
				t.Errorf("%s sustains %g/s, more than its bound of %g/s", s.Label, s.Rate,
					f.Ceiling)
			}
		}
	}
	if together != 2 || apart < 6 { // a ratio may be refined
		t.Errorf("%d shapes together and %d apart, want 2 and 6 of the menu", together, apart)
	}
}

// A trace says what requests ask for, and is repeated where it is shorter than a simulation.
func TestAPlanForATrace(t *testing.T) {
	path := filepath.Join(t.TempDir(), "short.csv")
	rows := "arrival_s,prompt_tokens,output_tokens\n"
	for i := range 40 {
		rows += fmt.Sprintf("%d,%d,%d\n", i, 50+i*17%300, 10+i%30)
	}
	testkit.OK(t, os.WriteFile(path, []byte(rows), 0o666))
	a := solve(t, "many-users", "workload={rate: 20/s, trace: "+path+"}",
		"menu.hardware=[l40s, h100-sxm]", "menu.tensor=[1]",
		small, "fleet={spare: 0}")
	if a.Chosen == nil || a.Chosen.Kept < 0.99 {
		t.Fatalf("answer %+v", a.Chosen)
	}
	if r := rerun(t, a); r.Completed < 100 {
		t.Errorf("the answer was found with %d requests", r.Completed)
	}
}

// rerun simulates the scenario of an answer.
func rerun(t *testing.T, a *answer.Answer) *scenarios.Result {
	t.Helper()
	r, err := rebuilt(t, a).Run(t.Context())
	testkit.OK(t, err)
	return r
}

// rebuilt builds the scenario of an answer.
func rebuilt(t *testing.T, a *answer.Answer) *scenarios.Simulation {
	t.Helper()
	f, err := scenarios.Parse("answer.yaml", []byte(a.Chosen.Scenario))
	testkit.OK(t, err)
	s, err := f.Build(policies.Default())
	testkit.OK(t, err)
	return s
}

// Loads that no replica alone stands for are put to whole fleets: the answer keeps its SLO when it
// is run again, and one replica fewer is tried.
func TestAnyLoad(t *testing.T) {
	testkit.Dear(t)
	dir := t.TempDir()
	var chat, code strings.Builder
	for _, b := range []*strings.Builder{&chat, &code} {
		b.WriteString("arrival_s,prompt_tokens,output_tokens\n")
	}
	for i := range 600 {
		fmt.Fprintf(&chat, "%.2f,%d,%d\n", float64(i)/10, 200+i%300, 50+i%100)
		fmt.Fprintf(&code, "%.2f,%d,%d\n", float64(i)/10+0.03, 2000+i%2000, 5+i%10)
	}
	for name, b := range map[string]*strings.Builder{"chat.csv": &chat, "code.csv": &code} {
		testkit.OK(t, os.WriteFile(filepath.Join(dir, name), []byte(b.String()), 0o666))
	}
	loads := map[string]string{
		"traces": fmt.Sprintf(
			"{classes: [{name: chat, trace: %s, slo: {ttft: 500ms, tpot: 40ms, percentile: 95}}, "+
				"{name: code, trace: %s, slo: {ttft: 1s, percentile: 90}}]}",
			filepath.Join(dir, "chat.csv"), filepath.Join(dir, "code.csv")),
		"phases": "{rate: {pattern: phases, phases: [{rate: 5/s, for: 60s}, {rate: 60/s, " +
			"for: 60s}]}, prompt: 500, output: 60}",
		"bursts": "{rate: {pattern: bursts, high: 60/s, low: 5/s, for: 5s, pause: 10s}, " +
			"prompt: 500, output: 60, duration: 60s}",
		"classes": "{classes: [{name: chat, rate: 20/s, prompt: 300, output: 100, slo: {ttft: " +
			"500ms, tpot: 40ms, percentile: 95}}, {name: code, rate: 3/s, prompt: 4000, output: " +
			"20, slo: {ttft: 2s}}]}",
		"users": "{arrivals: {process: closed-loop, users: 150, think: 1s}, prompt: 500, " +
			"output: 100}",
		"sessions":   "{rate: 4/s, prompt: 300, output: 60, sessions: {turns: 4, think: 3s}}",
		"one prefix": "{rate: 30/s, prompt: 100, output: 60, prefix: {groups: 3, tokens: 2000}}",
	}
	names, hardware := slices.Sorted(maps.Keys(loads)), "menu.hardware=[l40s, h100-sxm]"
	if testing.Short() {
		names, hardware = testkit.DrawCases(t, 2, names), "menu.hardware=[l40s]"
	}
	for _, name := range names {
		load := loads[name]
		a := solve(t, "many-users", "workload="+load, hardware, "menu.tensor=[1]",
			"effort={requests: 300, most-requests: 600}", "fleet={spare: 0}")
		if a.Chosen == nil {
			t.Errorf("%s: nothing is found, nearest %+v", name, a.Nearest)
			continue
		}
		r := rerun(t, a)
		least := map[string]int64{"phases": 3600}[name] // more than the first phase has
		if !r.SLOMet || r.Completed < max(300, least) {
			t.Errorf("%s: %s, %d of it, run again: %d requests, kept %v", name, a.Chosen.Label,
				a.Chosen.Replicas, r.Completed, r.Attainment)
		}
	}
}

// The same accelerator may be had at two prices: the cheaper ones while there are any.
func TestTwoPricesOfOneAccelerator(t *testing.T) {
	if testing.Short() {
		t.Skip("solves three plans")
	}
	testkit.Dear(t)
	offers := "menu.hardware=[{accelerator: h100-sxm, price: $2/h, count: 2}, {accelerator: " +
		"h100-sxm, price: $3/h}]"
	few, many := solve(t, "many-users", offers), solve(t, "many-users", offers,
		"workload.rate=300/s")
	if few.Chosen == nil || few.Chosen.Label != "1 × h100-sxm at $2/h" {
		t.Errorf("for few: %+v", few.Chosen)
	}
	if many.Chosen == nil || many.Chosen.Label != "1 × h100-sxm at $3/h" {
		t.Errorf("for many: %+v", many.Chosen)
	}
}

// An SLO out of reach names the option that comes nearest.
func TestNearest(t *testing.T) {
	a := solve(t, "llama2-70b-chat", "slo.tpot=5ms")
	if a.Chosen != nil || a.Nearest == nil || !strings.Contains(a.Nearest.Limit, "a token") {
		t.Errorf("nearest: %+v", a.Nearest)
	}
}

// More requests never cost less, and spares cost what they cost.
func TestCostGrowsWithTheRate(t *testing.T) {
	last := 0.0
	for _, rate := range []string{"5/s", "10/s", "20/s", "40/s"} {
		f, err := asked.Open("llama2-70b-chat", "workload.rate="+rate)
		testkit.OK(t, err)
		s, err := newSearch(t.Context(), f, testQueue(t), Options{})
		testkit.OK(t, err)
		testkit.OK(t, s.run(context.Background()))
		if s.best < 0 || s.cost() < last {
			t.Errorf("%s costs less than a lower rate", rate)
		}
		last = s.cost()
	}
}

// Several models have the fleets that each would have alone, as long as there are accelerators for
// both; else the ones that cost the least together.
func TestSeveralModels(t *testing.T) {
	if testing.Short() {
		t.Skip("solves four plans")
	}
	testkit.Dear(t)
	const plenty = "menu.hardware=[h100-sxm, a100-80gb-sxm]"
	both := solveAll(t, "two-models", plenty, untuned)
	sum := 0.0
	for _, a := range both.Models {
		sum += a.Chosen.Hourly
	}
	if len(both.Models) != 2 || sum != both.Hourly {
		t.Errorf("%d models, $%g/h of $%g/h", len(both.Models), sum, both.Hourly)
	}
	f, err := asked.Open("two-models", plenty, untuned)
	testkit.OK(t, err)
	alone, err := Solve(context.Background(), (&asked.File{Plan: questions(f)[1].Plan,
		Name: "alone"}), Options{})
	testkit.OK(t, err)
	if got, want := both.Models[1].Chosen, alone.Models[0].Chosen; got.Label != want.Label ||
		got.Replicas != want.Replicas {
		t.Errorf("beside another model %d of %s, alone %d of %s", got.Replicas, got.Label,
			want.Replicas, want.Label)
	}
	scarce := solveAll(t, "two-models", untuned,
		"menu.hardware=[{accelerator: h100-sxm, count: 4, price: $1/h}, a100-80gb-sxm]")
	first, second := scarce.Models[0].Chosen, scarce.Models[1].Chosen
	if !strings.Contains(first.Label, "h100") || !strings.Contains(second.Label, "a100") {
		t.Errorf("4 H100: %s, then %s", first.Label, second.Label)
	}
	few := solveAll(t, "two-models", untuned,
		"menu.hardware=[{accelerator: h100-sxm, count: 4}]")
	if few.Met() || few.Models[0].Chosen == nil || few.Models[1].Nearest == nil {
		t.Errorf("4 H100 for both: %+v", few)
	}
}
