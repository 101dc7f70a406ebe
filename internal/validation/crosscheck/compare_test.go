package crosscheck

import (
	"bytes"
	"context"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/internal/validation/calibration"
	"github.com/llmsim/llmsim/policies"
	"github.com/llmsim/llmsim/scenarios"
	"github.com/llmsim/llmsim/sim"
)

// hostFile is a host that nobody measured, for tests of everything but speed.
const hostFile = `accelerators:
  host:
    like: desktop-50gbs
    memory: 4GiB
    bandwidth: 40GB/s
    peak: {fp32: 200GFLOPS}
    sms: 1
    constants: {fit: {source: made up for a test}}
`

func writeHost(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "host.yaml")
	testkit.OK(t, os.WriteFile(path, []byte(hostFile), 0o666))
	return path
}

// TestShippedCrossChecks simulates every scenario of the grid: each is small enough to be executed
// in seconds, completes all requests, and together they have what the grid promises.
func TestShippedCrossChecks(t *testing.T) {
	host := writeHost(t)
	names := scenarios.CrossChecks()
	if len(names) < 16 {
		t.Errorf("%d scenarios, want 16 at least", len(names))
	}
	var preemptions, cached int64
	batches, drafts := map[string]bool{}, 0
	least, most := 1000, 0
	for _, name := range names {
		f, err := scenarios.LoadCrossCheck(name, "hardware.file="+host)
		testkit.OK(t, err)
		s, err := f.Build(policies.Default())
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		r, err := s.Run(context.Background())
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if r.Rejected > 0 || r.Completed < 10 || r.Steps > 1500 || r.TotalInputTokens > 20_000 {
			t.Errorf("%s: %d requests completed, %d rejected, %d steps, %d prompt tokens", name,
				r.Completed, r.Rejected, r.Steps, r.TotalInputTokens)
		}
		preemptions, cached = preemptions+r.Preemptions, cached+r.CachedTokens
		batches[s.Scenario.Batching.Policy] = true
		if s.Scenario.Speculation != nil {
			drafts++
		}
		least, most = min(least, r.PeakBatch), max(most, r.PeakBatch)
	}
	if drafts < 2 {
		t.Errorf("%d scenarios have drafts, want 2", drafts)
	}
	if preemptions == 0 || cached == 0 || least > 1 || most < 32 {
		t.Errorf("%d preemptions, %d cached tokens, batches of %d to %d", preemptions, cached,
			least, most)
	}
	for _, policy := range []string{"static", "orca", "sarathi", "vllm-v0", "vllm-v1"} {
		if !batches[policy] {
			t.Errorf("no scenario uses %s", policy)
		}
	}
}

