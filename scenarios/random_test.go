package scenarios

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"hash/fnv"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/llmsim/llmsim/internal/proctest"
	"github.com/llmsim/llmsim/metrics"
	"github.com/llmsim/llmsim/policies"
	"github.com/llmsim/llmsim/sim"
)

func TestMain(m *testing.M) { proctest.Main(m) }

var (
	randomScenarios = flag.Int("scenarios", 300,
		"the number of random scenarios that TestRandomScenarios runs")
	firstScenario = flag.Uint64("first-scenario", 0, "the seed of the first random scenario; 0 "+
		"means one that follows from the commit")
)

// firstSeed returns the seed of the first random scenario. Without the flag, each commit has seeds
// of its own.
func firstSeed(t *testing.T) uint64 {
	if *firstScenario != 0 {
		return *firstScenario
	}
	commit, err := proctest.Command(t, "git", "rev-parse", "HEAD").Output()
	if err != nil {
		t.Logf("no commit is known (%v), so that the seeds are the usual ones", err)
	}
	hash := fnv.New64a()
	hash.Write(commit)
	return hash.Sum64() >> 24 // short enough to be typed
}

// Whatever a scenario mixes: leaping gives the bytes that stepping gives, every request ends once,
// every token is accounted for in time, all memory is given back, and every figure is a number. A
// scenario that fails is repeated by -first-scenario and -scenarios 1. Each commit has seeds of its
// own.
func TestRandomScenarios(t *testing.T) {
	n := *randomScenarios
	if testing.Short() {
		n = min(n, 100)
	}
	registry, ran, first := policies.Default(), 0, firstSeed(t)
	for seed := first; seed < first+uint64(n); seed++ {
		overrides := randomScenario(registry, seed)
		leaps := runRandom(t, registry, seed, overrides, 0)
		if leaps == nil {
			continue
		}
		ran++
		problems := leaps.problems()
		if len(problems) == 0 {
			if steps := runRandom(t, registry, seed, overrides, 1); steps != nil {
				problems = append(steps.problems(), leaps.differences(steps)...)
			}
		}
		if len(problems) > 0 {
			t.Errorf("scenario %d:\n\t%s\n%s", seed, strings.Join(overrides, "\n\t"),
				strings.Join(problems, "\n"))
		}
	}
	t.Logf("%d of %d scenarios ran, the others were refused", ran, n)
	if n >= 100 && ran < n/5 { // 38 % of 12,000 ran
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
		t.Errorf("scenario %d: %v\n\t%s", seed, err, strings.Join(overrides, "\n\t"))
		return nil
	}
	s.config.MaxLeap = maxLeap
	run := &randomRun{audit: newAudit(&s.config), scenario: s.Scenario}
	if maxLeap == 1 {
		run.users = &users{map[try]*answer{}, map[sim.Time]int64{}}
		s.config.Tokens = run.users.token
	}
	if run.result, err = s.Run(context.Background(), run.audit); err == nil {
		run.json, err = json.Marshal(run.result) // which NaN and Inf do not survive
	}
	if err != nil {
		t.Errorf("scenario %d: %v\n\t%s", seed, err, strings.Join(overrides, "\n\t"))
		return nil
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
	if d := cmp.Diff(plainJSON(stepped.json), plainJSON(r.json)); d != "" {
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
	list := slices.Concat(r.audit.problems(), r.checkCounts(), r.checkWindow(), r.result.outside())
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
	cached := int64(0)
	for i := range r.record.Finished {
		cached += int64(r.record.Finished[i].Cached)
	}
	if r.result.CachedTokens != cached {
		list = append(list, fmt.Sprintf("%d prompt tokens of completed requests were cached, and "+
			"the result has %d", cached, r.result.CachedTokens))
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

// checkWindow says which figures do not fit the time over which they are taken.
func (r *randomRun) checkWindow() []string {
	var list []string
	wrong := func(is bool, format string, args ...any) {
		if is {
			list = append(list, fmt.Sprintf(format, args...))
		}
	}
	s, window := r.result, r.result.Duration
	stay := sim.Time(0)
	last, asked := 0.0, sim.Time(r.scenario.Workload.Duration).Seconds()
	least, most := math.Inf(1), 0.0
	for i := range r.record.Finished {
		f := &r.record.Finished[i]
		last = max(last, (f.Arrival + f.E2E).Seconds())
		stay += f.LastToken - f.Arrival
		latency := (f.E2E - f.LastToken + f.FirstToken).Milliseconds()
		least, most = min(least, latency), max(most, latency)
	}
	wrong(window < last || window > last && len(r.record.Rejected) == 0 && window != asked,
		"the window of %v s ends before the last request at %v s, or after it and the asked %v s",
		window, last, asked)
	for name, x := range map[string]float64{"mean": s.MeanTTFT, "median": s.MedianTTFT,
		"p90": s.P90TTFT, "p99": s.P99TTFT} {
		wrong(s.Completed > 0 && (x < least*(1-1e-12) || x > most*(1+1e-12)),
			"the %s TTFT is %v ms, outside of %v to %v ms", name, x, least, most)
	}
	for name, x := range map[string][2]float64{
		"requests":      {s.RequestThroughput * window, float64(s.Completed)},
		"output tokens": {s.OutputThroughput * window, float64(s.TotalOutputTokens)},
		"dollars":       {s.Cost, s.AcceleratorHours * r.scenario.Hardware.Price.Amount},
		"hours":         {s.AcceleratorHours, float64(s.Accelerators) * window / 3600},
	} {
		scaled := strings.Contains(string(r.json), "cold-start")
		wrong(math.Abs(x[0]-x[1]) > 1e-9*x[1] && !(name == "hours" && scaled),
			"%v %s follow from the rate, and there were %v", x[0], name, x[1])
	}
	for name, x := range map[string][2]float64{
		"busy": {s.Busy, 1}, "KV memory": {s.KVUsage, s.PeakKVUsage}, "peak KV": {s.PeakKVUsage, 1},
		"waiting": {s.MeanWaiting, float64(s.PeakWaiting)},
		"running": {s.MeanRunning, float64(s.PeakRunning)},
		"good":    {s.Goodput, s.RequestThroughput},
		"batch":   {s.MeanDecodeBatch, float64(s.PeakBatch)}, "MFU": {s.MFU, 1}, "MBU": {s.MBU, 1},
	} {
		slack := 1e-9
		if name == "MFU" || name == "MBU" {
			slack = 1e-6 // steps take whole ticks
		}
		wrong(x[0] > x[1]*(1+slack), "%s: %v is more than %v", name, x[0], x[1])
	}
	var classes, pools metrics.Occupancy
	for _, c := range s.Classes {
		classes.MeanRunning += c.MeanRunning
		classes.MeanWaiting += c.MeanWaiting
	}
	for i := range s.Pools {
		pools.MeanRunning += s.Pools[i].MeanRunning
		pools.MeanWaiting += s.Pools[i].MeanWaiting
	}
	for name, x := range map[string][2]float64{
		"that stay":           {(s.MeanRunning + s.MeanWaiting) * window, stay.Seconds()},
		"that run, by class":  {classes.MeanRunning, s.MeanRunning},
		"that wait, by class": {classes.MeanWaiting, s.MeanWaiting},
		"that run, by pool":   {pools.MeanRunning, s.MeanRunning},
	} {
		// Of requests without an answer it is not known when they ended.
		skip := name == "that stay" && len(r.record.Rejected) > 0 ||
			strings.HasSuffix(name, "class") && len(s.Classes) == 0 ||
			strings.HasSuffix(name, "pool") && len(s.Pools) == 0
		wrong(math.Abs(x[0]-x[1]) > 1e-9*x[1] && !skip, "requests %s: %v, want %v", name, x[0],
			x[1])
	}
	wrong(pools.MeanWaiting > s.MeanWaiting*(1+1e-9), "%v wait in pools, %v in all",
		pools.MeanWaiting, s.MeanWaiting)
	for i := range s.Pools {
		p := &s.Pools[i]
		wrong(p.Busy > 1+1e-9 || p.MeanReplicas > float64(p.Replicas)+1e-9,
			"impossible pool: %+v", *p)
	}
	return list
}
