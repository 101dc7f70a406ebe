package scenarios

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/llmsim/llmsim/policies"
	"github.com/llmsim/llmsim/sim"
)

var (
	randomScenarios = flag.Int("scenarios", 300,
		"the number of random scenarios that TestRandomScenarios runs")
	firstScenario = flag.Uint64("first-scenario", 0, "the seed of the first random scenario")
)

// Whatever a scenario mixes: leaping gives the bytes that stepping gives, every request ends once,
// every token is accounted for in time, all memory is given back, and every figure is a number. A
// scenario that fails is repeated by -first-scenario and -scenarios 1.
func TestRandomScenarios(t *testing.T) {
	n := *randomScenarios
	if testing.Short() {
		n = min(n, 100)
	}
	registry, ran := policies.Default(), 0
	for seed := *firstScenario; seed < *firstScenario+uint64(n); seed++ {
		overrides := randomScenario(registry, seed)
		leaps := runRandom(t, registry, seed, overrides, 0)
		if leaps == nil {
			continue
		}
		ran++
		problems := leaps.problems()
		if len(problems) == 0 {
			steps := runRandom(t, registry, seed, overrides, 1)
			problems = append(steps.problems(), leaps.differences(steps)...)
		}
		if len(problems) > 0 {
			t.Errorf("scenario %d:\n\t%s\n%s", seed, strings.Join(overrides, "\n\t"),
				strings.Join(problems, "\n"))
		}
	}
	if t.Logf("%d of %d scenarios ran, the others were refused", ran, n); n >= 100 && ran < n/3 {
		t.Errorf("only %d of %d scenarios ran", ran, n)
	}
}

// randomRun is what came of a random scenario.
type randomRun struct {
	*audit
	scenario Scenario
	result   *Result
	json     []byte
}

// runRandom runs a scenario with leaps of at most maxLeap steps; it returns nil where the scenario
// is refused as bad input.
func runRandom(t *testing.T, registry *policies.Registry, seed uint64, overrides []string,
	maxLeap int64) *randomRun {
	t.Helper()
	file, err := Parse("random.yaml", []byte("model: gpt2\nhardware: l4\n"), overrides...)
	var s *Simulation
	if err == nil {
		s, err = file.Build(registry)
	}
	if IsInputError(err) {
		return nil
	}
	if err != nil {
		t.Fatalf("scenario %d: %v", seed, err)
	}
	s.config.MaxLeap = maxLeap
	run := &randomRun{audit: newAudit(&s.config), scenario: s.Scenario}
	if maxLeap == 1 {
		run.users = &users{map[try]*answer{}, map[sim.Time]int64{}}
		s.config.Tokens = run.users.token
	}
	if run.result, err = s.Run(context.Background(), run.audit); err != nil {
		t.Fatalf("scenario %d: %v\n\t%s", seed, err, strings.Join(overrides, "\n\t"))
	}
	if run.json, err = json.Marshal(run.result); err != nil { // which NaN and Inf do not survive
		t.Fatalf("scenario %d: %v\n\t%s", seed, err, strings.Join(overrides, "\n\t"))
	}
	return run
}

// differences says in what a run that steps differs from this one.
func (r *randomRun) differences(stepped *randomRun) []string {
	var list []string
	if d := cmp.Diff(stepped.record, r.record); d != "" {
		list = append(list, "events, stepping (-) against leaps (+):\n"+d)
	}
	if d := cmp.Diff(stepped.result.Summary, r.result.Summary); d != "" {
		list = append(list, "summary, stepping (-) against leaps (+):\n"+d)
	}
	// Arithmetic and bytes are added up in floating point, once a leap or once a step; so the rest
	// may differ in the last digits.
	if d := cmp.Diff(plainJSON(stepped.json), plainJSON(r.json),
		cmpopts.EquateApprox(1e-9, 1e-9)); d != "" {
		list = append(list, "result, stepping (-) against leaps (+):\n"+d)
	}
	return list
}

// plainJSON decodes a result.
func plainJSON(data []byte) map[string]any {
	var plain map[string]any
	if err := json.Unmarshal(data, &plain); err != nil {
		panic(err)
	}
	return plain
}

// problems says what is wrong with a run.
func (r *randomRun) problems() []string {
	list := append(r.audit.problems(), r.checkCounts()...)
	list = append(list, checkOrder("", "result", plainJSON(r.json))...)
	return list
}

// checkCounts compares the requests that were seen to end with those in the result.
func (r *randomRun) checkCounts() []string {
	var list []string
	if n := ended(r.result.Endings); n != int64(len(r.ends)) {
		list = append(list, fmt.Sprintf("%d requests ended, and the result has %d", len(r.ends), n))
	}
	if asked := r.scenario.Workload.Requests; int64(len(r.ends)) < asked &&
		r.scenario.Workload.Duration == 0 &&
		!strings.Contains(strings.Join(r.result.Warnings, "\n"),
			fmt.Sprintf("of the %d requests", asked)) {
		list = append(list, fmt.Sprintf("%d of %d requests ended, and no warning says why",
			len(r.ends), asked))
	}
	if len(r.ends) == 0 && r.result.SLOMet {
		list = append(list, "the SLO is met without a request")
	}
	if r.result.Completed != int64(len(r.record.Finished)) {
		list = append(list, fmt.Sprintf("%d requests finished, and the result has %d",
			len(r.record.Finished), r.result.Completed))
	}
	if f := r.result.Fleet; f != nil && (f.LinkBusy > 1+1e-9 || f.VisibleTransfer < 0 ||
		f.MeanReplicas > float64(f.Replicas)+1e-9) {
		list = append(list, fmt.Sprintf("impossible fleet: %+v", *f))
	}
	return list
}

// checkOrder says which quantiles of a group of latencies are out of order, and which figures are
// impossible.
func checkOrder(prefix, name string, value any) []string {
	group, isMap := value.(map[string]any)
	if !isMap {
		return nil
	}
	var list []string
	for _, latency := range []string{"ttft", "tpot", "itl", "e2el"} {
		last := 0.0
		for _, quantile := range []string{"median", "p90", "p95", "p99"} {
			x, known := group[quantile+"_"+latency+"_ms"].(float64)
			if known && x < last*(1-1e-9) {
				list = append(list, fmt.Sprintf("%s%s: %s of %s is %g, below a lower quantile, %g",
					prefix, name, quantile, latency, x, last))
			}
			last = max(last, x)
		}
	}
	for key, x := range group {
		switch x := x.(type) {
		case float64:
			signed := key == "seed" || key == "priority" || strings.HasSuffix(key, "_bias")
			if math.IsNaN(x) || math.IsInf(x, 0) || x < 0 && !signed {
				list = append(list, fmt.Sprintf("%s%s.%s is %g", prefix, name, key, x))
			}
		case map[string]any:
			if key != "scenario" {
				list = append(list, checkOrder(prefix+name+".", key, x)...)
			}
		}
	}
	return list
}
