package scenarios

import (
	"fmt"
	"math"
	"slices"

	"github.com/llmsim/llmsim/internal/units"
	"github.com/llmsim/llmsim/metrics"
	"github.com/llmsim/llmsim/sim"
	"github.com/llmsim/llmsim/workload"
)

// notices says what happened in the run that a reader of the result should know.
func (f *finished) notices() []string {
	var list []string
	for i := range f.pools {
		for _, warning := range f.pools[i].Clock.Outside() {
			if !slices.Contains(list, warning) {
				list = append(list, warning)
			}
		}
	}
	rejections := f.collector.Rejections()
	for why := range sim.Rejection(sim.Rejections) {
		n := rejections[why]
		switch {
		case n == 0:
		case why <= sim.TooLarge:
			list = append(list, fmt.Sprintf("%d requests were turned away: %v (%d tokens)",
				n, why, f.scenario.Engine.MaxModelLen))
		default:
			list = append(list, fmt.Sprintf("%d requests got no answer: %v", n, why))
		}
	}
	if words := shortfall(&f.scenario.Workload, workload.Opened(f.source),
		f.summary.Sent()); words != "" {
		list = append(list, words)
	}
	closed := f.scenario.Workload.Arrivals.Process == "closed-loop"
	if words := f.crowd.burstNotice(f.summary.P95TTFT, closed); words != "" {
		list = append(list, words)
	}
	counts := f.source.Counts()
	for _, c := range []struct {
		n    int64
		what string
	}{
		{counts.Failed, "rows of the trace are failed requests and were left out"},
		{counts.Clamped, "requests of the trace were cut to the longest context served"},
		{counts.Raised, "requests of the trace had no prompt or no output token and got one"},
	} {
		if c.n > 0 {
			list = append(list, fmt.Sprintf("%d %s", c.n, c.what))
		}
	}
	return list
}

// shortfall returns the reason why fewer requests were sent than the scenario asks for, or "". A
// run that ends at workload.duration has sent all that it should, unless it sent no request.
// Requests that were opened, which is to say served before the run to warm caches, are a part of
// those that the scenario asks for.
func shortfall(w *Workload, opened, sent int64) string {
	asked := w.Requests - opened
	switch {
	case sent == 0 && w.Duration > 0:
		return fmt.Sprintf("no request arrived within workload.duration, %v: nothing was measured",
			w.Duration)
	case sent >= asked || w.Duration > 0:
		return ""
	case w.tracedClasses():
		return fmt.Sprintf("the traces have %d of the %d requests that workload.requests asks for",
			sent, asked)
	case w.Trace != nil && !w.Trace.Repeat:
		return fmt.Sprintf("the trace has %d of the %d requests that workload.requests asks for",
			sent, asked)
	case w.Ends():
		return fmt.Sprintf("the rate ends after %d of the %d requests that workload.requests "+
			"asks for", sent, asked)
	}
	return fmt.Sprintf("only %d of the %d requests arrived: the next would come after %s, the "+
		"longest time that can be simulated; raise workload.rate or lower workload.requests",
		sent, asked, units.FormatDuration(sim.Never.Seconds()))
}

// Unsteady returns the reason why the start and the end of a scenario's runs are part of what it
// shows, so that no request may be left out as warm-up. It returns "" if the scenario has a steady
// state.
func (s *Scenario) Unsteady() string {
	w := &s.Workload
	switch {
	case w.Recorded():
		return "replays a recorded trace"
	case len(s.Fleet.Outages) > 0:
		return "has outages"
	case w.Arrivals.Process == "at-once":
		return "has all its requests at once"
	case w.Rate.changes():
		return "has a rate that changes"
	}
	for i := range w.Classes {
		if w.Classes[i].Rate.changes() {
			return "has a rate that changes"
		}
	}
	for i := range s.Fleet.Pools {
		if s.Fleet.Pools[i].Scaling.Policy != "" {
			return "starts and stops replicas"
		}
	}
	return ""
}

// changes reports whether a rate follows a pattern.
func (r *Rate) changes() bool { return r.Pattern != "" && r.Pattern != "steady" }

// offersRate reports whether requests arrive at a constant rate that does not depend on the
// answers.
func (s *Scenario) offersRate() bool {
	return s.Unsteady() == "" && s.Workload.Arrivals.Process != "closed-loop"
}

// Diagnosis says whether a system serves all requests that arrive, and what its time is used for.
type Diagnosis struct {
	Load LoadState `json:"load"`
	// Served is the rate in 1/s at which requests were completed while others arrived.
	Served float64 `json:"served_rate" jsonschema:"rate in 1/s while others arrive; of completed requests"`
	// Early and Late are the mean numbers of requests at replicas in the samples of the second and
	// of the last quarter of the time in which requests arrive.
	Early float64 `json:"requests_in_system_early" jsonschema:"mean number at replicas in samples of the second quarter of arrivals; of arrived requests"`
	Late  float64 `json:"requests_in_system_late" jsonschema:"mean number at replicas in samples of the last quarter of arrivals; of arrived requests"`
	// Prompts and Decoding are the shares of the time of steps that prompts and decoding take. Of a
	// step for both, decoding counts the time that it would take alone, and prompts count the rest.
	Prompts  float64 `json:"prompt_time_share" jsonschema:"share of the time that prompts take; of steps"`
	Decoding float64 `json:"decode_time_share" jsonschema:"share of the time that decoding takes; of steps"`
	// Remedies are changes that were tried because the SLO is missed or the system is overloaded.
	Remedies []Remedy `json:"remedies,omitempty"`
}