// TestCompare executes a small scenario and checks that the comparison adds up.
func TestCompare(t *testing.T) {
	hosts := calibration.Machines{ProbeBytes: 1 << 24}
	defer hosts.Close()
	f, err := scenarios.LoadCrossCheck("v1-overload", "model="+tinyModel, "hardware.file="+
		writeHost(t),
		"workload.requests=6", "workload.prompt.max=40", "workload.prompt.min=10",
		"workload.output.max=9")
	testkit.OK(t, err)
	c, err := Compare(context.Background(), "tiny", f, &hosts, Options{Runs: 2, RealTime: true})
	testkit.OK(t, err)
	for _, run := range c.Executed {
		sum := 0.0
		for _, s := range run.Steps {
			sum += s.Took.Seconds()
		}
		if busy := run.Result.Busy * run.Result.Duration; sum < 0.999*busy || sum > 1.001*busy {
			t.Errorf("steps took %g s, and the replica was busy for %g s", sum, busy)
		}
		if len(run.Requests) != 6 || run.Result.Completed != 6 ||
			int64(len(run.Steps)) != run.Result.Steps {
			t.Errorf("%d requests noted, %d completed; %d steps noted of %d", len(run.Requests),
				run.Result.Completed, len(run.Steps), run.Result.Steps)
		}
	}
	for i, p := range c.Predicted {
		var busy float64
		for _, s := range p.Spans {
			busy += s.End - s.Start
		}
		if want := p.Result.Busy * p.Result.Duration; int64(len(p.Spans)) != p.Result.Steps ||
			math.Abs(busy/want-1) > 1e-9 {
			t.Errorf("predicted run %d: %d spans of %g s together, want %d of %g s", i,
				len(p.Spans), busy, p.Result.Steps, want)
		}
	}
	throughput := c.Measure("output throughput")
	if throughput.Low > throughput.Executed || throughput.Executed > throughput.High ||
		throughput.Executed == 0 {
		t.Errorf("throughput %+v", throughput)
	}
	var text bytes.Buffer
	if err := c.WriteText(&text); err != nil || !strings.Contains(text.String(), "TTFT p99 (ms)") ||
		!strings.Contains(text.String(), "in real time") {
		t.Errorf("%v\n%s", err, &text)
	}
	dir := t.TempDir()
	testkit.OK(t, Save(dir, Summarise([]*Comparison{c})))
	data := testkit.Read(t, filepath.Join(dir, "crosscheck.json"))
	var read Grid
	if err := json.Unmarshal(data, &read); err != nil || len(read.Comparisons) != 1 {
		t.Errorf("%v in %s", err, data)
	}
	for _, name := range []string{"ttft", "tpot", "e2e", "errors-by-tokens", "errors-by-context",
		"timeline"} {
		if picture, err := os.ReadFile(filepath.Join(dir, "tiny", name+".svg")); err != nil ||
			!bytes.Contains(picture, []byte("<svg")) {
			t.Errorf("%s.svg: %v", name, err)
		}
	}
	steps, err := os.ReadFile(filepath.Join(dir, "tiny", "steps.csv"))
	if want := 1 + len(c.Executed[0].Steps) + len(c.Executed[1].Steps); err != nil ||
		bytes.Count(steps, []byte("\n")) != want {
		t.Errorf("%v: %d lines of steps, want %d", err, bytes.Count(steps, []byte("\n")), want)
	}
}

// TestDraftsAreExecuted lets a tiny model draft for another: the prediction rests on a measured
// table, and the executed run accepts what the models agree on, about as much.
func TestDraftsAreExecuted(t *testing.T) {
	hosts := calibration.Machines{ProbeBytes: 1 << 24}
	defer hosts.Close()
	f, err := scenarios.LoadCrossCheck("speculation-loses", "model="+tinyModel,
		"speculation.draft="+tinyModel+"-draft",
		"hardware.file="+writeHost(t), "workload.prompt.max=30")
	testkit.OK(t, err)
	c, err := Compare(context.Background(), "drafts", f, &hosts, Options{Runs: 2})
	testkit.OK(t, err)
	if f.Scenario.Speculation.Acceptance.Rate != 0.75 {
		t.Error("the scenario was changed")
	}
	for i, run := range c.Executed {
		r, p := run.Result, c.Predicted[i].Result
		if r.Drafts == 0 || r.AcceptedTokens == 0 || r.AcceptedTokens == r.DraftTokens {
			t.Errorf("%d of %d drafted tokens accepted", r.AcceptedTokens, r.DraftTokens)
		}
		for _, r := range []*scenarios.Result{r, p} {
			if off := r.TokensPerStep/c.Acceptance.TokensPerStep - 1; math.Abs(off) > 0.1 {
				t.Errorf("%g tokens a step, %g were measured", r.TokensPerStep,
					c.Acceptance.TokensPerStep)
			}
		}
		var took, drafting float64
		for _, s := range run.Steps {
			took += s.Took.Seconds()
		}
		drafting = r.DraftTime * r.Busy * r.Duration
		if busy := r.Busy * r.Duration; took < 0.999*busy || took > 1.001*busy || drafting <= 0 ||
			drafting >= busy {
			t.Errorf("steps took %g s with %g s of drafting, and the replica was busy for %g s",
				took, drafting, busy)
		}
	}
	if a, b := c.Executed[0].Result, c.Executed[1].Result; a.AcceptedTokens == b.AcceptedTokens &&
		a.Steps == b.Steps {
		t.Error("both runs accept the same: the choices of the second are not its own")
	}
}

