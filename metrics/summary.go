package metrics

import (
	"slices"

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

// Summary sums up what was observed of a run with the given result.
func (c *Collector) Summary(r *sim.Result) Summary {
	c.series.close()
	duration := (c.last - c.first).Seconds()
	g := c.all
	s := Summary{
		Endings:          g.endings(),
		TotalInputTokens: g.inputTokens, TotalOutputTokens: g.outputTokens,
		Duration: max(duration, 0),
		OfferedRate: ratio(float64(g.completed+g.unanswered()-1),
			(c.newest - c.first).Seconds()),
		RequestThroughput:    ratio(float64(g.completed), duration),
		OutputThroughput:     ratio(float64(g.outputTokens), duration),
		TotalTokenThroughput: ratio(float64(g.inputTokens+g.outputTokens), duration),
		Latencies:            g.latencies(),
		Goodput:              ratio(float64(g.keptAll), duration),
		Attainment:           g.attainment(),
		MeanQueue:            1000 * ratio(g.queued, float64(g.completed)),
		MeanPrefill:          1000 * ratio(g.prefill, float64(g.completed)),
		MeanDecode:           1000 * ratio(g.decode, float64(g.completed)),
		PeakBatch:            c.peak,
	}
	if g.tpot.Count() > 0 { // else no user sees a gap: answers have one token, or come at once
		s.MeanITL, s.MedianITL, s.StdITL, s.P90ITL, s.P95ITL, s.P99ITL = c.itl.statistics()
	}
	s.addClasses(c, duration)
	s.addTenants(c, duration)
	s.addWork(r, duration)
	s.addSeries(&c.series)
	s.KVShares = sharesOf(c.series.points)
	for i, used := range c.peakUsed {
		s.PeakKVUsage = max(s.PeakKVUsage, ratio(float64(used), float64(r.Replicas[i].KVCapacity)))
	}
	return s
}

// addClasses sums up by class, and says which SLOs are met: that of each class, or that of all
// requests where there are none, and in either case that of gaps.
func (s *Summary) addClasses(c *Collector, duration float64) {
	s.SLOMet = c.all.met()
	gaps := c.all.slo.percentiles(ITL, c.itl, 0)
	if len(c.classes) == 0 {
		s.Limits = append(c.all.limits(), gaps...)
	} else {
		s.Classes = make(map[string]ClassSummary, len(c.classes))
		s.SLOMet = !c.all.empty() // each class has its own SLO
		s.Limits = gaps
	}
	all := slices.Clone(s.Limits)
	names := make([]string, len(all))
	for _, class := range c.classes {
		sum := class.summary(duration)
		s.Classes[class.name] = sum
		s.SLOMet = s.SLOMet && (class.empty() || class.met())
		if class.empty() {
			continue
		}
		for _, l := range sum.Limits {
			all, names = append(all, l), append(names, class.name+": ")
		}
	}
	for i := range gaps {
		s.SLOMet = s.SLOMet && gaps[i].Met
	}
	if i := binding(all); i >= 0 {
		s.Binds = names[i] + all[i].Name()
	}
}

// addTenants sums up by tenant. The SLO of a tenant is met where that of each of its classes with
// requests is.
func (s *Summary) addTenants(c *Collector, duration float64) {
	if len(c.tenants) > 0 {
		s.Tenants = make(map[string]ClassSummary, len(c.tenants))
	}
	for i, tenant := range c.tenants {
		ts := tenant.summary(duration)
		ts.SLOMet = !tenant.empty()
		for k, class := range c.classes {
			ts.SLOMet = ts.SLOMet && (c.owners[k] != i || class.empty() || class.met())
		}
		s.Tenants[tenant.name] = ts
	}
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

func (s *Summary) addWork(r *sim.Result, duration float64) {
	var decodes int64
	var busy float64
	for i := range r.Replicas {
		w := &r.Replicas[i]
		s.Preemptions += w.Preemptions
		s.Steps += w.Steps
		s.CachedTokens += w.CachedTokens
		s.FetchedTokens += w.FetchedTokens
		s.SwappedTokens += w.SwappedTokens
		decodes += w.DecodeTokens - w.Drafted
		busy += w.Busy.Seconds()
	}
	s.MeanDecodeBatch = ratio(float64(decodes), float64(s.Steps))
	s.Busy = ratio(busy, duration*float64(len(r.Replicas)))
}

func (s *Summary) addSeries(t *series) {
	n := float64(t.moments)
	s.KVUsage = ratio(t.usage, n)
	s.MeanRunning = ratio(t.running, n)
	s.MeanWaiting = ratio(t.waiting, n)
	s.PeakWaiting = t.peakWaiting
}

func (g *group) summary(duration float64) ClassSummary {
	s := ClassSummary{
		Endings:          g.endings(),
		TotalInputTokens: g.inputTokens, TotalOutputTokens: g.outputTokens,
		Latencies:  g.latencies(),
		Goodput:    ratio(float64(g.keptAll), duration),
		Attainment: g.attainment(),
	}
	s.SLOMet, s.Limits = g.met(), g.limits()
	return s
}

func (g *group) latencies() Latencies {
	var l Latencies
	l.MeanTTFT, l.MedianTTFT, l.StdTTFT, l.P90TTFT, l.P95TTFT, l.P99TTFT = g.ttft.statistics()
	l.MeanTPOT, l.MedianTPOT, l.StdTPOT, l.P90TPOT, l.P95TPOT, l.P99TPOT = g.tpot.statistics()
	l.MeanE2EL, l.MedianE2EL, l.StdE2EL, l.P90E2EL, l.P95E2EL, l.P99E2EL = g.e2e.statistics()
	return l
}

func (g *group) attainment() Attainment {
	n := float64(g.completed + g.unanswered())
	if g.empty() {
		return Attainment{Target: g.slo.Share}
	}
	return Attainment{
		TTFT: float64(g.keptTTFT) / n, TPOT: float64(g.keptTPOT) / n, E2E: float64(g.keptE2E) / n,
		All: float64(g.keptAll) / n, Target: g.slo.Share,
	}
}

// met reports whether the limits were kept in the share of requests that the SLO asks for, and
// those of percentiles. Without requests nothing was measured, and no SLO is met.
func (g *group) met() bool {
	if g.empty() || g.attainment().All < g.slo.Share {
		return false
	}
	return !slices.ContainsFunc(g.limits(), func(l LimitResult) bool { return !l.Joint && !l.Met })
}

// empty reports whether the group had no requests.
func (g *group) empty() bool { return g.completed+g.unanswered() == 0 }

// statistics returns mean, median, standard deviation and 90th, 95th and 99th percentile in
// milliseconds.
func (d *Distribution) statistics() (mean, median, std, p90, p95, p99 float64) {
	ms := float64(sim.Millisecond)
	return d.Mean() / ms, d.Quantile(0.5) / ms, d.Std() / ms, d.Quantile(0.9) / ms,
		d.Quantile(0.95) / ms, d.Quantile(0.99) / ms
}

func ratio(a, b float64) float64 {
	if b <= 0 {
		return 0
	}
	return a / b
}