// LoadState compares the rate of arrivals with the rate at which requests are served.
type LoadState string

// States of load.
const (
	// KeepsUp: the number of requests in the system does not grow.
	KeepsUp LoadState = "keeps up"
	// Overloaded: the number of requests in the system grows as long as requests arrive, so that
	// latencies depend on the length of the run.
	Overloaded LoadState = "overloaded"
	// TooShort: the run is too short, compared with the latency of a request, to tell the two
	// apart.
	TooShort LoadState = "too short to tell"
	// NoRate: requests do not arrive at a constant rate.
	NoRate LoadState = "no steady rate"
)

// Remedy is a change that was tried, with its effect in a simulation.
type Remedy struct {
	// Change describes the change in words, and Set lists the overrides of the scenario.
	Change string   `json:"change"`
	Set    []string `json:"set"`
	// Kept is the share of requests that meet the SLO. TTFT and TPOT are 99th percentiles in
	// milliseconds; a TPOT of 0 means no TPOT, as with static batches. Each is given before and
	// after the change, in runs of equal length.
	Kept [2]float64 `json:"slo_attainment" jsonschema:"shares that meet the SLO before and after the change; of arrived requests"`
	TTFT [2]float64 `json:"p99_ttft_ms" jsonschema:"99th percentile of TTFT before and after; of begun requests"`
	TPOT [2]float64 `json:"p99_tpot_ms" jsonschema:"99th percentile of TPOT before and after; of begun requests"`
	// Met reports whether the SLO is met after the change, and Load whether the system keeps up.
	Met  bool      `json:"slo_met"`
	Load LoadState `json:"load"`
	// Helps reports whether the change helps: the SLO is met, clearly more requests meet it, or the
	// system is not overloaded after the change.
	Helps bool `json:"helps"`
	// Price is the price of an hour after the change, divided by that before; absent if an
	// accelerator has no price. Requests is the number of requests of the runs.
	Price    float64 `json:"price,omitempty" jsonschema:"price of an hour after the change over that before; of the run"`
	Requests int64   `json:"requests" jsonschema:"requests of each run; of arrived requests"`
}

// long is the time over which requests must arrive to show whether the system keeps up, as a
// multiple of the mean latency of a request.
const long = 8

// diagnose says whether the system keeps up, and what its time is used for.
func (f *finished) diagnose() *Diagnosis {
	d := &Diagnosis{Load: NoRate}
	prompts, decoding := 0.0, 0.0
	for i := range f.work.meters {
		prompts += f.work.meters[i].prompts.Seconds()
		decoding += f.work.meters[i].decoding.Seconds()
	}
	d.Prompts, d.Decoding = times(prompts, prompts+decoding), times(decoding, prompts+decoding)
	sent := float64(f.summary.Sent())
	if !f.scenario.offersRate() || sent < 2 {
		return d
	}
	span := (sent - 1) / f.summary.OfferedRate
	quarters, waiting, last := inSystem(f.collector.Series(), span)
	d.Early, d.Late = quarters[1], quarters[3]
	d.Served = (sent - float64(last)) / span
	d.Load = loadOf(quarters, waiting, span, f.summary.MeanE2EL/1000)
	return d
}

// loadOf judges the mean numbers of requests in the system over the quarters of a span of seconds.
// In a system that keeps up, these numbers vary by chance: by less than a quarter, or by three
// times the square root of the number that a Poisson process would give. At its start, for a few
// latencies, such a system fills too, but with running requests. It counts as overloaded then if a
// quarter of its requests wait.
func loadOf(quarters [4]float64, waiting, span, latency float64) LoadState {
	early, late := quarters[1], quarters[3]
	grows := late > quarters[2] && quarters[2] > early && late > 1.25*early &&
		late-early > 3*math.Sqrt(early)+1
	short := span < long*latency
	switch {
	case grows && (!short || waiting > late/4):
		return Overloaded
	case short:
		return TooShort
	}
	return KeepsUp
}

// inSystem returns the mean numbers of requests that wait or run in each quarter of a span of
// seconds, how many of the last quarter's wait, and how many wait or run at its end.
func inSystem(points []metrics.Point, span float64) (quarters [4]float64, waiting float64,
	last int) {
	var n [4]float64
	for i := range points {
		p := &points[i]
		q := int(4 * p.At.Seconds() / span)
		if q > 3 {
			break
		}
		last = p.Waiting + p.Running
		quarters[q] += float64(last)
		n[q]++
		if q == 3 {
			waiting += float64(p.Waiting)
		}
	}
	for q := range quarters {
		quarters[q] = times(quarters[q], n[q])
	}
	return quarters, times(waiting, n[3]), last
}
