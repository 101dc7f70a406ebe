package diagnosis

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/llmsim/llmsim/internal/report/doc"
	"github.com/llmsim/llmsim/internal/units"
	"github.com/llmsim/llmsim/metrics"
	"github.com/llmsim/llmsim/scenarios"
)

// Summary says the outcome of a scenario, to be read in ten seconds.
func Summary(r *scenarios.Result) (p doc.Blocks) {
	if r.Name != "" {
		p.Heading(r.Name)
	}
	p.Text(r.Setup)
	p.Text(fmt.Sprintf("%s; seed %d", r.Load, r.Seed))
	p.Gap()
	return append(p, Outcome(r)...)
}

// Outcome says what came out of a run: its latencies, its figures, its state over time, its parts,
// and what the figures mean.
func Outcome(r *scenarios.Result) (p doc.Blocks) {
	p = append(p, latencies(r))
	p.Gap()
	headline(&p, r)
	p.Gap()
	charts(&p, r)
	for _, t := range parts(r) {
		p.Gap()
		p = append(p, t)
	}
	p.Gap()
	for _, words := range Of(r) {
		p.Text(words)
	}
	for _, words := range r.Warnings {
		p.Text(doc.Dim("Note: " + words))
	}
	return p
}

// parts returns a table of the classes, tenants and pools of a run, where it has them.
func parts(r *scenarios.Result) (list doc.Blocks) {
	if len(r.Classes) > 0 {
		list = append(list, classes("class", r.Classes))
	}
	if len(r.Tenants) > 0 {
		list = append(list, classes("tenant", r.Tenants))
	}
	if len(r.Pools) > 0 {
		list = append(list, pools(r.Pools, r.Currency))
	}
	return list
}

// latencies has a row for each kind of latency, with the limit of the SLO where one holds for all
// requests.
func latencies(r *scenarios.Result) doc.Block {
	t := doc.Block{Kind: doc.Table, Header: []string{"", "mean", "p50", "p90", "p95", "p99", "SLO"},
		Left: []int{0}, Wide: []int{4, 6}}
	slo := map[string]scenarios.Limits{"ttft": r.SLO.TTFT, "tpot": r.SLO.TPOT, "itl": r.SLO.ITL,
		"e2el": r.SLO.E2E}
	for _, kind := range []string{"ttft", "tpot", "itl", "e2el"} {
		row := []string{strings.TrimPrefix(scenarios.MetricNamed("mean_"+kind+"_ms").Title,
			"mean ")}
		for _, statistic := range []string{"mean", "median", "p90", "p95", "p99"} {
			x := scenarios.MetricNamed(statistic + "_" + kind + "_ms").Of(r)
			words := units.FormatDuration(x / 1000)
			if x == 0 {
				words = "–" // no request has it
			}
			row = append(row, words)
		}
		limit := ""
		if !r.ByClass() || kind == "itl" {
			limit = slo[kind].Words()
		}
		t.Rows = append(t.Rows, append(row, limit))
	}
	return t
}

// ranges prints how uncertain the means, the throughput and the price are.
func ranges(p *doc.Blocks, r *scenarios.Result) {
	var list []string
	for _, kind := range []struct{ name, title string }{{"mean_ttft_ms", "TTFT"},
		{"mean_tpot_ms", "TPOT"}, {"mean_e2el_ms", "request"}} {
		if span := r.Intervals.Of[kind.name]; span.High > 0 {
			list = append(list,
				fmt.Sprintf("%s %s to %s", kind.title, units.FormatDuration(span.Low/1000),
					units.FormatDuration(span.High/1000)))
		}
	}
	if span := r.Intervals.Of["cost_per_million_output_tokens"]; r.Cost > 0 &&
		units.Figure(span.Low) != units.Figure(span.High) {
		list = append(list, fmt.Sprintf("%s to %s for a million output tokens",
			r.Currency.Format(units.Figure(span.Low)), r.Currency.Format(units.Figure(span.High))))
	}
	if len(list) > 0 {
		p.Entry(r.Evidence.Sure(), "means of "+strings.Join(list, ", "))
	}
	if load, near := r.Intervals.Load(&r.Evidence.Spread); near {
		p.Entry("near capacity", fmt.Sprintf("an error of steps is one of load: the servers bear "+
			"%s to %s of what they would at the predicted steps, %s sure, and latencies follow "+
			"from that", units.Percent(load.Low), units.Percent(load.High),
			units.Percent(r.Intervals.Level)))
	}
}

