package formats

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/llmsim/llmsim/internal/twin/observed"
	"github.com/llmsim/llmsim/internal/units"
)

// drawn is a table that a program drew with bars: | of GuideLLM, │ and ┃ of AIPerf.
type drawn struct {
	// columns are the words of the header above each column, in small letters.
	columns []string
	rows    [][]string
}

// cellsOf splits a row at its bars. A cell without a blank, as between two bars, goes on with the
// one before it. It returns nil for a line that is no row.
func cellsOf(line string) []string {
	line = strings.TrimSpace(strings.NewReplacer("│", "|", "┃", "|").Replace(line))
	if bare, framed := strings.CutPrefix(line, "|"); framed {
		line = strings.TrimSuffix(bare, "|")
	}
	if !strings.Contains(line, "|") {
		return nil
	}
	return strings.Split(line, "|")
}

// rule reports whether a line only separates rows: heavy ones begin and end a table, light ones end
// its header.
func rule(line string) (light, heavy bool) {
	line = strings.TrimSpace(line)
	if line == "" || strings.Trim(line, "|+-:=━─┏┳┓┡╇┩├┼┤└┴┘┌┬┐╒╤╕╞╪╡╘╧╛ ") != "" {
		return false, false
	}
	heavy = strings.ContainsAny(line, "=┏└┌")
	return !heavy, heavy
}

// readDrawn returns the tables of some lines.
func readDrawn(lines []string) (list []drawn) {
	var header [][]string
	open := false // the header is complete, and rows follow
	for _, line := range lines {
		light, heavy := rule(line)
		cells := cellsOf(line)
		switch {
		case heavy:
			header, open = nil, false
		case light && !open && len(header) > 0:
			list = append(list, drawn{columns: columnsOf(header)})
			open = true
		case light, cells == nil:
		case !open:
			header = append(header, cells)
		default:
			t := &list[len(list)-1]
			for i := range cells {
				cells[i] = strings.TrimSpace(cells[i])
			}
			last := len(t.rows) - 1
			if last >= 0 && cells[0] != "" && strings.Join(cells[1:], "") == "" {
				t.rows[last][0] += " " + cells[0] // a name that takes two lines
				continue
			}
			t.rows = append(t.rows, cells)
		}
	}
	return list
}

// columnsOf joins the words above each column.
func columnsOf(header [][]string) []string {
	most := 0
	for _, row := range header {
		most = max(most, len(row))
	}
	columns := make([]string, most)
	for _, row := range header {
		words := ""
		for i, cell := range row {
			if cell != "" || i == 0 {
				words = strings.ToLower(strings.TrimSpace(cell))
			}
			columns[i] = strings.TrimSpace(columns[i] + " " + words)
		}
	}
	return columns
}

// numberIn returns the number at the start of a cell; 0 without one.
func numberIn(cell string) float64 {
	fields := strings.Fields(strings.ReplaceAll(cell, ",", ""))
	if len(fields) == 0 {
		return 0
	}
	v, err := strconv.ParseFloat(fields[0], 64)
	if err != nil || !observed.Finite(v) {
		return 0
	}
	return v
}

// readGuideConsole reads the tables that GuideLLM prints: Benchmarks Info and Stats before 0.4,
// Request Latency and Server Throughput Statistics later. Rows of one rank are of one benchmark.
func readGuideConsole(in *input) error {
	var sets [][]map[string]string // of each report, its benchmarks
	var seen map[string]bool
	for _, t := range readDrawn(strings.Split(string(in.data), "\n")) {
		if len(t.columns) == 0 || !strings.Contains(t.columns[0], "benchmark") {
			continue
		}
		if title := strings.Join(t.columns, ","); len(sets) == 0 || seen[title] {
			sets, seen = append(sets, nil), map[string]bool{title: true}
		} else {
			seen[title] = true
		}
		set := &sets[len(sets)-1]
		for i, row := range t.rows {
			if len(row) != len(t.columns) {
				return in.errorf("GuideLLM's table: row %d has %d cells and the header %d: its "+
					"lines are broken; paste it as wide as it was printed, or benchmarks.json",
					i+1, len(row), len(t.columns))
			}
			if i == len(*set) {
				*set = append(*set, map[string]string{})
			}
			for k, cell := range row {
				(*set)[i][t.columns[k]] = cell
			}
		}
	}
	for _, set := range sets {
		for _, of := range set {
			if run := guideRow(of); run.Summary != (observed.Figures{}) {
				in.out.Runs = append(in.out.Runs, run)
			}
		}
	}
	if len(in.out.Runs) == 0 {
		return in.errorf("GuideLLM's tables have no row with TTFT or ITL that is read; paste " +
			"Benchmarks Stats or Request Latency Statistics, or benchmarks.json")
	}
	in.found("%s of GuideLLM's tables", units.Plural(len(in.out.Runs), "benchmark"))
	in.addNote("GuideLLM's ITL is compared as TPOT, since its own TPOT counts the first token")
	in.lack("single requests: the tables have figures of whole runs; benchmarks.json has more")
	return nil
}

