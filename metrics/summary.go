package metrics

import "github.com/llmsim/llmsim/sim"

// Summary is the outcome of a run. The JSON keys have the names of vLLM's serving benchmark where
// it has them. Times whose key ends in _ms are in milliseconds, and others in seconds. A latency
// that no request has is 0. Answers of one token, and answers that come as a whole from a static
// batch, have no TPOT and no gaps.
type Summary struct {
	Service
	// Tenants sums up the classes of each tenant, and as "others" the requests of tenants that a
	// trace numbers and no class names. Each class keeps its SLO.
	Tenants map[string]ClassSummary `json:"tenants,omitempty"`

	// Sessions sums up the sessions whose calls are requests; nil without sessions.
	Sessions *Sessions `json:"sessions,omitempty"`

	// Phases divide the time of a request; nil if no request was answered.
	*Phases

	// KVHeld is the time for which the KV of completed requests' tokens was held.
	KVHeld KVHeld `json:"-"`

	Preemptions     int64   `json:"preemptions"`
	Steps           int64   `json:"steps"`
	MeanDecodeBatch float64 `json:"mean_decode_batch"`
	PeakBatch       int     `json:"peak_batch"`
	// KVUsage is the mean share of the KV memory in use over the replicas and the window, from the
	// exact integral, and PeakKVUsage the largest share of any replica.
	KVUsage     float64 `json:"kv_usage"`
	PeakKVUsage float64 `json:"peak_kv_usage"`
	KVShares
	Occupancy
	// FetchedTokens is the number of tokens that came from slower memory, for all requests.
	// SwappedTokens is the number of tokens that moved to host memory or back.
	FetchedTokens int64 `json:"fetched_tokens"`
	SwappedTokens int64 `json:"swapped_tokens"`
	// PoolReadBytes and PoolWrittenBytes are the sizes of KV caches that came from a pool which
	// replicas share, and that went to it.
	PoolReadBytes    int64 `json:"pool_read_bytes,omitempty"`
	PoolWrittenBytes int64 `json:"pool_written_bytes,omitempty"`
	// PrefetchedBytes is the size of the KV caches that came from disks before their requests were
	// queued.
	PrefetchedBytes int64 `json:"prefetched_bytes,omitempty" jsonschema:"bytes of KV caches that came from disks before their requests were queued; of arrived requests"`
	// Busy is the share of the time in which a replica ran a step, on average.
	Busy float64 `json:"busy"`
}

// Service has the figures that users of a server see: how requests ended, tokens, rates, latencies
// and limits. The results of a simulation and of a load on a real server hold the same.
type Service struct {
	Endings
	TotalInputTokens  int64 `json:"total_input_tokens"`
	TotalOutputTokens int64 `json:"total_output_tokens"`
	// CachedTokens is the number of the TotalInputTokens that came from a prefix cache when the
	// request was first scheduled. Engines report the same number to users.
	CachedTokens int64 `json:"cached_tokens"`
	// Duration is the length of the window over which every rate, cost, share and mean of a state
	// is taken, and Window describes the window: it starts at time 0, and ends when the last
	// request has ended, with an answer or without, and the asked duration is over.
	Duration float64 `json:"duration"`
	Window   string  `json:"window"`
	// OfferedRate is the rate in 1/s at which requests arrived; 0 where all came at once.
	OfferedRate          float64 `json:"offered_rate"`
	RequestThroughput    float64 `json:"request_throughput"`
	OutputThroughput     float64 `json:"output_throughput"`
	TotalTokenThroughput float64 `json:"total_token_throughput"`

	Latencies

	// Goodput is the rate in 1/s of completed requests that kept every limit of their SLO.
	// Attainment holds shares of all requests, however they ended. A request that its user cut
	// keeps the limits that Cut says.
	Goodput    float64    `json:"goodput"`
	Attainment Attainment `json:"slo_attainment"`
	// SLOMet reports whether every class with requests, or all requests together if there are no
	// classes, kept its SLO: the limits in the share that the SLO asks for, and the limits of
	// percentiles. It is false if there were no requests.
	SLOMet bool `json:"slo_met"`
	// Limits holds the result of each limit; the limits of a class are in its ClassSummary. Binds
	// names the limit that binds, with the name of its class in front. It is the limit that is
	// missed by most, or the one that would be missed first.
	Limits []LimitResult `json:"slo_limits,omitempty"`
	Binds  string        `json:"slo_binds,omitempty"`

	Classes map[string]ClassSummary `json:"classes,omitempty"`
}

// Occupancy is the exact number of requests in the system: integrals over the window, divided by
// its length, and the largest numbers that lasted for more than an instant. A request runs while it
// has a place in a batch. It waits for the rest of the time from its arrival to its last token, or
// until it ends without an answer: in queues, for a replica, and while its images are encoded or
// its KV cache moves. So by Little's law MeanRunning + MeanWaiting is the sum of these times over
// all requests, divided by the window. For a pool, only time at its replicas counts.
type Occupancy struct {
	MeanRunning float64 `json:"mean_running"`
	MeanWaiting float64 `json:"mean_waiting"`
	PeakRunning int64   `json:"peak_running"`
	PeakWaiting int64   `json:"peak_waiting"`
}

// OccupancyOf returns the occupancy over a window from time 0 to end.
func OccupancyOf(l *sim.Load, end sim.Time) Occupancy {
	return Occupancy{l.Running.Integral.Over(end), l.Waiting.Integral.Over(end), l.Running.Peak,
		l.Waiting.Peak}
}

