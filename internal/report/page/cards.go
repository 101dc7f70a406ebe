package page

import (
	"fmt"
	"strconv"

	"github.com/llmsim/llmsim/internal/units"
	"github.com/llmsim/llmsim/scenarios"
)

// column is the headline of one run.
type column struct {
	Name, Verdict      string
	Met                bool
	Cards              []card
	Tables             []table
	Insights, Warnings []string
}

// card is a headline number: Key is its key in the result's JSON, Exact its value there.
type card struct{ Label, Value, Note, Key, Exact string }

func newColumn(r *scenarios.Result) column {
	c := column{Met: r.SLOMet, Insights: r.Insights, Warnings: r.Warnings}
	word, promised := "missed", fmt.Sprintf("it, %.4g%% are promised", 100*r.Attainment.Target)
	if r.SLOMet {
		word = "kept"
	}
	if r.ByClass() {
		promised = "the SLO of their class"
	}
	c.Verdict = fmt.Sprintf("The SLO is %s: %.4g%% of the requests stay within %s.", word, 100*r.Attainment.All, promised)
	c.add("requests", "completed", float64(r.Completed), strconv.FormatInt(r.Completed, 10), "completed in "+units.FormatDuration(r.Duration))
	c.latency("time to first token", "ttft", r.MedianTTFT, r.P99TTFT)
	c.latency("time per output token", "tpot", r.MedianTPOT, r.P99TPOT)
	c.latency("whole request", "e2el", r.MedianE2EL, r.P99E2EL)
	c.add("throughput", "output_throughput", r.OutputThroughput, fmt.Sprintf("%.4g/s", r.OutputThroughput), "output tokens, over all users")
	c.add("goodput", "goodput", r.Goodput, fmt.Sprintf("%.3g/s", r.Goodput), "requests that meet the SLO")
	c.add("KV memory", "kv_usage", r.KVUsage, fmt.Sprintf("%.2g%%", 100*r.KVUsage), fmt.Sprintf("in use, %.2g%% at most", 100*r.PeakKVUsage))
	c.Tables = newTables(r)
	c.add("price", "cost_per_million_output_tokens", r.CostPerMillion, fmt.Sprintf("$%.3g", r.CostPerMillion), "for a million output tokens")
	return c
}

func (c *column) add(label, key string, exact float64, value, note string) {
	c.Cards = append(c.Cards, card{Label: label, Key: key, Exact: strconv.FormatFloat(exact, 'g', -1, 64), Value: value, Note: note})
}

func (c *column) latency(label, key string, median, p99 float64) {
	c.add(label, "median_"+key+"_ms", median, units.FormatDuration(median/1000), "median; 99% within "+units.FormatDuration(p99/1000))
}
