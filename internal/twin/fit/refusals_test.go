package fit

import (
	"fmt"
	"strings"
	"testing"

	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/internal/twin/observed"
	"github.com/llmsim/llmsim/scenarios"
)

// A factor that is refused inside its bounds is said to be near its bound, in the table and in the
// refusal, and not to be at it.
func TestARefusalSaysWhereAFactorIs(t *testing.T) {
	for _, near := range []bool{false, true} {
		r := &Result{problem: &problem{free: []bool{true}}, Factors: []FittedFactor{{
			Name: "prompts", Of: "a step", Value: 1.98, Deviation: 0.1, Learnt: true, Bound: true,
			Near: near}}}
		var b strings.Builder
		testkit.OK(t, r.WriteText(&b))
		table, refusal, _ := strings.Cut(b.String(), "\nrefused: ")
		for words, is := range map[string]bool{"is at its bound": !near,
			"is within its deviation of its bound": near} {
			if strings.Contains(table, "("+words+")") != is ||
				strings.Contains(refusal, "which "+words) != is {
				t.Errorf("%q is said: %v\n%s", words, !is, b.String())
			}
		}
		if strings.HasSuffix(strings.TrimSpace(refusal), "2.12, by more than its deviation") !=
			near {
			t.Errorf("near %v: %s", near, refusal)
		}
	}
}

// Too few requests or steps are refused with their number and the number that is needed, also where
// only what is held out has enough, and where the client's number of requests in flight is known.
func TestTooLittleIsSaidWithItsNumber(t *testing.T) {
	requests := func(n, late, users int) observed.Run {
		r := observed.Run{Name: "few", Load: observed.Load{Concurrency: users}}
		for i := range n {
			at := float64(i)
			if i >= n-late {
				at += 100
			}
			r.Requests = append(r.Requests, observed.Request{Arrival: at, Prompt: 500,
				Output: 50, TTFT: 0.05, E2E: 0.6})
		}
		return r
	}
	server := Server{Load: func(sets ...string) (*scenarios.File, error) {
		return scenarios.Parse("s.yaml", []byte("model: llama-3.1-8b\nhardware: h100-sxm\n"+
			"workload: {rate: 8/s, prompt: 800, output: 60}\n"), sets...)
	}}
	steps := observed.Run{Name: "few"}
	for range 20 {
		steps.Steps = append(steps.Steps, observed.Step{Seconds: 0.01, Decodes: 4})
	}
	for _, c := range []struct {
		run  observed.Run
		hold float64
		want string
	}{
		{requests(1, 0, 0), 0.3, "found 1 request with latencies in a run, want at least 8 " +
			"before the last 30% of the time"},
		{requests(10, 0, 0), 0.3, "found 10 requests"},
		{requests(7, 0, 0), 0, "found 7 requests with latencies in a run, want at least 8"},
		{requests(7, 0, 4), 0, "found 7 requests"},
		{requests(40, 35, 0), 0.3, "found 40 requests"},
		{requests(40, 35, 4), 0.3, "found 40 requests"},
		{requests(10, 0, 0), 0, ""},
		{steps, 0.3, "found 20 steps in a run, want at least 48"},
		{observed.Run{Name: "few", Intervals: []observed.Interval{{Seconds: 60, Requests: 5,
			Figures: observed.Figures{TTFT: 0.05}}}}, 0, "found 5 requests"},
		{observed.Run{Name: "rates", Intervals: []observed.Interval{{Seconds: 60,
			Requests: 500}}}, 0.3, "no run has latencies"},
		{observed.Run{Name: "few"}, 0.3, "nothing to fit to"},
	} {
		_, err := newProblem(&server, []observed.Run{c.run}, c.hold)
		if got := fmt.Sprint(err); c.want == "" && err != nil || !strings.Contains(got, c.want) ||
			c.hold == 0 && strings.Contains(got, "held out") {
			t.Errorf("%d requests, %d steps: %v, want %s", len(c.run.Requests),
				len(c.run.Steps), err, c.want)
		}
	}
}
