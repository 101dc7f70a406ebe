// Package observed holds what was seen of a deployment: its server, and runs of requests, steps or
// sums over intervals. Readers of many formats write it, and the fit reads it.
//
// Times are in seconds. A figure that is 0 was not seen.
package observed

import (
	"cmp"
	"math"
	"slices"

	"github.com/llmsim/llmsim/sim"
)

// Observed is what was seen of one deployment.
type Observed struct {
	// Sources are the files that were read, in order.
	Sources []Source `json:"sources"`
	Server  Server   `json:"server,omitzero"`
	Runs    []Run    `json:"runs"`
	// Lacks says what the sources do not say, and what follows from that.
	Lacks []string `json:"lacks,omitempty"`
}

// Source is a file, and what was found in it.
type Source struct {
	File string `json:"file"`
	// Format is the name of the reader, Version the version of the format or of its producer.
	Format  string `json:"format"`
	Version string `json:"version,omitempty"`
	// Found says what the file has, Notes what a reader should know of it.
	Found string   `json:"found"`
	Notes []string `json:"notes,omitempty"`
	// Server is what the file says of the server.
	Server Server `json:"server,omitzero"`
}

// Server is what the sources say of the server.
type Server struct {
	Engine  string `json:"engine,omitempty"`
	Version string `json:"version,omitempty"`
	Model   string `json:"model,omitempty"`
	GPU     string `json:"gpu,omitempty"`
	Tensor  int    `json:"tensor,omitempty"`
	// CacheTokens is the size of the KV cache in tokens, BlockTokens the size of a block.
	CacheTokens int    `json:"cache_tokens,omitempty"`
	BlockTokens int    `json:"block_tokens,omitempty"`
	Flags       string `json:"flags,omitempty"`
}

// Run is a stretch of time in which the server had one kind of load.
type Run struct {
	Name string `json:"name"`
	// Date is the day of the run, as 2026-11-23.
	Date string `json:"date,omitempty"`
	Load Load   `json:"load,omitzero"`
	// Requests, Steps and Intervals are what was seen, in order of time.
	Requests  []Request  `json:"requests,omitempty"`
	Steps     []Step     `json:"steps,omitempty"`
	Intervals []Interval `json:"intervals,omitempty"`
	// Summary are figures of the whole run.
	Summary Figures `json:"summary,omitzero"`
}

// Load describes the requests of a run, as far as they are not listed one by one.
type Load struct {
	// Rate is the number of requests a second, Concurrency the most that the client has in flight;
	// 0 means no limit.
	Rate        float64 `json:"rate,omitempty"`
	Concurrency int     `json:"concurrency,omitempty"`
	// Requests is their number, Seconds the length of the run.
	Requests int     `json:"requests,omitempty"`
	Seconds  float64 `json:"seconds,omitempty"`
	// Prompt and Output are mean lengths in tokens.
	Prompt float64 `json:"prompt,omitempty"`
	Output float64 `json:"output,omitempty"`
	// PromptSpread and OutputSpread are the standard deviations of lengths, divided by the means; 0
	// where they are not known. Cached is the mean number of tokens of a prompt that the cache had.
	PromptSpread float64 `json:"prompt_spread,omitempty"`
	OutputSpread float64 `json:"output_spread,omitempty"`
	Cached       float64 `json:"cached,omitempty"`
	// Distinct is the number of different prompts, which are sent one after another, in Groups with
	// System tokens in common; 0 means that all prompts differ. Warm says that the cache has them.
	Distinct int  `json:"distinct,omitempty"`
	Groups   int  `json:"groups,omitempty"`
	System   int  `json:"system,omitempty"`
	Warm     bool `json:"warm,omitempty"`
	// Untimed says that the source lists requests without the times at which they were sent: they
	// cannot be replayed.
	Untimed bool `json:"untimed,omitempty"`
}

