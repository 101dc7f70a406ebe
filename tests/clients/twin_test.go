package clients

import (
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/llmsim/llmsim/internal/testkit"
)

// draws is how many servers with hidden factors TestTwinOfALiveServer serves at once, and seconds
// how long each of their two loads is.
var (
	draws   = flag.Int("draws", 2, "servers with hidden factors")
	seconds = flag.Int("seconds", 15, "the length of each load in seconds")
)

// measuredServer is what a twin is made of. Its steps are long beside the delays of a busy machine.
const measuredServer = `
model: llama-3.1-8b
hardware: l40s
engine: vllm
workload:
  rate: 2/s
  prompt: {distribution: uniform, min: 200, max: 1500}
  output: {distribution: uniform, min: 20, max: 60}
`

// A hiddenFactor is one that a server has and that its twin must find. Deviation is how far its
// logarithm spreads in what a fit believes before it has data.
type hiddenFactor struct{ value, deviation float64 }

// hiddenFactors draws factors with the spread that a fit believes in before it has data.
func hiddenFactors(seed uint64) map[string]hiddenFactor {
	rng := rand.New(rand.NewPCG(seed, 5))
	list := map[string]hiddenFactor{}
	for _, f := range []struct {
		name              string
		centre, deviation float64
	}{{"prompts", 0, 0.25}, {"memory", 0, 0.1}, {"cache", 0, 0.3}, {"step", 0, 0.7},
		{"sequence", 0, 0.7}, {"request", 0, 0.7}, {"mixed", 0.095, 0.06}} {
		value := min(8, max(0.15, math.Exp(f.centre+f.deviation*rng.NormFloat64())))
		list[f.name] = hiddenFactor{value, f.deviation}
	}
	return list
}

// llmsim runs the program and returns what it prints.
func llmsim(t *testing.T, program string, args ...string) (string, error) {
	var stderr strings.Builder
	cmd := testkit.Command(t, program, args...)
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		err = fmt.Errorf("%v: %w: %s", args, err, stderr.String())
	}
	return string(out), err
}

// TestTwinOfALiveServer serves scenarios with hidden factors, sends them two loads, and lets
// Debian's Prometheus scrape them. Most factors lie in the intervals of two deviations that twin
// adapt finds, from single requests and from what Prometheus says. Both narrow what was believed of
// some factor; how many count as learnt depends on how busy this machine is, since its delays are
// in the measurements.
func TestTwinOfALiveServer(t *testing.T) {
	if testing.Short() {
		t.Skip("skipped: takes 50 s")
	}
	monitoring(t, "rules.yaml")
	program := os.Getenv(built)
	var jobs []string
	servers := make([]string, *draws)
	for i := range servers {
		settings := []string{}
		for name, f := range hiddenFactors(uint64(i)) {
			settings = append(settings, "--set", fmt.Sprintf("engine.factors.%s=%g", name, f.value))
		}
		servers[i] = serving(t, program, measuredServer, settings...)
		jobs = append(jobs, fmt.Sprintf("{job_name: d%d, static_configs: [{targets: [%q]}]}", i,
			strings.TrimPrefix(servers[i], "http://")))
	}
	address := startPrometheus(t, t.TempDir(), "global: {scrape_interval: 1s}\nscrape_configs: ["+
		strings.Join(jobs, ", ")+"]\n")
	dir := t.TempDir()
	twin := filepath.Join(dir, "twin.yaml")
	if err := os.WriteFile(twin, []byte(measuredServer), 0o600); err != nil {
		t.Fatal(err)
	}
	var users errgroup.Group
	begin := time.Now()
	for i, at := range servers {
		users.Go(func() error {
			for _, rate := range []int{1, 6} {
				_, err := llmsim(t, program, "load", at, "--scenario", twin, "--set",
					fmt.Sprintf("workload.rate=%d/s", rate), "--set",
					fmt.Sprintf("workload.duration=%ds", *seconds), "--set",
					fmt.Sprintf("seed=%d", i), "--requests",
					filepath.Join(dir, fmt.Sprintf("d%d-%d.csv", i, rate)))
				if err != nil {
					return err
				}
			}
			return nil
		})
	}
	if err := users.Wait(); err != nil {
		t.Fatal(err)
	}
	time.Sleep(2 * time.Second) // until Prometheus has the end
	passed := time.Since(begin).Truncate(3 * time.Second).String()
	var inside, all, narrower [2]int
	for i := range servers {
		for from, source := range [][]string{
			{filepath.Join(dir, fmt.Sprintf("d%d-1.csv", i)),
				filepath.Join(dir, fmt.Sprintf("d%d-6.csv", i))},
			{"--prometheus", address, "--for", passed, "--every", "3s", "--selector",
				fmt.Sprintf(`job="d%d"`, i)}} {
			seen := filepath.Join(dir, fmt.Sprintf("d%d-%d", i, from))
			in, n, more := recovered(t, program, twin, seen, source, hiddenFactors(uint64(i)))
			inside[from], all[from] = inside[from]+in, all[from]+n
			narrower[from] += more
		}
	}
	for from, words := range []string{"requests", "Prometheus"} {
		t.Logf("from %s: %d of %d factors in intervals of 95 %%, %d narrower", words,
			inside[from], all[from], narrower[from])
		if narrower[from] == 0 {
			t.Errorf("from %s: no deviation is a tenth less than before the measurements", words)
		}
		if share := float64(inside[from]) / float64(all[from]); !(share >= 0.7) {
			t.Errorf("from %s: %.0f %% of the factors lie in their intervals, want 95 %%, and at "+
				"least 70 %% by chance", words, 100*share)
		}
	}
}

// recovered fits to sources. It counts the hidden factors that lie in their intervals, and those
// whose deviation is at least a tenth less than before the measurements.
func recovered(t *testing.T, program, twin, seen string, source []string,
	hidden map[string]hiddenFactor) (inside, all, narrower int) {
	t.Helper()
	said, err := llmsim(t, program,
		append([]string{"twin", "observe", "--out", seen}, source...)...)
	if err != nil {
		t.Fatal(err)
	}
	text, err := llmsim(t, program, "twin", "adapt", seen, "--scenario", twin, "--hold", "0",
		"--format", "json")
	if err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	var result struct {
		Factors []struct {
			Name             string
			Value, Deviation float64
			Learnt           bool
		}
	}
	if err := json.Unmarshal([]byte(text), &result); err != nil {
		t.Fatal(err)
	}
	for _, f := range result.Factors {
		want, there := hidden[f.Name]
		if !there {
			continue
		}
		all++
		off := math.Abs(math.Log(f.Value / want.value))
		t.Logf("%s: %s is %.3f ± %.3f, hidden %.3f, learnt %v", filepath.Base(seen), f.Name,
			f.Value, f.Deviation, want.value, f.Learnt)
		if off <= 2*f.Deviation {
			inside++
		}
		if f.Deviation <= 0.9*want.deviation {
			narrower++
		}
	}
	return inside, all, narrower
}
