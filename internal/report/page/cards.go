package page

import (
	"fmt"
	"html/template"
	"strconv"
	"strings"

	"github.com/llmsim/llmsim/internal/report/diagnosis"
	"github.com/llmsim/llmsim/internal/report/doc"
	"github.com/llmsim/llmsim/internal/units"
	"github.com/llmsim/llmsim/scenarios"
)

// column is the headline of one run.
type column struct {
	Name, Setup, Verdict string
	Met                  bool
	Grade                grade
	Cards                []card
	Waterfall            *waterfall
	Tables               template.HTML
	Insights, Warnings   []string
}

// grade is a badge: how well the predictions of a run are backed by measurements.
type grade struct{ Name, Class, Words string }

func newGrade(r *scenarios.Result) grade {
	name := string(r.Evidence.Grade)
	return grade{Name: name, Class: strings.ReplaceAll(name, " ", "-"),
		Words: r.Evidence.Sentence()}
}

// card is a headline number: Key is the name of its metric, Exact its value in the result's JSON.
type card struct{ Label, Value, Note, Key, Exact string }

func newColumn(r *scenarios.Result) column {
	c := column{
		Met: r.SLOMet, Grade: newGrade(r), Insights: diagnosis.Of(r), Warnings: r.Warnings,
		Verdict:   "SLO " + doc.Plain(diagnosis.Verdict(r)),
		Waterfall: newWaterfall(r), Tables: diagnosis.Tables(r).HTML(),
	}
	c.add("requests", "completed", units.Count(r.Completed), unanswered(r)+"in "+
		units.FormatDuration(r.Duration), r)
	c.latency("time to first token", "ttft", r)
	c.latency("time per output token", "tpot", r)
	c.latency("whole request", "e2el", r)
	c.add("served", "request_throughput", units.Significant(r.RequestThroughput, 3)+"/s",
		"requests of the whole run; "+offered(r), r)
	c.add("goodput", "goodput", units.Significant(r.Goodput, 3)+"/s",
		"requests that meet the SLO, of the whole run", r)
	c.add("output tokens", "output_throughput", units.Significant(r.OutputThroughput, 4)+"/s",
		"over all users and the whole run", r)
	c.add("batch", "mean_decode_batch", units.Significant(r.MeanDecodeBatch, 3),
		fmt.Sprintf("sequences decode in a step; %d at most", r.PeakBatch), r)
	c.add("KV memory", "kv_usage", units.Significant(100*r.KVUsage, 2)+"%",
		"in use; "+units.Significant(100*r.PeakKVUsage, 2)+"% at most", r)
	c.add("accelerators", "accelerators", strconv.Itoa(r.Accelerators), hourly(r), r)
	if r.CostPerMillion > 0 {
		c.add("price", "cost_per_million_output_tokens", price(r, 3, r.CostPerMillion),
			"for a million output tokens "+r.PricedOver, r)
	}
	if r.Sold != nil {
		c.add("tokens of an hour", "tokens_sold", price(r, 4, r.Sold.Hourly),
			r.PricedOver+" they are worth "+diagnosis.Sold(r.Sold, r.Currency), r)
	}
	if r.EnergyPerMillion > 0 {
		c.add("energy", "energy_per_million_output_tokens",
			units.Significant(r.EnergyPerMillion, 3)+" Wh",
			"at most, for a million output tokens of the whole run", r)
	}
	return c
}

func (c *column) add(label, key, value, note string, r *scenarios.Result) {
	exact := strconv.FormatFloat(scenarios.MetricNamed(key).Of(r), 'g', -1, 64)
	if r.Intervals != nil {
		note += intervalText(r, scenarios.MetricNamed(key))
	}
	c.Cards = append(c.Cards, card{Label: label, Key: key, Exact: exact, Value: value, Note: note})
}

// intervalText says how sure a figure is, or nothing where that was not asked or makes no
// difference.
func intervalText(r *scenarios.Result, m scenarios.Metric) string {
	span, known := r.Intervals.Of[m.Name]
	if !known || span.Low == span.High {
		return ""
	}
	words := func(x float64) string {
		switch m.Unit {
		case scenarios.Milliseconds:
			return units.FormatDuration(x / 1000)
		case scenarios.Dollars:
			return price(r, 3, x)
		}
		return units.Significant(x, 3)
	}
	return fmt.Sprintf("; %.0f%% sure: %s to %s", 100*r.Intervals.Level, words(span.Low),
		words(span.High))
}

// latency adds the median of a latency. Where no request has it, as TPOT where answers come at
// once, there is nothing to show.
func (c *column) latency(label, kind string, r *scenarios.Result) {
	key := "median_" + kind + "_ms"
	median, p99 := scenarios.MetricNamed(key).Of(r), scenarios.MetricNamed("p99_"+kind+"_ms").Of(r)
	if median == 0 && p99 == 0 {
		c.add(label, key, "–", "no request has one", r)
		return
	}
	c.add(label, key, units.FormatDuration(median/1000), "median; 99% within "+
		units.FormatDuration(p99/1000), r)
}

// unanswered counts the requests without a whole answer, if there are any.
func unanswered(r *scenarios.Result) string {
	words := "completed"
	if n := r.Unanswered(); n > 0 {
		words += fmt.Sprintf(", %d without an answer", n)
	}
	if r.Cut > 0 {
		words += fmt.Sprintf(", %d cut by their users", r.Cut)
	}
	if r.Sent() > r.Completed {
		words += ","
	}
	return words + " "
}

func offered(r *scenarios.Result) string {
	if r.OfferedRate == 0 {
		return "all arrive at once"
	}
	return units.Significant(r.OfferedRate, 3) + "/s arrive"
}

// hourly is what the accelerators cost in an hour, where that is known.
func hourly(r *scenarios.Result) string {
	if r.Cost == 0 || r.Duration == 0 {
		return "price not known"
	}
	return price(r, 4, r.Cost/r.Duration*3600) + " an hour"
}

// price writes an amount in the currency of a result.
func price(r *scenarios.Result, digits int, x float64) string {
	return r.Currency.Format(units.Significant(x, digits))
}

// waterfall shows of what the latency of a mean request is made.
type waterfall struct {
	Words string
	Parts []waterfallPart
}

type waterfallPart struct {
	Name, Class, Time string
	Share             float64
}

func newWaterfall(r *scenarios.Result) *waterfall {
	if r.Phases == nil {
		return nil
	}
	ttft := r.MeanQueue + r.MeanPrefill + r.MeanFrontEnd
	total := ttft + r.MeanDecode
	ms := func(x float64) string { return units.FormatDuration(x / 1000) }
	w := &waterfall{Words: fmt.Sprintf(
		"TTFT = queueing + prefill, which gives the first token, + front end: here %s. Latency = "+
			"TTFT + TPOT × (output tokens − 1): %s more for the %s that follow on average.",
		ms(ttft), ms(r.MeanDecode),
		units.Significant(float64(r.TotalOutputTokens)/float64(max(1, r.Completed))-1, 4))}
	for _, p := range []struct {
		name, class string
		time        float64
	}{{"waiting", "queue", r.MeanQueue}, {"prefill", "prefill", r.MeanPrefill},
		{"front end", "front-end", r.MeanFrontEnd}, {"decode", "decode", r.MeanDecode}} {
		w.Parts = append(w.Parts, waterfallPart{p.name, p.class, ms(p.time), p.time / total})
	}
	return w
}