// KVHeld is in tokens times seconds, as if each request held its own: prompt tokens from its first
// step to its last token, prompt tokens from a prefix cache apart, and output tokens half of the
// time from the first token to the last.
type KVHeld struct{ Input, Cached, Output float64 }

// Endings counts requests by how they ended.
type Endings struct {
	Completed int64 `json:"completed"`
	// Rejected requests were refused, TimedOut requests waited too long, Cancelled requests were
	// given up by their users before the first token, Cut requests in the middle of the answer, and
	// Lost requests were at replicas that failed.
	Rejected  int64 `json:"rejected"`
	TimedOut  int64 `json:"timed_out"`
	Cancelled int64 `json:"cancelled"`
	Cut       int64 `json:"cut"`
	Lost      int64 `json:"lost"`
}

// Sent returns the number of all requests, however they ended.
func (e Endings) Sent() int64 { return e.Begun() + e.Unanswered() }

// Begun returns the number of requests of whose answers the users had the first token or more.
func (e Endings) Begun() int64 { return e.Completed + e.Cut }

// Unanswered returns the number of requests that ended without an answer, and were not cut.
func (e Endings) Unanswered() int64 { return e.Rejected + e.TimedOut + e.Cancelled + e.Lost }

// Latencies are means and percentiles in milliseconds: TTFT (time to first token), TPOT (time per
// output token after the first), ITL (each gap between tokens) and E2EL (the whole request). TTFT
// and TPOT are of all answers that began, also of those that were cut. A latency that no request
// had is 0, its standard deviation nil, and absent in JSON.
type Latencies struct {
	MeanTTFT   float64  `json:"mean_ttft_ms,omitzero"`
	MedianTTFT float64  `json:"median_ttft_ms,omitzero"`
	StdTTFT    *float64 `json:"std_ttft_ms,omitempty"`
	P90TTFT    float64  `json:"p90_ttft_ms,omitzero"`
	P95TTFT    float64  `json:"p95_ttft_ms,omitzero"`
	P99TTFT    float64  `json:"p99_ttft_ms,omitzero"`
	MeanTPOT   float64  `json:"mean_tpot_ms,omitzero"`
	MedianTPOT float64  `json:"median_tpot_ms,omitzero"`
	StdTPOT    *float64 `json:"std_tpot_ms,omitempty"`
	P90TPOT    float64  `json:"p90_tpot_ms,omitzero"`
	P95TPOT    float64  `json:"p95_tpot_ms,omitzero"`
	P99TPOT    float64  `json:"p99_tpot_ms,omitzero"`
	MeanITL    float64  `json:"mean_itl_ms,omitzero"`
	MedianITL  float64  `json:"median_itl_ms,omitzero"`
	StdITL     *float64 `json:"std_itl_ms,omitempty"`
	P90ITL     float64  `json:"p90_itl_ms,omitzero"`
	P95ITL     float64  `json:"p95_itl_ms,omitzero"`
	P99ITL     float64  `json:"p99_itl_ms,omitzero"`
	MeanE2EL   float64  `json:"mean_e2el_ms,omitzero"`
	MedianE2EL float64  `json:"median_e2el_ms,omitzero"`
	StdE2EL    *float64 `json:"std_e2el_ms,omitempty"`
	P90E2EL    float64  `json:"p90_e2el_ms,omitzero"`
	P95E2EL    float64  `json:"p95_e2el_ms,omitzero"`
	P99E2EL    float64  `json:"p99_e2el_ms,omitzero"`
}

// Phases are the means of the parts of a request's time in milliseconds. TTFT is queue, prefill and
// front end, of all answers that began; the whole request is TTFT and decode where no answer was
// cut.
type Phases struct {
	// MeanQueue is the time from the arrival to the first step, and MeanPrefill from there until
	// the first token comes out: of the step that computes the last token of the prompt, or where
	// prefill and decode are apart, of the replica that sends it.
	MeanQueue   float64 `json:"mean_queue_ms"`
	MeanPrefill float64 `json:"mean_prefill_ms"`
	// MeanFrontEnd is the time of tokenising, the front end and the hand-over to a decode replica.
	MeanFrontEnd float64 `json:"mean_front_end_ms"`
	// MeanDecode is the time from the first token to the last, of whole answers.
	MeanDecode float64 `json:"mean_decode_ms"`
}

// Attainment holds the shares of requests that kept a limit, in [0, 1]. A share is 1 if there is no
// such limit, and 0 if there were no requests.
type Attainment struct {
	TTFT float64 `json:"ttft" jsonschema:"share that kept the limit of TTFT; of arrived requests"`
	TPOT float64 `json:"tpot" jsonschema:"share that kept the limit of TPOT; of arrived requests"`
	E2E  float64 `json:"e2e" jsonschema:"share that kept the limit of the whole request; of arrived requests"`
	// All is the share that kept every limit at once, and Target the share that the SLO asks for.
	All    float64 `json:"all" jsonschema:"share that kept every limit; of arrived requests"`
	Target float64 `json:"target" jsonschema:"share that the SLO asks for; of arrived requests"`
}

// ClassSummary is the outcome for the requests of one class or tenant. Inter-token latency is not
// collected by class, so its keys are absent.
type ClassSummary struct {
	Endings
	TotalInputTokens  int64 `json:"total_input_tokens"`
	TotalOutputTokens int64 `json:"total_output_tokens"`
	Latencies
	Occupancy
	Goodput    float64       `json:"goodput"`
	Attainment Attainment    `json:"slo_attainment"`
	SLOMet     bool          `json:"slo_met"`
	Limits     []LimitResult `json:"slo_limits,omitempty"`
}
