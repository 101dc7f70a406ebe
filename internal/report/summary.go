package report

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"

	"github.com/llmsim/llmsim/internal/report/diagnosis"
	"github.com/llmsim/llmsim/internal/units"
	"github.com/llmsim/llmsim/metrics"
	"github.com/llmsim/llmsim/scenarios"
)

// Result prints the outcome of a scenario, to be read in ten seconds.
func (p *Printer) Result(r *scenarios.Result) {
	if r.Name != "" {
		p.printf("%s\n", p.paint(bold, r.Name))
	}
	p.paragraph(r.Setup, 0)
	p.paragraph(fmt.Sprintf("%s; seed %d", r.Load, r.Seed), 0)
	p.printf("\n")
	p.latencies(r)
	p.printf("\n")
	p.headline(r)
	p.printf("\n")
	p.charts(r)
	if len(r.Classes) > 0 {
		p.printf("\n")
		p.classes("class", r.Classes)
	}
	if len(r.Tenants) > 0 {
		p.printf("\n")
		p.classes("tenant", r.Tenants)
	}
	if len(r.Pools) > 0 {
		p.printf("\n")
		p.pools(r.Pools, r.Currency)
	}
	p.printf("\n")
	for _, words := range diagnosis.Of(r) {
		p.paragraph(words, 0)
	}
	for _, words := range r.Warnings {
		p.paragraph(p.paint(dim, "Note: "+words), 0)
	}
}

// latencies prints a row for each kind of latency.
func (p *Printer) latencies(r *scenarios.Result) {
	var rows []table.Row
	for _, kind := range []string{"ttft", "tpot", "itl", "e2el"} {
		row := table.Row{""}
		for _, statistic := range []string{"mean", "median", "p90", "p99"} {
			m := scenarios.MetricNamed(statistic + "_" + kind + "_ms")
			words := units.FormatDuration(m.Of(r) / 1000)
			if m.Of(r) == 0 {
				words = "–" // no request has it
			}
			row = append(row, words)
			if statistic == "mean" {
				row[0] = strings.TrimPrefix(m.Title, "mean ")
			}
		}
		rows = append(rows, row)
	}
	p.grid(table.Row{"", "mean", "p50", "p90", "p99"}, rows, 0)
}

// ranges prints how uncertain the means, the throughput and the price are.
func (p *Printer) ranges(r *scenarios.Result) {
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
		figure(span.Low) != figure(span.High) {
		list = append(list, fmt.Sprintf("%s to %s for a million output tokens",
			r.Currency.Format(figure(span.Low)), r.Currency.Format(figure(span.High))))
	}
	p.entry(percent(r.Intervals.Level)+" sure", "means of "+strings.Join(list, ", "))
	if load, near := r.Intervals.Load(&r.Evidence.Spread); near {
		p.entry("near capacity", fmt.Sprintf("an error of steps is one of load: the servers bear "+
			"%s to %s of what they would at the predicted steps, %s sure, and latencies follow "+
			"from that", percent(load.Low), percent(load.High), percent(r.Intervals.Level)))
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
			count(s.Incomplete))
	}
	words := fmt.Sprintf("%s completed, each %s on average: %s computing, %s in the queue, %s "+
		"waiting for tools or users; %s calls", count(s.Completed), units.FormatDuration(s.Mean),
		percent(s.ModelShare), percent(s.QueueShare), percent(s.WaitShare), figure(s.Calls))
	if r.CostPerSession > 0 {
		words += ", " + r.Currency.Format(figure(r.CostPerSession))
	}
	return words
}

// headline prints throughput, SLO and cost.
func (p *Printer) headline(r *scenarios.Result) {
	p.entry("requests", requests(r))
	p.entry("SLO", p.verdict(r))
	p.entry("throughput", fmt.Sprintf(
		"%s requests/s, %s output tokens/s, %s tokens/s in all, of the whole run",
		figure(r.RequestThroughput), figure(r.OutputThroughput), figure(r.TotalTokenThroughput)))
	p.entry("batch", fmt.Sprintf(
		"%s sequences decode in a step, %s at most; steps run %s of the time",
		figure(r.MeanDecodeBatch), count(r.PeakBatch), percent(r.Busy)))
	kv := fmt.Sprintf("%s of the KV cache in use, %s at most", percent(r.KVUsage),
		percent(r.PeakKVUsage))
	if r.CachedTokens > 0 {
		kv += fmt.Sprintf("; %s of the prompt tokens came from the prefix cache",
			percent(float64(r.CachedTokens)/float64(r.TotalInputTokens)))
	}
	if r.Preemptions > 0 {
		kv += fmt.Sprintf("; %s preemptions", count(r.Preemptions))
	}
	p.entry("memory", kv)
	if words := sessions(r); words != "" {
		p.entry("sessions", words)
	}
	if r.MBU > 0 {
		p.entry("utilisation", fmt.Sprintf(
			"%s of peak arithmetic, %s of peak memory bandwidth while steps run", percent(r.MFU),
			percent(r.MBU)))
	}
	if words := between(r.Fleet); words != "" {
		p.entry("fleet", words)
	}
	if r.Cost > 0 {
		words := ""
		if r.CostPerMillion > 0 {
			words = fmt.Sprintf("%s for a million output tokens %s; ",
				r.Currency.Format(figure(r.CostPerMillion)), r.PricedOver)
		}
		p.entry("cost", words+fmt.Sprintf("%s an hour for %s",
			r.Currency.Format(figure(r.Cost/r.Duration*3600)), accelerators(r.Accelerators)))
	}
	if c := r.TokenCosts; c != nil && c.Cached > 0 {
		p.entry("token costs", fmt.Sprintf("of the whole run, for a million: %s for prompt "+
			"tokens that are computed, %s for cached ones, %s for output tokens",
			r.Currency.Format(figure(c.Input)), r.Currency.Format(figure(c.Cached)),
			r.Currency.Format(figure(c.Output))))
	}
	if r.Sold != nil {
		p.entry("tokens", "those of an hour "+r.PricedOver+" are worth "+
			diagnosis.Sold(r.Sold, r.Currency))
	}
	if r.Intervals != nil {
		p.ranges(r)
	}
	if r.EnergyPerMillion > 0 {
		p.entry("energy", fmt.Sprintf("%s Wh for a million output tokens of the whole run",
			figure(r.EnergyPerMillion)))
	}
}