// sessions describes the sessions; "" if the workload has no such text.
func sessions(r *scenarios.Result) string {
	s := r.Sessions
	if s == nil {
		return ""
	}
	if s.Completed == 0 {
		return fmt.Sprintf("none completed, %s not; what a session takes is not known",
			units.Count(s.Incomplete))
	}
	words := fmt.Sprintf("%s completed, each %s on average: %s computing, %s in the queue, %s "+
		"waiting for tools or users; %s calls", units.Count(s.Completed),
		units.FormatDuration(s.Mean),
		units.Percent(s.ModelShare), units.Percent(s.QueueShare), units.Percent(s.WaitShare),
		units.Figure(s.Calls))
	if r.CostPerSession > 0 {
		words += ", " + r.Currency.Format(units.Figure(r.CostPerSession))
	}
	return words
}

// headline prints throughput, SLO and cost.
func headline(p *doc.Blocks, r *scenarios.Result) {
	figure := func(x float64) string { return doc.Bold(units.Figure(x)) }
	percent := func(x float64) string { return doc.Bold(units.Percent(x)) }
	money := func(x float64) string { return doc.Bold(r.Currency.Format(units.Figure(x))) }
	p.Entry("requests", requests(r))
	p.Entry("SLO", Verdict(r))
	p.Entry("throughput", fmt.Sprintf(
		"%s requests/s, %s output tokens/s, %s tokens/s in all, of the whole run",
		figure(r.RequestThroughput), figure(r.OutputThroughput), figure(r.TotalTokenThroughput)))
	p.Entry("batch", fmt.Sprintf(
		"%s sequences decode in a step, %s at most; steps run %s of the time",
		figure(r.MeanDecodeBatch), units.Count(r.PeakBatch), percent(r.Busy)))
	kv := fmt.Sprintf("%s of the KV cache in use, %s at most", percent(r.KVUsage),
		percent(r.PeakKVUsage))
	if r.CachedTokens > 0 {
		kv += fmt.Sprintf("; %s of the prompt tokens came from the prefix cache",
			units.Percent(float64(r.CachedTokens)/float64(r.TotalInputTokens)))
	}
	if r.Preemptions > 0 {
		kv += fmt.Sprintf("; %s preemptions", units.Count(r.Preemptions))
	}
	p.Entry("memory", kv)
	if words := sessions(r); words != "" {
		p.Entry("sessions", words)
	}
	if r.MBU > 0 {
		p.Entry("utilisation", fmt.Sprintf(
			"%s of peak arithmetic, %s of peak memory bandwidth while steps run",
			percent(r.MFU), percent(r.MBU)))
	}
	if words := between(r.Fleet); words != "" {
		p.Entry("fleet", words)
	}
	if r.Cost > 0 {
		words := ""
		if r.CostPerMillion > 0 {
			words = fmt.Sprintf("%s for a million output tokens %s; ", money(r.CostPerMillion),
				r.PricedOver)
		}
		p.Entry("cost", words+fmt.Sprintf("%s an hour for %s",
			money(r.Cost/r.Duration*3600), accelerators(r.Accelerators)))
	}
	if c := r.TokenCosts; c != nil && c.Cached > 0 {
		p.Entry("token costs", fmt.Sprintf("of the whole run, for a million: %s for prompt "+
			"tokens that are computed, %s for cached ones, %s for output tokens",
			money(c.Input), money(c.Cached), money(c.Output)))
	}
	if r.Sold != nil {
		p.Entry("tokens", "those of an hour "+r.PricedOver+" are worth "+
			DescribeRevenue(r.Sold, r.Currency))
	}
	if r.Intervals != nil {
		ranges(p, r)
	}
	if r.EnergyPerMillion > 0 {
		p.Entry("energy", fmt.Sprintf("%s Wh for a million output tokens of the whole run",
			figure(r.EnergyPerMillion)))
	}
}

func requests(r *scenarios.Result) string {
	words := fmt.Sprintf("%s completed in %s", doc.Bold(units.Count(r.Completed)),
		units.FormatDuration(r.Duration))
	for _, ending := range []struct {
		n    int64
		what string
	}{{r.Rejected, "turned away"}, {r.TimedOut, "timed out"}, {r.Cancelled, "cancelled"},
		{r.Cut, "cut by their users"}, {r.Lost, "lost"}} {
		if ending.n > 0 {
			words += fmt.Sprintf(", %s %s", units.Count(ending.n), ending.what)
		}
	}
	return words
}

