package sweep

import (
	"bytes"
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/llmsim/llmsim/internal/planner"
	"github.com/llmsim/llmsim/internal/planner/queue"
	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/policies"
	"github.com/llmsim/llmsim/scenarios"
)

// victim is the environment variable that makes this test binary a sweep to be killed; it names the
// journal.
const victim = "SWEEP_VICTIM"

func TestMain(m *testing.M) {
	if path := os.Getenv(victim); path != "" {
		if err := journaled(path); err != nil {
			panic(err)
		}
		return
	}
	testkit.Main(m)
}

func journaled(path string) error {
	j, err := planner.OpenJournal(path)
	if err != nil {
		return err
	}
	s := example()
	_, err = s.Run(context.Background(),
		Options{Queue: queue.Config{Workers: 2}, Journal: j})
	return err
}

// example has 60 points, of which the 20 with one GPU do not fit.
func example() Sweep {
	return Sweep{Name: "llama2-70b",
		Set: []string{"workload.requests=200", "hardware=a100-80gb-sxm"}, Axes: []planner.Axis{
			{Key: "parallelism.tensor", Values: []string{"1", "2", "4"}},
			{Key: "workload.rate", Values: []string{"1/s", "2/s", "3/s", "4/s", "5/s"}},
			{Key: "seed", Values: []string{"1", "2", "3", "4"}},
		}}
}

func results(t *testing.T, o Options) string {
	t.Helper()
	s := example()
	r, err := s.Run(context.Background(), o)
	testkit.OK(t, err)
	var out bytes.Buffer
	testkit.OK(t, r.WriteCSV(&out))
	return out.String()
}

func TestTheResultsDoNotDependOnWorkers(t *testing.T) {
	if results(t, Options{Queue: queue.Config{Workers: 1}}) != results(t,
		Options{Queue: queue.Config{Workers: 8}}) {
		t.Error("1 and 8 workers give different bytes")
	}
}

// However often a sweep is killed, its result is that of an undisturbed one, and no run is done
// twice or lost.
func TestKilledSweepsGoOn(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal.jsonl")
	rng := rand.New(rand.NewPCG(1, 2))
	kills := 0
	for round := 0; ; round++ {
		if round == 200 {
			t.Fatal("the sweep does not come to an end")
		}
		cmd := testkit.Command(t, os.Args[0])
		cmd.Env = append(os.Environ(), victim+"="+path)
		testkit.OK(t, cmd.Start())
		ended := make(chan error, 1)
		go func() { ended <- cmd.Wait() }()
		select {
		case err := <-ended:
			testkit.OK(t, err)
		// Later kills come later, since a busy machine may take long to start a process.
		case <-time.After(time.Duration(5+rng.IntN(60)*(1+round)) * time.Millisecond):
			// A process that has just ended by itself has the error that its end had.
			if err := cmd.Process.Kill(); !errors.Is(err, os.ErrProcessDone) {
				testkit.OK(t, err)
				<-ended
				kills++
				continue
			}
			testkit.OK(t, <-ended)
		}
		break
	}
	data := testkit.Read(t, path)
	lines := strings.Split(strings.TrimSuffix(string(data), "\n"), "\n")
	seen := map[string]bool{}
	for _, line := range lines {
		seen[line] = true
	}
	if len(lines) != 60 || len(seen) != 60 {
		t.Errorf("after %d kills the journal has %d lines, %d of them different; want 60", kills,
			len(lines), len(seen))
	}
	j, err := planner.OpenJournal(path)
	testkit.OK(t, err)
	defer j.Close()
	var ran atomic.Int32
	again := results(t, Options{Queue: queue.Config{Workers: 2}, Journal: j,
		Done: func() { ran.Add(1) }})
	if again != results(t, Options{Queue: queue.Config{Workers: 2}}) || ran.Load() > 0 {
		t.Errorf("after %d kills the results differ from those of an undisturbed sweep, or runs "+
			"were done again (%d)", kills, ran.Load())
	}
}