// TestOnlyGPT2IsExecuted refuses what the engine does not run, before anything runs.
func TestOnlyGPT2IsExecuted(t *testing.T) {
	hosts := calibration.Machines{ProbeBytes: 1 << 24}
	defer hosts.Close()
	for want, set := range map[string]string{
		"llama-3.2-1b is no GPT-2":               "model=llama-3.2-1b",
		"engine.weights":                         "engine.weights=fp16",
		"chains of drafts by a draft-model":      "speculation={method: n-gram, acceptance: 0.5}",
		"the scenario uses 2 accel":              "replicas=2",
		"epyc-9654 was measured with 96 threads": "hardware.accelerator=epyc-9654",
	} {
		f, err := scenarios.LoadCrossCheck("v1-light", "hardware.file="+writeHost(t), set)
		testkit.OK(t, err)
		_, err = Compare(context.Background(), "v1-light", f, &hosts, Options{Runs: 1})
		if err == nil || !scenarios.IsInputError(err) {
			t.Errorf("%s: %v, want an input error", set, err)
		} else if !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", set, err, want)
		}
	}
}

// TestNoisyRunsDoNotCount checks the verdict.
func TestNoisyRunsDoNotCount(t *testing.T) {
	fast := calibration.Rates{Bandwidth: 2, FLOPRate: 2}
	slow := calibration.Rates{Bandwidth: 1, FLOPRate: 2}
	quiet := calibration.Noise{Before: fast, After: fast}
	for _, test := range []struct {
		noise   []calibration.Noise
		threads int
		says    string
	}{
		{[]calibration.Noise{quiet, quiet, quiet}, 2, ""},
		{[]calibration.Noise{quiet, {Before: fast, After: slow}, quiet}, 1, ""},
		{[]calibration.Noise{{Before: fast, After: slow}, {Before: fast, After: slow}, quiet}, 1,
			"changed by 69 %"},
		{[]calibration.Noise{{Before: fast, After: fast, Others: 0.5}}, 1, ""},
		{[]calibration.Noise{{Before: fast, After: fast, Others: 0.5}}, 2, "took 50 %"},
		{[]calibration.Noise{{Before: fast, After: fast, Stolen: 0.03}}, 1,
			"a hypervisor took 3 %"},
	} {
		c := Comparison{Noise: test.noise}
		c.judge(test.threads)
		if (test.says == "") != (c.Invalid == "") || !strings.Contains(c.Invalid, test.says) {
			t.Errorf("%+v: %q, want %q", test.noise, c.Invalid, test.says)
		}
	}
}

// TestSummarise counts what keeps the limits, and leaves out what does not count.
func TestSummarise(t *testing.T) {
	with := func(name string, err float64) *Comparison {
		return &Comparison{Measures: []Measure{{Name: name, Error: err}}}
	}
	void := with("TTFT mean", 0)
	void.Invalid = "noise"
	g := Summarise([]*Comparison{with("TTFT mean", -0.051), with("TTFT mean", 0.049),
		with("E2E p99", 0.11), with("output throughput", -0.2), void})
	if g.Valid != 4 || g.MeansKept != 2 || g.TailsKept != 3 || g.StepsKept != 4 {
		t.Errorf("%d valid, %d means, %d tails, %d steps; want 4, 2, 3, 4", g.Valid, g.MeansKept,
			g.TailsKept, g.StepsKept)
	}
}

// TestCompareSteps sums up steps that all take a tenth longer than predicted, but for one that
// takes half as long again.
func TestCompareSteps(t *testing.T) {
	run := &Run{}
	for i := range 100 {
		took := 110 * sim.Millisecond
		if i == 7 {
			took = 165 * sim.Millisecond
		}
		run.Steps = append(run.Steps, Step{Took: took, Predicted: 100 * sim.Millisecond})
	}
	c := &Comparison{Executed: []*Run{run}}
	c.compareSteps()
	if s := c.Steps; s.Count != 100 || s.Outliers != 1 || math.Abs(s.Median-0.1/1.1) > 1e-12 ||
		math.Abs(s.Bias+1.055/11.055) > 1e-12 {
		t.Errorf("%+v", s)
	}
}
