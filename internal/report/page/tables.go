package page

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/llmsim/llmsim/internal/units"
	"github.com/llmsim/llmsim/metrics"
	"github.com/llmsim/llmsim/scenarios"
)

// newTables returns a table of the latencies of a run, and one of its classes, tenants or pools
// where it has them.
func newTables(r *scenarios.Result) []Table {
	list := []Table{latencyTable(r)}
	if len(r.Classes) > 0 {
		list = append(list, classTable("class", r.Classes))
	}
	if len(r.Tenants) > 0 {
		list = append(list, classTable("tenant", r.Tenants))
	}
	if len(r.Pools) > 0 {
		list = append(list, poolTable(r))
	}
	return list
}

// latencyTable has a row for each kind of latency, with the limit of the SLO.
func latencyTable(r *scenarios.Result) Table {
	t := Table{Header: []string{"latency", "mean", "p50", "p90", "p95", "p99", "SLO"}}
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

func classTable(title string, classes map[string]metrics.ClassSummary) Table {
	t := Table{Header: []string{title, "completed", "turned away", "timed out", "cancelled", "cut",
		"lost", "TTFT p50", "p99", "TPOT p50", "p99", "whole p99", "SLO met"}}
	ms := func(x float64) string { return units.FormatDuration(x / 1000) }
	for _, name := range slices.Sorted(maps.Keys(classes)) {
		c := classes[name]
		row := []string{name}
		for _, n := range []int64{c.Completed, c.Rejected, c.TimedOut, c.Cancelled, c.Cut, c.Lost} {
			row = append(row, strconv.FormatInt(n, 10))
		}
		t.Rows = append(t.Rows, append(row, ms(c.MedianTTFT), ms(c.P99TTFT), ms(c.MedianTPOT),
			ms(c.P99TPOT), ms(c.P99E2EL), units.Significant(100*c.Attainment.All, 4)+"%"))
	}
	return t
}

func poolTable(r *scenarios.Result) Table {
	t := Table{Header: []string{"pool", "role", "model", "hardware", "replicas", "up", "requests",
		"busy", "MFU", "MBU", "cost", "energy"}}
	percent := func(x float64) string { return units.Significant(100*x, 3) + "%" }
	known := func(x float64) string { // not where step times are given
		if x == 0 {
			return "–"
		}
		return percent(x)
	}
	for i := range r.Pools {
		p, cost := &r.Pools[i], "–"
		if p.Cost > 0 { // else an accelerator has no price
			cost = price(r, 3, p.Cost)
		}
		t.Rows = append(t.Rows, []string{p.Name, p.Role, p.Model, p.Hardware,
			strconv.Itoa(p.Replicas), units.Significant(p.MeanReplicas, 3),
			strconv.FormatInt(p.Completed+p.HandedOver, 10), percent(p.Busy), known(p.MFU),
			known(p.MBU), cost, units.Significant(p.Energy, 4) + " Wh"})
	}
	return t
}
