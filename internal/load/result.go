package load

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/llmsim/llmsim/internal/units"
	"github.com/llmsim/llmsim/metrics"
	"github.com/llmsim/llmsim/sim"
)

// Result holds the figures that the users of a server saw. Keys that the result of a simulation
// also has have the same name and meaning there.
type Result struct {
	// Model is the requested model, and URL the address of the server.
	Model string `json:"model"`
	URL   string `json:"url"`
	metrics.Service
	// MeanSendDelay and MaxSendDelay are the delays with which requests were sent, in milliseconds
	// of wall-clock time. They are part of TTFT and E2E latency.
	MeanSendDelay float64 `json:"mean_send_delay_ms"`
	MaxSendDelay  float64 `json:"max_send_delay_ms"`
	// Speed is the number of seconds of the workload in one second of wall-clock time.
	Speed float64 `json:"speed"`
	// Errors counts requests without an answer by what went wrong.
	Errors map[string]int64 `json:"errors,omitempty"`
}

// tally counts what the collector does not.
type tally struct {
	errors    map[string]int64
	sent      int64
	late, max time.Duration
}

// mostErrors bounds the different messages that are kept.
const mostErrors = 20

func newTally() *tally { return &tally{errors: map[string]int64{}} }

func (t *tally) add(a *answer) {
	if !a.sent.IsZero() {
		t.sent++
		t.late += a.late
		t.max = max(t.max, a.late)
	}
	if a.err == nil {
		return
	}
	words := a.err.Error()
	if _, known := t.errors[words]; !known && len(t.errors) >= mostErrors {
		words = "others"
	}
	t.errors[words]++
}

// result sums up.
func (g *generator) result() *Result {
	end := g.ended
	if t, ok := g.Source.(sim.Timed); ok {
		end = max(end, t.Until())
	}
	s := g.collect.Summary(&sim.Result{Ended: g.ended, End: end,
		Replicas: make([]sim.ReplicaResult, 1)})
	r := &Result{
		Model: g.client.model, URL: g.URL, Service: s.Service, Speed: g.Speed,
		Errors: g.tally.errors, MaxSendDelay: milliseconds(g.tally.max),
	}
	r.CachedTokens = g.cached
	if g.tally.sent > 0 {
		r.MeanSendDelay = milliseconds(g.tally.late) / float64(g.tally.sent)
	}
	return r
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// WriteText prints the result to be read in a terminal.
func (r *Result) WriteText(out io.Writer) error {
	w := &strings.Builder{}
	latency := func(name string, values ...float64) {
		fmt.Fprintf(w, "%-24s", name)
		for _, v := range values {
			fmt.Fprintf(w, "%12s", units.FormatDuration(v/1000))
		}
		w.WriteString("\n")
	}
	fmt.Fprintf(w, "%s at %s\n\n", r.Model, r.URL)
	fmt.Fprintf(w, "%-24s%12s%12s%12s%12s\n", "", "mean", "p50", "p90", "p99")
	l := &r.Latencies
	latency("time to first token", l.MeanTTFT, l.MedianTTFT, l.P90TTFT, l.P99TTFT)
	latency("time per output token", l.MeanTPOT, l.MedianTPOT, l.P90TPOT, l.P99TPOT)
	latency("gap between tokens", l.MeanITL, l.MedianITL, l.P90ITL, l.P99ITL)
	latency("whole request", l.MeanE2EL, l.MedianE2EL, l.P90E2EL, l.P99E2EL)
	cut := ""
	if r.Cut > 0 {
		cut = fmt.Sprintf(", %d cut by their users", r.Cut)
	}
	fmt.Fprintf(w, "\nrequests     %d completed%s, %d without an answer, in %s\n",
		r.Completed, cut, r.Unanswered(), units.FormatDuration(r.Duration))
	fmt.Fprintf(w, "throughput   %.4g requests/s, %.4g output tokens/s, %.4g tokens/s in all\n",
		r.RequestThroughput, r.OutputThroughput, r.TotalTokenThroughput)
	fmt.Fprintf(w, "SLO          kept by %.4g %% of the requests, %.4g %% wanted\n",
		100*r.Attainment.All, 100*r.Attainment.Target)
	for i := range r.Limits {
		if l := &r.Limits[i]; !l.Joint {
			fmt.Fprintf(w, "             %s is %s, %s wanted\n",
				l.Name(), units.FormatDuration(l.Measured/1000), units.FormatDuration(l.Limit/1000))
		}
	}
	fmt.Fprintf(w, "sent late    by %s on average, %s at most\n",
		units.FormatDuration(r.MeanSendDelay/1000), units.FormatDuration(r.MaxSendDelay/1000))
	for _, words := range slices.SortedFunc(maps.Keys(r.Errors), func(a, b string) int {
		return cmp.Or(cmp.Compare(r.Errors[b], r.Errors[a]), cmp.Compare(a, b))
	}) {
		fmt.Fprintf(w, "error        %d × %s\n", r.Errors[words], words)
	}
	_, err := io.WriteString(out, w.String())
	return err
}