// Request is one request. Its text is not kept.
type Request struct {
	// Arrival is when the request was due, from the start of the run, and Sent when it was sent
	// where a limit of the client delayed it; 0 means at its arrival. A request that was due when
	// the one before it ended, and at no time of its own, has the arrival of the one before it.
	Arrival float64 `json:"at"`
	Sent    float64 `json:"sent,omitempty"`
	Prompt  int     `json:"in"`
	Output  int     `json:"out"`
	Cached  int     `json:"cached,omitempty"`
	// TTFT and E2E are the times from sending to the first and to the last token.
	TTFT float64 `json:"ttft,omitempty"`
	E2E  float64 `json:"e2e,omitempty"`
	// Content is what the prompt shares with others.
	Content []sim.Segment `json:"content,omitempty"`
	// Failed says that the request was refused, or that its connection broke: it is not part of the
	// load. A request that ended without a token is not such a one, and costs its prefill.
	Failed bool `json:"failed,omitempty"`
}

// Start returns when the request was sent.
func (r *Request) Start() float64 { return cmp.Or(r.Sent, r.Arrival) }

// TPOT returns the time for each token after the first; 0 if it is not known.
func (r *Request) TPOT() float64 {
	if r.Output < 2 || r.E2E <= r.TTFT || r.TTFT <= 0 {
		return 0
	}
	return (r.E2E - r.TTFT) / float64(r.Output-1)
}

// Step is a forward pass.
type Step struct {
	// Prefills is the number of prompts in the step, PrefillTokens their new tokens, and PrefillKV
	// their tokens that were already computed.
	Prefills      int `json:"prefills,omitempty"`
	PrefillTokens int `json:"prefill_tokens,omitempty"`
	PrefillKV     int `json:"prefill_kv,omitempty"`
	// Decodes is the number of sequences that decode, DecodeKV the sum of their contexts.
	Decodes  int     `json:"decodes,omitempty"`
	DecodeKV int     `json:"decode_kv,omitempty"`
	Seconds  float64 `json:"s"`
}

// Interval is what counters and sums of a server grew by.
type Interval struct {
	// At is the start of the interval from the start of the run, Seconds its length.
	At      float64 `json:"at"`
	Seconds float64 `json:"s"`
	// Requests is the number of requests that got a first token, Tokens the number of tokens of
	// prompts and answers, Cached the number of prompt tokens that the cache had.
	Requests     float64 `json:"requests,omitempty"`
	PromptTokens float64 `json:"prompt_tokens,omitempty"`
	OutputTokens float64 `json:"output_tokens,omitempty"`
	CachedTokens float64 `json:"cached_tokens,omitempty"`
	// Running and Waiting are the requests at its end.
	Running float64 `json:"running,omitempty"`
	Waiting float64 `json:"waiting,omitempty"`
	// Figures are means over what ended in the interval.
	Figures
}

// Figures are latencies in seconds, and rates.
type Figures struct {
	TTFT   float64 `json:"ttft,omitempty"`
	TPOT   float64 `json:"tpot,omitempty"`
	E2E    float64 `json:"e2e,omitempty"`
	Queue  float64 `json:"queue,omitempty"`
	TTFT50 float64 `json:"ttft_p50,omitempty"`
	TPOT50 float64 `json:"tpot_p50,omitempty"`
	E2E50  float64 `json:"e2e_p50,omitempty"`
	TTFT90 float64 `json:"ttft_p90,omitempty"`
	TPOT90 float64 `json:"tpot_p90,omitempty"`
	E2E90  float64 `json:"e2e_p90,omitempty"`
	TTFT95 float64 `json:"ttft_p95,omitempty"`
	TPOT95 float64 `json:"tpot_p95,omitempty"`
	E2E95  float64 `json:"e2e_p95,omitempty"`
	TTFT99 float64 `json:"ttft_p99,omitempty"`
	TPOT99 float64 `json:"tpot_p99,omitempty"`
	E2E99  float64 `json:"e2e_p99,omitempty"`
	// ITL are the gaps between tokens, each by itself: their mean is about that of TPOT.
	ITL50 float64 `json:"itl_p50,omitempty"`
	ITL90 float64 `json:"itl_p90,omitempty"`
	ITL95 float64 `json:"itl_p95,omitempty"`
	ITL99 float64 `json:"itl_p99,omitempty"`
	// OutputRate is in tokens a second.
	OutputRate float64 `json:"output_rate,omitempty"`
}

