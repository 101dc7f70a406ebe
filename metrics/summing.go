package metrics

import (
	"slices"

	"github.com/llmsim/llmsim/sim"
)

// Summary sums up what was observed of a run with the given result.
func (c *Collector) Summary(r *sim.Result) Summary {
	c.series.close()
	duration := r.End.Seconds()
	g := c.all
	s := Summary{
		Service: Service{
			Endings:          g.endings(),
			TotalInputTokens: g.inputTokens, TotalOutputTokens: g.outputTokens,
			CachedTokens:         g.cachedInput,
			Duration:             duration,
			Window:               window(r),
			OfferedRate:          ratio(float64(g.sent()-1), (c.newest - c.first).Seconds()),
			RequestThroughput:    ratio(float64(g.completed), duration),
			OutputThroughput:     ratio(float64(g.outputTokens), duration),
			TotalTokenThroughput: ratio(float64(g.inputTokens+g.outputTokens), duration),
			Latencies:            g.latencies(),
			Goodput:              ratio(float64(g.good), duration),
			Attainment:           g.attainment(),
		},
		KVHeld:    g.held,
		PeakBatch: c.peak,
		Sessions:  c.sessions.summary(),
	}
	if n := float64(g.ttft.Count()); n > 0 {
		s.Phases = &Phases{1000 * g.queued / n, 1000 * g.prefill / n, 1000 * g.frontEnd / n,
			1000 * ratio(g.decode, float64(g.completed))}
	}
	if g.tpot.Count() > 0 { // else no user sees a gap: answers have one token, or come at once
		s.MeanITL, s.MedianITL, s.StdITL, s.P90ITL, s.P95ITL, s.P99ITL = c.itl.statistics()
	}
	s.addClasses(c, r)
	s.addTenants(c, r)
	s.addWork(r, duration)
	s.Occupancy = OccupancyOf(&r.Load, r.End)
	s.KVShares = sharesOf(c.series.points)
	return s
}

// window describes the time over which rates and means of a run are taken.
func window(r *sim.Result) string {
	if r.End > r.Ended {
		return "from the start until the asked duration was over"
	}
	return "from the start until the last request ended"
}

