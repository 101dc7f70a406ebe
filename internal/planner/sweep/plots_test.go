package sweep

import (
	"context"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/llmsim/llmsim/internal/planner"
	"github.com/llmsim/llmsim/internal/planner/queue"
	"github.com/llmsim/llmsim/internal/report/plots"
	"github.com/llmsim/llmsim/internal/testkit"
)

var update = flag.Bool("update", false, "write the golden files")

// What the pictures of sweeps show is in testdata/plots.txt: latency against throughput as the load
// grows, and the gain of drafts against batch and acceptance. The engine is ideal, so that it does
// not depend on fitted constants.
func TestDataOfThePlots(t *testing.T) {
	var b strings.Builder
	load := sweepOf(t, "chat", []string{"engine=ideal", "workload.requests=200"},
		planner.Axis{Key: "workload.rate", Values: []string{"10/s", "40/s", "160/s"}},
		planner.Axis{Key: "hardware", Values: []string{"a100-80gb-sxm", "h100-sxm"}})
	describe(&b, "output tokens (1/s) and p99 TTFT (ms) over "+axisLabel(load.Axes[0]),
		load.tradeoff("p99_ttft_ms"))
	drafts := sweepOf(t, "speculation-batch",
		[]string{"engine={preset: ideal, max-model-len: 8192}", "workload.requests=300"},
		planner.Axis{Key: "workload.arrivals.users", Values: []string{"1", "16", "256"}},
		planner.Axis{Key: "speculation.acceptance", Values: []string{"0.5", "0.9"}})
	gain, names := drafts.series(column("speculation_speedup"), drafts.horizontal())
	if names != nil {
		t.Errorf("numbers are drawn as names %q", names)
	}
	describe(&b, "gain of drafts over "+axisLabel(drafts.Axes[0]), gain)

	const path = "testdata/plots.txt"
	if *update {
		testkit.OK(t, os.WriteFile(path, []byte(b.String()), 0o666))
	}
	want := testkit.Read(t, path)
	if diff := cmp.Diff(string(want), b.String()); diff != "" {
		t.Errorf("%s (-want +got):\n%s", path, diff)
	}
}

func sweepOf(t *testing.T, name string, set []string, axes ...planner.Axis) *Results {
	t.Helper()
	s := Sweep{Name: name, Set: set, Axes: axes}
	r, err := s.Run(context.Background(), Options{Queue: queue.Config{Workers: 2}})
	testkit.OK(t, err)
	return r
}

func describe(b *strings.Builder, title string, list []plots.Series) {
	fmt.Fprintln(b, title)
	for _, s := range list {
		fmt.Fprintf(b, "  %s\n", s.Name)
		for i := range s.X {
			fmt.Fprintf(b, "    %.6g\t%.6g\n", s.X[i], s.Y[i])
		}
	}
}