func requests(r *scenarios.Result) string {
	words := fmt.Sprintf("%s completed in %s", count(r.Completed), units.FormatDuration(r.Duration))
	for _, ending := range []struct {
		n    int64
		what string
	}{{r.Rejected, "turned away"}, {r.TimedOut, "timed out"}, {r.Cancelled, "cancelled"},
		{r.Cut, "cut by their users"}, {r.Lost, "lost"}} {
		if ending.n > 0 {
			words += fmt.Sprintf(", %s %s", count(ending.n), ending.what)
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
		list = append(list, fmt.Sprintf("%s of %d replicas up on average", figure(f.MeanReplicas),
			f.Replicas))
	}
	if f.Retries > 0 {
		list = append(list, fmt.Sprintf("%s requests began anew after a failure", count(f.Retries)))
	}
	if f.Transfers > 0 {
		list = append(list, fmt.Sprintf(
			"%s KV caches moved, each seen for %s; the link is taken %s of the time",
			count(f.Transfers), units.FormatDuration(f.VisibleTransfer/1000), percent(f.LinkBusy)))
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
	return count(n) + " accelerators"
}

// verdict says whether the SLO is met, and by how many requests.
func (p *Printer) verdict(r *scenarios.Result) string {
	if r.Begun() == 0 {
		return p.paint(red, "missed") + ": no request was answered"
	}
	word := p.paint(green, "met")
	if !r.SLOMet {
		word = p.paint(red, "missed")
	}
	a := &r.Attainment
	var parts []string
	switch {
	case r.ByClass():
		parts = append(parts, fmt.Sprintf("%s of the requests meet the SLO of their class",
			percent(a.All)))
	case r.SLO.Joint():
		parts = append(parts, fmt.Sprintf("%s of the requests (at least %s wanted) have %s",
			percent(a.All), percent(a.Target), r.SLO.RequestWords()))
	}
	if a.All < a.Target {
		parts = append(parts, fmt.Sprintf("limits are kept of TTFT by %s, of TPOT by %s, of "+
			"E2E by %s", percent(a.TTFT), percent(a.TPOT), percent(a.E2E)))
	}
	parts = append(parts, r.LimitWords()...)
	return word + ": " + strings.Join(append(parts,
		fmt.Sprintf("goodput of the whole run %s requests/s", figure(r.Goodput))), "; ")
}

// pools prints what each pool did, and its part of the work, the cost and the energy.
func (p *Printer) pools(pools []scenarios.PoolResult, currency units.Currency) {
	var rows []table.Row
	for i := range pools {
		sum := &pools[i]
		replicas := count(sum.Replicas)
		if sum.MeanReplicas < float64(sum.Replicas) {
			replicas = figure(sum.MeanReplicas) + " of " + replicas
		}
		rows = append(rows, table.Row{sum.Name, replicas, sum.Hardware,
			count(sum.Completed + sum.HandedOver), percent(sum.Busy),
			known(sum.MFU), known(sum.MBU), money(sum.Cost, currency), figure(sum.Energy)})
	}
	p.grid(table.Row{"pool", "replicas", "hardware", "requests", "busy", "MFU", "MBU", "cost",
		"Wh"}, rows, 0, 2)
}

// known prints a share; a dash where the result does not have it.
func known(share float64) string {
	if share == 0 {
		return "–"
	}
	return percent(share)
}

// money prints a cost; a dash where an accelerator has no price.
func money(cost float64, currency units.Currency) string {
	if cost == 0 {
		return "–"
	}
	return currency.Format(figure(cost))
}

// classes prints the outcome by class or tenant.
func (p *Printer) classes(title string, classes map[string]metrics.ClassSummary) {
	var rows []table.Row
	for _, name := range slices.Sorted(maps.Keys(classes)) {
		c := classes[name]
		kept := percent(c.Attainment.All)
		if !c.SLOMet {
			kept += " (missed)"
		}
		requests := count(c.Completed)
		if all := c.Sent(); all > c.Completed {
			requests += " of " + count(all)
		}
		rows = append(rows, table.Row{name, requests, units.FormatDuration(c.MedianTTFT / 1000),
			units.FormatDuration(c.P99TTFT / 1000),
			units.FormatDuration(c.P99TPOT / 1000), units.FormatDuration(c.P99E2EL / 1000), kept})
	}
	p.grid(table.Row{title, "requests", "TTFT p50", "p99", "TPOT p99", "E2E p99", "SLO met"}, rows,
		0)
}