// between prints the figures that concern several replicas, if there are any.
func between(f *scenarios.FleetResult) string {
	if f == nil {
		return ""
	}
	var list []string
	if f.MeanReplicas < float64(f.Replicas) {
		list = append(list, fmt.Sprintf("%s of %d replicas up on average",
			units.Figure(f.MeanReplicas),
			f.Replicas))
	}
	if f.Retries > 0 {
		list = append(list, fmt.Sprintf("%s requests began anew after a failure",
			units.Count(f.Retries)))
	}
	if f.Transfers > 0 {
		list = append(list, fmt.Sprintf(
			"%s KV caches moved, each seen for %s; the link is taken %s of the time",
			units.Count(f.Transfers), units.FormatDuration(f.VisibleTransfer/1000),
			units.Percent(f.LinkBusy)))
	}
	if f.Handover > 0 {
		list = append(list, fmt.Sprintf("%s of each time to first token are the engine's "+
			"hand-over, a constant that rests on %s", units.FormatDuration(f.Handover/1000),
			f.HandoverSource))
	}
	return strings.Join(list, "; ")
}

func accelerators(n int) string {
	if n == 1 {
		return "one accelerator"
	}
	return units.Count(n) + " accelerators"
}

// Verdict says whether the SLO is met, and by how many requests.
func Verdict(r *scenarios.Result) string {
	if r.Begun() == 0 {
		return doc.Bad("missed") + ": no request was answered"
	}
	word := doc.Good("met")
	if !r.SLOMet {
		word = doc.Bad("missed")
	}
	a := &r.Attainment
	var parts []string
	switch {
	case r.ByClass():
		parts = append(parts, fmt.Sprintf("%s of the requests meet the SLO of their class",
			units.Percent(a.All)))
	case r.SLO.Joint():
		parts = append(parts, fmt.Sprintf("%s of the requests (at least %s wanted) have %s",
			units.PercentOf(a.All, a.Target), units.Target(a.Target), r.SLO.RequestWords()))
	}
	if a.All < a.Target {
		parts = append(parts, fmt.Sprintf("limits are kept of TTFT by %s, of TPOT by %s, of "+
			"E2E by %s", units.Percent(a.TTFT), units.Percent(a.TPOT), units.Percent(a.E2E)))
	}
	parts = append(parts, r.LimitWords()...)
	return word + ": " + strings.Join(append(parts,
		fmt.Sprintf("goodput of the whole run %s requests/s", units.Figure(r.Goodput))), "; ")
}

// pools says what each pool did, and its part of the work, the cost and the energy.
func pools(pools []scenarios.PoolResult, currency units.Currency) doc.Block {
	t := doc.Block{Kind: doc.Table, Header: []string{"pool", "role", "model", "replicas",
		"hardware", "requests", "busy", "MFU", "MBU", "cost", "Wh"}, Left: []int{0, 1, 2, 4},
		Wide: []int{1, 2}}
	for i := range pools {
		sum := &pools[i]
		replicas := units.Count(sum.Replicas)
		if sum.MeanReplicas < float64(sum.Replicas) {
			replicas = units.Figure(sum.MeanReplicas) + " of " + replicas
		}
		t.Rows = append(t.Rows, []string{sum.Name, sum.Role, sum.Model, replicas, sum.Hardware,
			units.Count(sum.Completed + sum.HandedOver), units.Percent(sum.Busy),
			known(sum.MFU), known(sum.MBU), money(sum.Cost, currency), units.Figure(sum.Energy)})
	}
	return t
}

// known prints a share; a dash where the result does not have it.
func known(share float64) string {
	if share == 0 {
		return "–"
	}
	return units.Percent(share)
}

// money prints a cost; a dash where an accelerator has no price.
func money(cost float64, currency units.Currency) string {
	if cost == 0 {
		return "–"
	}
	return currency.Format(units.Figure(cost))
}

// classes says the outcome by class or tenant.
func classes(title string, classes map[string]metrics.ClassSummary) doc.Block {
	t := doc.Block{Kind: doc.Table, Header: []string{title, "requests", "turned away", "timed out",
		"cancelled", "cut", "lost", "TTFT p50", "p99", "TPOT p50", "TPOT p99", "E2E p99",
		"SLO met"}, Left: []int{0}, Wide: []int{2, 3, 4, 5, 6, 9}}
	ms := func(x float64) string { return units.FormatDuration(x / 1000) }
	for _, name := range slices.Sorted(maps.Keys(classes)) {
		c := classes[name]
		kept := units.Percent(c.Attainment.All)
		if !c.SLOMet {
			kept += " (missed)"
		}
		requests := units.Count(c.Completed)
		if all := c.Sent(); all > c.Completed {
			requests += " of " + units.Count(all)
		}
		row := []string{name, requests}
		for _, n := range []int64{c.Rejected, c.TimedOut, c.Cancelled, c.Cut, c.Lost} {
			row = append(row, units.Count(n))
		}
		t.Rows = append(t.Rows, append(row, ms(c.MedianTTFT), ms(c.P99TTFT), ms(c.MedianTPOT),
			ms(c.P99TPOT), ms(c.P99E2EL), kept))
	}
	return t
}
