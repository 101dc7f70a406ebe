package scenarios

import (
	"math"

	"github.com/llmsim/llmsim/metrics"
)

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
