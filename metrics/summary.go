package metrics

import (
	"github.com/llmsim/llmsim/sim"
)

// Summary is the outcome of a run. The JSON keys are those of vLLM's serving benchmark where it has
// them; times ending in _ms are in milliseconds, others in seconds. A latency that no request has
// is 0: answers of one token, and answers that come at once as from a static batch, have no TPOT
// and no gaps.
type Summary struct {
	Endings
	TotalInputTokens  int64 `json:"total_input_tokens"`
	TotalOutputTokens int64 `json:"total_output_tokens"`
	// CachedInput counts the tokens of the prompts of completed requests that came from a prefix
	// cache when the requests were last admitted, as an engine reports them to users.
	CachedInput int64 `json:"-"`
	// Duration is from the first arrival to the last token.
	Duration float64 `json:"duration"`
	// OfferedRate is the rate in 1/s at which requests arrived; 0 where all came at once.
	OfferedRate          float64 `json:"offered_rate"`
	RequestThroughput    float64 `json:"request_throughput"`
	OutputThroughput     float64 `json:"output_throughput"`
	TotalTokenThroughput float64 `json:"total_token_throughput"`

	Latencies

	// Goodput is the rate in 1/s of requests that kept every limit of their SLO, Attainment their
	// share of all requests, those without an answer among them.
	Goodput    float64    `json:"goodput"`
	Attainment Attainment `json:"slo_attainment"`
	// SLOMet reports whether every class with requests (or, without classes, all requests together)
	// kept its limits in the share that its SLO asks for, and those of percentiles. It is false
	// where there were no requests.
	SLOMet bool `json:"slo_met"`
	// Limits says what became of each limit; those of classes are with these. Binds names the limit
	// that binds, of a class behind its name: the one that is missed by most, or else would be
	// first.
	Limits []LimitResult `json:"slo_limits,omitempty"`
	Binds  string        `json:"slo_binds,omitempty"`

	Classes map[string]ClassSummary `json:"classes,omitempty"`
	// Tenants sums up the classes of each. Their SLOs count.
	Tenants map[string]ClassSummary `json:"tenants,omitempty"`

	// MeanQueue, MeanPrefill and MeanDecode say where the time of a request went: waiting for its
	// first step, from there to the first token, and from there to the last.
	MeanQueue   float64 `json:"mean_queue_ms"`
	MeanPrefill float64 `json:"mean_prefill_ms"`
	MeanDecode  float64 `json:"mean_decode_ms"`

	Preemptions     int64   `json:"preemptions"`
	Steps           int64   `json:"steps"`
	MeanDecodeBatch float64 `json:"mean_decode_batch"`
	PeakBatch       int     `json:"peak_batch"`
	// KVUsage is the mean share of the KV memory in use, PeakKVUsage the largest of any replica.
	KVUsage     float64 `json:"kv_usage"`
	PeakKVUsage float64 `json:"peak_kv_usage"`
	KVShares
	MeanRunning  float64 `json:"mean_running"`
	MeanWaiting  float64 `json:"mean_waiting"`
	PeakWaiting  int     `json:"peak_waiting"`
	CachedTokens int64   `json:"cached_tokens"`
	// FetchedTokens counts cached tokens that came from slower memory, SwappedTokens tokens that
	// moved to host memory or back.
	FetchedTokens int64 `json:"fetched_tokens"`
	SwappedTokens int64 `json:"swapped_tokens"`
	// Busy is the share of the time in which a replica ran a step, on average.
	Busy float64 `json:"busy"`
}

// Endings counts requests by how they ended.
type Endings struct {
	Completed int64 `json:"completed"`
	// Rejected requests were turned away, TimedOut ones waited too long, Cancelled ones were given
	// up by their users, and Lost ones were at replicas that failed.
	Rejected  int64 `json:"rejected"`
	TimedOut  int64 `json:"timed_out"`
	Cancelled int64 `json:"cancelled"`
	Lost      int64 `json:"lost"`
}

// Sent returns the number of all requests, however they ended.
func (e Endings) Sent() int64 {
	return e.Completed + e.Rejected + e.TimedOut + e.Cancelled +
		e.Lost
}

// Latencies are means and percentiles in milliseconds: TTFT (time to first token), TPOT (time per
// output token after the first), ITL (each gap between tokens) and E2EL (the whole request).
type Latencies struct {
	MeanTTFT   float64 `json:"mean_ttft_ms"`
	MedianTTFT float64 `json:"median_ttft_ms"`
	StdTTFT    float64 `json:"std_ttft_ms"`
	P90TTFT    float64 `json:"p90_ttft_ms"`
	P95TTFT    float64 `json:"p95_ttft_ms"`
	P99TTFT    float64 `json:"p99_ttft_ms"`
	MeanTPOT   float64 `json:"mean_tpot_ms"`
	MedianTPOT float64 `json:"median_tpot_ms"`
	StdTPOT    float64 `json:"std_tpot_ms"`
	P90TPOT    float64 `json:"p90_tpot_ms"`
	P95TPOT    float64 `json:"p95_tpot_ms"`
	P99TPOT    float64 `json:"p99_tpot_ms"`
	MeanITL    float64 `json:"mean_itl_ms"`
	MedianITL  float64 `json:"median_itl_ms"`
	StdITL     float64 `json:"std_itl_ms"`
	P90ITL     float64 `json:"p90_itl_ms"`
	P95ITL     float64 `json:"p95_itl_ms"`
	P99ITL     float64 `json:"p99_itl_ms"`
	MeanE2EL   float64 `json:"mean_e2el_ms"`
	MedianE2EL float64 `json:"median_e2el_ms"`
	StdE2EL    float64 `json:"std_e2el_ms"`
	P90E2EL    float64 `json:"p90_e2el_ms"`
	P95E2EL    float64 `json:"p95_e2el_ms"`
	P99E2EL    float64 `json:"p99_e2el_ms"`
}

// Attainment is the share of requests that kept a limit, in [0, 1]: 1 where there is no limit, 0
// where there were no requests.
type Attainment struct {
	TTFT float64 `json:"ttft"`
	TPOT float64 `json:"tpot"`
	E2E  float64 `json:"e2e"`
	// All is the share that kept every limit at once, Target the share that the SLO asks for.
	All    float64 `json:"all"`
	Target float64 `json:"target"`
}

// ClassSummary is the outcome for the requests of one class or tenant. Inter-token latency is not
// kept by class: those keys are 0.
type ClassSummary struct {
	Endings
	TotalInputTokens  int64 `json:"total_input_tokens"`
	TotalOutputTokens int64 `json:"total_output_tokens"`
	Latencies
	Goodput    float64       `json:"goodput"`
	Attainment Attainment    `json:"slo_attainment"`
	SLOMet     bool          `json:"slo_met"`
	Limits     []LimitResult `json:"slo_limits,omitempty"`
}

// Series returns the state of the fleet over time, evenly spaced.
func (c *Collector) Series() []Point {
	c.series.close()
	return c.series.points
}

// Rejections returns the number of requests turned away for each reason that occurred.
func (c *Collector) Rejections() map[sim.Rejection]int64 {
	why := map[sim.Rejection]int64{}
	for i, n := range c.all.without {
		if n > 0 {
			why[sim.Rejection(i)] = n
		}
	}
	return why
}