// What does not fit is a row with its reason; the same point under two names is run once.
func TestRows(t *testing.T) {
	s := Sweep{Name: "llama2-70b", Set: []string{"workload.requests=20"}, Axes: []planner.Axis{
		{Key: "parallelism.tensor", Values: []string{"1", "3", "2"}},
		{Key: "name", Values: []string{"one", "two"}},
	}}
	runs := 0
	r, err := s.Run(context.Background(),
		Options{Queue: queue.Config{Workers: 2}, Started: func(n int) { runs = n }})
	testkit.OK(t, err)
	for i, want := range []string{"does not fit", "does not fit", "tensor parallelism 3",
		"tensor parallelism 3", "", ""} {
		if row := r.Rows[i]; !strings.Contains(row.Reason, want) ||
			(want == "") != (row.Reason == "") || (row.Values == nil) != (want != "") {
			t.Errorf("%v: reason %q, want %q", row.Point, row.Reason, want)
		}
	}
	if runs != 3 {
		t.Errorf("%d runs, want 3: names make no difference", runs)
	}
}

func TestBadSweepsAreErrorsOfTheInput(t *testing.T) {
	for _, a := range []planner.Axis{
		{Key: "hardware", Values: []string{"h100-sxm", "h1000"}},
		{Key: "workload.rat", Values: []string{"1/s"}},
		{Key: "parallelism.tensor", Values: []string{"1"}},
		{Key: "batching.token-budgt", Values: []string{"1"}},
	} {
		s := Sweep{Name: "llama2-70b", Axes: []planner.Axis{a}}
		if _, err := s.Run(context.Background(),
			Options{Queue: queue.Config{Workers: 1}}); !scenarios.IsInputError(err) {
			t.Errorf("%v: error %v, want one of the input", a, err)
		}
	}
}

// The front is those rows that no row beats in both, checked against the definition.
func TestFront(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	cost, latency := column(frontCost), column(frontLatency)
	r := &Results{}
	for range 300 {
		row := Row{Values: make([]float64, len(planner.Metrics()))}
		row.Values[cost], row.Values[latency] = 1+float64(rng.IntN(40)), 1+float64(rng.IntN(40))
		r.Rows = append(r.Rows, row)
	}
	r.markFront()
	marked := map[[2]float64]bool{}
	for _, row := range r.Rows {
		if row.Pareto {
			marked[[2]float64{row.Values[cost], row.Values[latency]}] = true
		}
	}
	for _, a := range r.Rows {
		beaten := false
		for _, b := range r.Rows {
			beaten = beaten || b.Values[cost] <= a.Values[cost] &&
				b.Values[latency] <= a.Values[latency] &&
				(b.Values[cost] < a.Values[cost] || b.Values[latency] < a.Values[latency])
		}
		if on := marked[[2]float64{a.Values[cost], a.Values[latency]}]; on == beaten {
			t.Errorf("price %g, latency %g: on the front %v, beaten %v", a.Values[cost],
				a.Values[latency], on, beaten)
		}
	}
}

// Prices beside each other have one denominator: at equal flows of tokens they are in the
// proportion of the prices of an hour, also where one point keeps up with its load and another
// does not.
func TestPricesOfASweepAreInProportion(t *testing.T) {
	s := Sweep{Name: "playground", Set: []string{"workload.rate=0.01/s", "workload.duration=10m"},
		Axes: []planner.Axis{{Key: "hardware",
			Values: []string{"a100-80gb-sxm", "desktop-50gbs"}}}}
	r, err := s.Run(context.Background(), Options{Queue: queue.Config{Workers: 2}})
	testkit.OK(t, err)
	cost, flow := column("cost_per_million_output_tokens"), column("output_throughput")
	var hourly [2]float64
	for i, a := range s.Axes[0].Values {
		f, err := scenarios.Load(s.Name, append(s.Set, "hardware="+a)...)
		testkit.OK(t, err)
		one, err := f.Run(context.Background(), policies.Default())
		testkit.OK(t, err)
		hourly[i] = one.Cost / one.Duration
	}
	x, y := r.Rows[0].Values, r.Rows[1].Values
	got, want := x[cost]*x[flow]/(y[cost]*y[flow]), hourly[0]/hourly[1]
	if math.Abs(got/want-1) > 1e-6 {
		t.Errorf("prices of a second have the ratio %g, want %g", got, want)
	}
	if !r.WholeRuns {
		t.Error("the sweep does not say that its prices are over whole runs")
	}
}
