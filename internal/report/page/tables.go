package page

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/llmsim/llmsim/internal/units"
	"github.com/llmsim/llmsim/metrics"
	"github.com/llmsim/llmsim/scenarios"
)

// table tells parts of a run apart: its classes, tenants or pools, one a row.
type table struct {
	Header []string
	Rows   [][]string
}

// newTables returns those of a run; none where it has no parts.
func newTables(r *scenarios.Result) []table {
	var list []table
	if len(r.Classes) > 0 {
		list = append(list, classTable("class", r.Classes))
	}
	if len(r.Tenants) > 0 {
		list = append(list, classTable("tenant", r.Tenants))
	}
	if len(r.Pools) > 0 {
		list = append(list, poolTable(r.Pools))
	}
	return list
}

func classTable(title string, classes map[string]metrics.ClassSummary) table {
	t := table{Header: []string{title, "completed", "turned away", "timed out", "cancelled", "lost", "TTFT p50", "p99", "TPOT p50", "p99", "whole p99", "SLO met"}}
	ms := func(x float64) string { return units.FormatDuration(x / 1000) }
	for _, name := range slices.Sorted(maps.Keys(classes)) {
		c := classes[name]
		row := []string{name}
		for _, n := range []int64{c.Completed, c.Rejected, c.TimedOut, c.Cancelled, c.Lost} {
			row = append(row, strconv.FormatInt(n, 10))
		}
		t.Rows = append(t.Rows, append(row, ms(c.MedianTTFT), ms(c.P99TTFT), ms(c.MedianTPOT), ms(c.P99TPOT), ms(c.P99E2EL), fmt.Sprintf("%.4g%%", 100*c.Attainment.All)))
	}
	return t
}

func poolTable(pools []scenarios.PoolResult) table {
	t := table{Header: []string{"pool", "role", "model", "hardware", "replicas", "up", "requests", "busy", "MFU", "MBU", "cost", "energy"}}
	percent := func(x float64) string { return fmt.Sprintf("%.3g%%", 100*x) }
	for i := range pools {
		p := &pools[i]
		t.Rows = append(t.Rows, []string{p.Name, p.Role, p.Model, p.Hardware, strconv.Itoa(p.Replicas), fmt.Sprintf("%.3g", p.MeanReplicas),
			strconv.FormatInt(p.Completed+p.HandedOver, 10), percent(p.Busy), percent(p.MFU), percent(p.MBU), fmt.Sprintf("$%.3g", p.Cost), fmt.Sprintf("%.4g Wh", p.Energy)})
	}
	return t
}