// Latencies returns the latencies in milliseconds by the names of a scenario's metrics.
func (f *Figures) Latencies() map[string]float64 {
	list := map[string]float64{}
	for name, of := range map[string][5]float64{"ttft": {f.TTFT, f.TTFT50, f.TTFT90, f.TTFT95,
		f.TTFT99}, "tpot": {f.TPOT, f.TPOT50, f.TPOT90, f.TPOT95, f.TPOT99}, "itl": {0, f.ITL50,
		f.ITL90, f.ITL95, f.ITL99}, "e2el": {f.E2E, f.E2E50, f.E2E90, f.E2E95, f.E2E99}} {
		for i, statistic := range Statistics() {
			list[statistic+"_"+name+"_ms"] = 1000 * of[i]
		}
	}
	return list
}

// Statistics returns the names of what is said of a latency, in order.
func Statistics() []string { return []string{"mean", "median", "p90", "p95", "p99"} }

// Add appends the runs and the sources of other, and takes what it says of the server and the
// receiver does not. What both lack is said once.
func (o *Observed) Add(other *Observed) {
	o.Sources = append(o.Sources, other.Sources...)
	o.Runs = append(o.Runs, other.Runs...)
	o.Lacks = append(o.Lacks, other.Lacks...)
	slices.Sort(o.Lacks)
	o.Lacks = slices.Compact(o.Lacks)
	a, b := &o.Server, &other.Server
	a.Engine, a.Version = cmp.Or(a.Engine, b.Engine), cmp.Or(a.Version, b.Version)
	a.Model, a.GPU = cmp.Or(a.Model, b.Model), cmp.Or(a.GPU, b.GPU)
	a.Tensor, a.Flags = cmp.Or(a.Tensor, b.Tensor), cmp.Or(a.Flags, b.Flags)
	a.CacheTokens = cmp.Or(a.CacheTokens, b.CacheTokens)
	a.BlockTokens = cmp.Or(a.BlockTokens, b.BlockTokens)
}

// Date returns the last day on which something was measured; "" if no source says.
func (o *Observed) Date() string {
	last := ""
	for i := range o.Runs {
		last = max(last, o.Runs[i].Date)
	}
	return last
}

// Sort brings requests in order of their arrival, and requests that are due together in order of
// their sending.
func (r *Run) Sort() {
	slices.SortStableFunc(r.Requests, func(a, b Request) int {
		return cmp.Or(cmp.Compare(a.Arrival, b.Arrival), cmp.Compare(a.Start(), b.Start()))
	})
}

// FromFirst brings requests in order of their arrival, and counts times from the first one.
func (r *Run) FromFirst() {
	r.Sort()
	for i := len(r.Requests) - 1; i >= 0; i-- {
		q := &r.Requests[i]
		if q.Sent != 0 {
			q.Sent -= r.Requests[0].Arrival
		}
		q.Arrival -= r.Requests[0].Arrival
	}
}

// mostStart is the latest first arrival, in seconds, that is believed to be one after the start of
// a run, and not a time of the calendar.
const mostStart = 1e6

// Arrange brings requests in order, counts times from the first arrival where that is negative or a
// time of the calendar, and finds a closed loop. It reports whether the client had a limit that the
// source does not say.
func (r *Run) Arrange() (loop bool) {
	r.Sort()
	if len(r.Requests) > 0 && (r.Requests[0].Arrival < 0 || r.Requests[0].Arrival > mostStart) {
		r.FromFirst()
	}
	return r.FindLoop()
}

// Finite reports whether all values are numbers that can be computed with: not negative, and at
// most 1e15.
func Finite(values ...float64) bool {
	for _, v := range values {
		if !(v >= 0) || v > 1e15 || math.IsInf(v, 0) {
			return false
		}
	}
	return true
}