// guideRow returns a benchmark of GuideLLM's tables by its cells.
func guideRow(of map[string]string) observed.Run {
	value := func(columns ...string) float64 {
		for _, c := range columns {
			if v := numberIn(of[c]); v > 0 {
				return v
			}
		}
		return 0
	}
	name := cmp.Or(of["metadata benchmark"], of["benchmark strategy"])
	run := observed.Run{Name: name, Load: observed.Load{
		Requests: int(min(value("requests made comp"), 1<<31)),
		Seconds:  value("metadata duration (s)", "timings dur sec"),
		Prompt:   value("prompt tok/req comp", "input tok per req mdn", "input tok per req mean"),
		Output: value("output tok/req comp", "output tok per req mdn",
			"output tok per req mean")}}
	each := value("request stats per second", "requests per sec mean")
	if l := &run.Load; l.Requests == 0 {
		l.Requests = int(min(each*l.Seconds+0.5, 1<<31))
	}
	kind, rate, _ := strings.Cut(name, "@")
	switch many := value("request stats concurrency", "requests concurrency mean"); kind {
	case "synchronous":
		run.Load.Concurrency = 1
	case "concurrent", "throughput":
		run.Load.Concurrency = int(min(many+0.5, 1<<31))
	default:
		if run.Load.Rate = numberIn(rate); run.Load.Rate == 0 {
			run.Load.Rate = each
		}
	}
	short := map[string]string{"median": "mdn"} // the columns of a statistic in later releases
	run.Summary = figures([3]string{"ttft", "itl", "request latency"},
		[3]string{"mean", "median", "p99"}, func(name, statistic string) float64 {
			if name != "request latency" {
				return value(name+" (ms) "+statistic, name+" ms "+short[statistic]) / 1000
			}
			// The header says ms in some releases, and the values are seconds in all.
			return value("req latency (ms) "+statistic, "req latency (sec) "+statistic,
				"request latency sec "+short[statistic])
		})
	run.Summary.OutputRate = value("out tok/sec mean", "output tokens per sec mean")
	return run
}

// readAIPerfConsole reads the tables that AIPerf and GenAI-Perf print: a row for each metric, with
// its unit in parentheses.
func readAIPerfConsole(in *input) error {
	for _, t := range readDrawn(strings.Split(string(in.data), "\n")) {
		if len(t.columns) < 2 || t.columns[0] != "metric" && t.columns[0] != "statistic" {
			continue
		}
		of := map[string]float64{}
		for _, row := range t.rows {
			name, unit, _ := strings.Cut(strings.ToLower(row[0]), "(")
			scale := cmp.Or(timeUnit(strings.Trim(unit, ") ")), 1)
			for k := 1; k < min(len(row), len(t.columns)); k++ {
				of[strings.TrimSpace(name)+" "+t.columns[k]] = scale * numberIn(row[k])
			}
		}
		run := observed.Run{Name: "table", Load: observed.Load{
			Requests: int(min(of["request count avg"], 1<<31)),
			Prompt:   of["input sequence length avg"],
			Output:   cmp.Or(of["output sequence length avg"], of["output token count avg"])}}
		run.Summary = figures([3]string{"time to first token", "inter token latency",
			"request latency"}, [3]string{"avg", "p50", "p99"},
			func(name, statistic string) float64 { return of[name+" "+statistic] })
		run.Summary.OutputRate = of["output token throughput avg"]
		if run.Summary == (observed.Figures{}) {
			continue // a table of other figures, such as errors or usage
		}
		// By Little's law, the mean number in flight is the rate times the mean latency.
		flying := of["request throughput avg"] * run.Summary.E2E
		run.Load.Concurrency = int(min(flying+0.5, 1<<31))
		in.out.Runs = append(in.out.Runs, run)
	}
	if len(in.out.Runs) == 0 {
		return in.errorf("AIPerf's tables have no row that is read, such as Time to First Token " +
			"(ms); paste the table as it was printed, or profile_export_aiperf.json")
	}
	in.found("%s of AIPerf", units.Plural(len(in.out.Runs), "table"))
	in.lack("the load: AIPerf's table does not say it; the number in flight is its request " +
		"throughput times its latency")
	return nil
}

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
	in.found("%s of a table", units.Plural(len(in.out.Runs), "row"))
	in.lack("single requests: the table has figures of whole runs")
	return nil
}