// addClasses sums up by class, and decides which SLOs are met: for each class, or for all requests
// if there are no classes. In either case the limits of gaps count too.
func (s *Summary) addClasses(c *Collector, r *sim.Result) {
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
	for i, class := range c.classes {
		sum := class.summary(r, r.Classes, i)
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

// addTenants sums up by tenant. The SLO of a tenant is met if the SLO of each of its classes with
// requests is met; a tenant of other classes is, if the largest share that a class asks for kept
// its limits.
func (s *Summary) addTenants(c *Collector, r *sim.Result) {
	if len(c.tenants) > 0 {
		s.Tenants = make(map[string]ClassSummary, len(c.tenants))
	}
	for i, tenant := range c.tenants {
		ts := tenant.summary(r, r.Tenants, i)
		if i == len(c.tenants)-1 { // tenants without a name have no classes
			if !tenant.empty() {
				s.Tenants[tenant.name] = ts
			}
			break
		}
		ts.SLOMet = !tenant.empty()
		for k, class := range c.classes {
			ts.SLOMet = ts.SLOMet && (c.owners[k] != i || class.empty() || class.met())
		}
		s.Tenants[tenant.name] = ts
	}
}

func (s *Summary) addWork(r *sim.Result, duration float64) {
	var decodes, capacity int64
	var busy, used float64
	for i := range r.Replicas {
		w := &r.Replicas[i]
		s.Preemptions += w.Preemptions
		s.Steps += w.Steps
		s.FetchedTokens += w.FetchedTokens
		s.SwappedTokens += w.SwappedTokens
		s.PoolReadBytes += w.PoolReadBytes
		s.PoolWrittenBytes += w.PoolWrittenBytes
		s.PrefetchedBytes += w.PrefetchedBytes
		s.PeakKVUsage = max(s.PeakKVUsage, ratio(float64(w.KVPeak), float64(w.KVCapacity)))
		used += w.KVIntegral.Over(r.End)
		capacity += w.KVCapacity
		decodes += w.DecodeTokens - w.Drafted
		busy += w.Busy.Seconds()
	}
	s.MeanDecodeBatch = ratio(float64(decodes), float64(s.Steps))
	s.KVUsage = ratio(used, float64(capacity))
	s.Busy = ratio(busy, duration*float64(len(r.Replicas)))
}

// summary sums up a group of a run, whose requests are number i of loads.
func (g *group) summary(r *sim.Result, loads []sim.Load, i int) ClassSummary {
	duration := r.End.Seconds()
	s := ClassSummary{
		Endings:          g.endings(),
		TotalInputTokens: g.inputTokens, TotalOutputTokens: g.outputTokens,
		Latencies:  g.latencies(),
		Goodput:    ratio(float64(g.good), duration),
		Attainment: g.attainment(),
	}
	if i < len(loads) {
		s.Occupancy = OccupancyOf(&loads[i], r.End)
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
	n := float64(g.sent())
	if g.empty() {
		return Attainment{Target: g.slo.Share}
	}
	return Attainment{
		TTFT: float64(g.keptTTFT) / n, TPOT: float64(g.keptTPOT) / n, E2E: float64(g.keptE2E) / n,
		All: float64(g.keptAll) / n, Target: g.slo.Share,
	}
}

// met reports whether the limits were kept in the share of requests that the SLO asks for, and
// whether the limits of percentiles were. Without requests nothing was measured, and no SLO is met.
func (g *group) met() bool {
	if g.empty() || g.attainment().All < g.slo.Share {
		return false
	}
	return !slices.ContainsFunc(g.limits(), func(l LimitResult) bool { return !l.Joint && !l.Met })
}

// empty reports whether the group had no requests.
func (g *group) empty() bool { return g.sent() == 0 }

// statistics returns mean, median, standard deviation and 90th, 95th and 99th percentile in
// milliseconds.
func (d *Distribution) statistics() (mean, median float64, std *float64, p90, p95, p99 float64) {
	if d.Count() == 0 {
		return 0, 0, nil, 0, 0, 0
	}
	ms := float64(sim.Millisecond)
	deviation := d.Std() / ms
	return d.Mean() / ms, d.Quantile(0.5) / ms, &deviation, d.Quantile(0.9) / ms,
		d.Quantile(0.95) / ms, d.Quantile(0.99) / ms
}

// limits returns the results of all limits of the group's SLO except the limits of gaps.
func (g *group) limits() []LimitResult {
	var list []LimitResult
	a, unanswered := g.attainment(), g.sent()-g.ttft.Count()
	for _, l := range []struct {
		latency Latency
		most    sim.Time
		d       *Distribution
		kept    float64
	}{{TTFT, g.slo.TTFT, g.ttft, a.TTFT}, {TPOT, g.slo.TPOT, g.tpot, a.TPOT},
		{E2E, g.slo.E2E, g.whole, a.E2E}} {
		if l.most > 0 && g.slo.Share > 0 {
			list = append(list, LimitResult{
				Latency: l.latency, Percentile: 100 * g.slo.Share, Joint: true,
				Limit:    l.most.Milliseconds(),
				Measured: l.d.Quantile(g.slo.Share) / float64(sim.Millisecond), Within: l.kept,
				Met: !g.empty() && l.kept >= g.slo.Share,
			})
		}
		list = append(list, g.slo.percentiles(l.latency, l.d, unanswered)...)
	}
	return list
}

// percentiles returns the results of the limits of a latency's percentiles.
func (s SLO) percentiles(latency Latency, d *Distribution, unanswered int64) []LimitResult {
	var list []LimitResult
	for _, l := range s.Percentiles {
		if l.Latency == latency {
			measured := d.Quantile(l.Percentile / 100)
			list = append(list, LimitResult{
				Latency: latency, Percentile: l.Percentile, Limit: l.Most.Milliseconds(),
				Measured: measured / float64(sim.Millisecond),
				Within: d.within(l.Most) * ratio(float64(d.Count()),
					float64(d.Count()+unanswered)),
				Met: d.quantileAmong(l.Percentile/100, unanswered) <= float64(l.Most),
			})
		}
	}
	return list
}

// KVShares divides KV memory by its content (Kwon et al., SOSP 2023, figure 2), summed up over
// samples that are evenly spaced in time: each visits all running sequences, which an exact
// integral would have to do at each event. They are shares of the memory whose policy reports its
// content, and sum to 1; all are 0 if no policy does.
type KVShares struct {
	// Tokens is the share that holds the KV of tokens. Reserved is kept for tokens that a running
	// request will store, and Internal for tokens that it will never store. External is free, or in
	// holes that are too small to use.
	Tokens   float64 `json:"kv_tokens_share"`
	Reserved float64 `json:"kv_reserved_share"`
	Internal float64 `json:"kv_internal_share"`
	External float64 `json:"kv_external_share"`
}

// sharesOf returns the shares over the points, which are evenly spaced.
func sharesOf(points []Point) KVShares {
	var d sim.Slots
	for i := range points {
		d.Add(points[i].Slots)
	}
	all := float64(d.Tokens + d.Reserved + d.Internal + d.External)
	return KVShares{ratio(float64(d.Tokens), all), ratio(float64(d.Reserved), all),
		ratio(float64(d.Internal), all), ratio(float64(d.External), all)}
}

func ratio(a, b float64) float64 {
	if b <= 0 {
		return 0
	}
	return a / b
}
