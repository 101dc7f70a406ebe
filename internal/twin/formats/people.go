package formats

import (
	"cmp"
	"slices"
	"strings"

	"github.com/llmsim/llmsim/internal/twin/observed"
)

// column is what a column of a table that a person made means: a figure with its statistic, or a
// part of the load. The zero value means nothing.
type column struct {
	name, statistic string
	// seconds is the unit of a time; 0 where the cells have it, or where it is no time.
	seconds float64
}

// columnOf returns what the words above a column mean.
func columnOf(words string) column {
	words = strings.ToLower(strings.NewReplacer("_", " ", "*", "", "`", "").Replace(words))
	has := func(list ...string) bool {
		for _, word := range list {
			if strings.Contains(words, word) {
				return true
			}
		}
		return false
	}
	c := column{statistic: "mean"}
	for _, unit := range strings.FieldsFunc(words, func(r rune) bool {
		return strings.ContainsRune(" ()[],", r)
	}) {
		c.seconds = cmp.Or(c.seconds, timeUnit(unit))
	}
	switch {
	case has("p50", "median"):
		c.statistic = "median"
	case has("p99"):
		c.statistic = "p99"
	case has("p95"):
		c.statistic = "p95"
	case has("p90"):
		c.statistic = "p90"
	case has("p75", "p25", "min", "max", "std"):
		return column{}
	}
	switch {
	case has("ttft", "first token"):
		c.name = "ttft"
	case c.statistic[0] == 'p' && has("itl", "inter-token", "inter token"):
		c.name = "itl" // the longest gaps are of single tokens, not of requests
	case has("tpot", "itl", "inter-token", "inter token"):
		c.name = "tpot"
	case has("tok/s", "tokens/s", "t/s", "tps", "tok/sec", "tokens/sec", "tok s", "tokens s",
		"tok per s", "tokens per s"):
		if c.name = "rate"; has("total", "input", "prompt", "user", "gpu", "prefill") {
			return column{}
		}
	case has("e2e", "latency"):
		c.name = "e2e"
	case has("concurren", "users", "clients", "streams", "batch size"):
		c.name = "concurrency"
	case has("req/s", "rps", "qps"):
		c.name = "requests"
	case has("isl", "input len", "input tok", "prompt"):
		c.name = "prompt"
	case has("osl", "output len", "output tok"):
		c.name = "output"
	default:
		return column{}
	}
	return c
}

// hasFigures reports whether a table that was drawn has a column of latencies or rates.
func hasFigures(data []byte) bool {
	for _, t := range readDrawn(strings.Split(string(head(data)), "\n")) {
		for _, words := range t.columns {
			switch columnOf(words).name {
			case "ttft", "tpot", "e2e", "rate":
				return true
			}
		}
	}
	return false
}

// readTable reads a table that a person made: a row for each run, with columns such as concurrency,
// TTFT (ms), p99 TPOT (ms) and tok/s.
func readTable(in *input) error {
	for _, t := range readDrawn(strings.Split(withPoints(string(in.data)), "\n")) {
		var columns []column
		for _, words := range t.columns {
			c := columnOf(words)
			if columns = append(columns, c); c.statistic == "" {
				in.addNote("the column %s is not compared: means, medians, p90, p95 and p99 of "+
					"TTFT, TPOT and E2E are, and output tokens a second", strings.TrimSpace(words))
			}
		}
		for _, row := range t.rows {
			of := map[string]float64{}
			for i, cell := range row {
				if i >= len(columns) || columns[i].name == "" {
					continue
				}
				c := columns[i]
				value := numberIn(strings.Trim(cell, "*~≈ "))
				if slices.Contains([]string{"ttft", "tpot", "itl", "e2e"}, c.name) {
					unit := c.seconds
					for _, word := range strings.Fields(cell) {
						unit = cmp.Or(timeUnit(word), unit)
					}
					if unit == 0 {
						return in.errorf("the column %q has no unit: write it as %s (ms)",
							t.columns[i], t.columns[i])
					}
					value *= unit
				}
				if key := c.name + " " + c.statistic; of[key] == 0 {
					of[key] = value
				}
			}
			run := observed.Run{Name: strings.TrimSpace(t.columns[0] + " " + row[0])}
			run.Load = observed.Load{Concurrency: int(min(of["concurrency mean"], 1<<31)),
				Prompt: of["prompt mean"], Output: of["output mean"]}
			if run.Load.Concurrency == 0 {
				run.Load.Rate = of["requests mean"]
			}
			run.Summary = figures([3]string{"ttft", "tpot", "e2e"},
				[3]string{"mean", "median", "p99"},
				func(name, statistic string) float64 { return of[name+" "+statistic] })
			f := &run.Summary
			f.ITL90, f.ITL95, f.ITL99 = of["itl p90"], of["itl p95"], of["itl p99"]
			f.OutputRate = of["rate mean"]
			if run.Summary != (observed.Figures{}) {
				in.out.Runs = append(in.out.Runs, run)
			}
		}
	}
	if len(in.out.Runs) == 0 {
		return in.errorf("the table has no row with a figure that is read: want columns such as " +
			"concurrency, TTFT (ms), TPOT (ms), tok/s")
	}
	in.found("%s of a table", counted(len(in.out.Runs), "row"))
	in.lack("single requests: the table has figures of whole runs")
	return nil
}
