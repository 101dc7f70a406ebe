package formats

import (
	"bytes"
	"cmp"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/llmsim/llmsim/internal/twin/observed"
	"github.com/llmsim/llmsim/internal/units"
)

// tableHead begins the table that vLLM's and SGLang's serving benchmarks print.
const tableHead = "Serving Benchmark Result"

func fitsPrinted(data []byte) bool { return bytes.Contains(data, []byte(tableHead)) }

// printedLine is a line of such a table: its name, its unit in parentheses, its value, and a unit
// behind it, as people write figures by hand.
func printedLine() *regexp.Regexp {
	return regexp.MustCompile(`^\W*([A-Za-z][A-Za-z0-9 .-]{0,60}?) *(?:\(([a-zA-Z/]{1,12})\))?` +
		`[:=]? *([0-9][0-9.,]{0,24}|inf|None) *(ms|s|tok/s|tokens/s|req/s)?\s*$`)
}

// printedTable is the values of a table by their names in small letters; times are in seconds.
type printedTable map[string]float64

// printedName returns the name that a table has for a figure: mean TTFT for TTFT and for average
// TTFT.
func printedName(words string) string {
	name := strings.ToLower(strings.Join(strings.Fields(words), " "))
	for _, other := range [][2]string{{"avg ", "mean "}, {"average ", "mean "},
		{"p50 ", "median "}} {
		if rest, begins := strings.CutPrefix(name, other[0]); begins {
			name = other[1] + rest
		}
	}
	if slices.Contains([]string{"ttft", "tpot", "itl", "e2el", "e2e", "e2e latency"}, name) {
		name = "mean " + name
	}
	if strings.HasSuffix(name, " e2e") {
		name += "l"
	}
	return name
}

// readPrinted reads every table of a text, as `vllm bench serve` (vllm/benchmarks/serve.py) and
// sglang.bench_serving print them. Without heads, a table ends before the first name that is in it
// already.
func readPrinted(in *input) error {
	form := printedLine()
	headed := fitsPrinted(in.data)
	var tables []printedTable
	before := printedTable{} // what is printed above the table: the rate that was asked for
	for line := range strings.Lines(withPoints(string(in.data))) {
		line = strings.TrimSpace(line)
		if strings.Contains(line, tableHead) {
			tables = append(tables, before)
			before = printedTable{}
			continue
		}
		m := form.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		value, err := strconv.ParseFloat(strings.ReplaceAll(m[3], ",", ""), 64)
		if err != nil || !observed.Finite(value) {
			continue
		}
		if unit := timeUnit(cmp.Or(m[2], m[4])); unit > 0 {
			value *= unit
		}
		name := printedName(m[1])
		to := before
		if n := len(tables); headed && n > 0 && name != "traffic request rate" {
			to = tables[n-1]
		}
		_, twice := to[name]
		switch {
		case !twice:
			to[name] = value
		case !headed:
			tables = append(tables, before)
			before = printedTable{name: value}
		}
	}
	if !headed {
		tables = append(tables, before)
	}
	for i, t := range tables {
		run := t.run()
		if len(tables) > 1 {
			run.Name = "table " + strconv.Itoa(i+1)
		}
		if run.Summary == (observed.Figures{}) {
			return in.errorf("table %d has no figure that is read, such as Mean TTFT (ms), Mean "+
				"TPOT (ms) or Output token throughput (tok/s)", i+1)
		}
		if run.Load.Prompt == 0 {
			in.lack("lengths: the table has no Total input tokens or no Successful requests")
		}
		in.out.Runs = append(in.out.Runs, run)
	}
	in.found("%s", units.Plural(len(tables), "printed table"))
	in.lack("single requests: a printed table has figures of the whole run only")
	return nil
}

// Numbers with a comma before their decimals.
var (
	// decimals finds a value that can be read in no other way: 120,98 or 5.116,5.
	decimals = regexp.MustCompile(`(?m)[:=|] *\d+(?:\.\d{3})*,\d{1,2} *(?:\||ms|s|$)`)
	// grouped finds a number with a comma before its decimals, maybe with points between thousands.
	grouped = regexp.MustCompile(`\d{1,3}(?:\.\d{3})+,\d+|\d+,\d+`)
)

// withPoints returns a text whose numbers have points before their decimals, where one shows that
// they have commas.
func withPoints(text string) string {
	if !decimals.MatchString(text) {
		return text
	}
	return grouped.ReplaceAllStringFunc(text, func(number string) string {
		return strings.Replace(strings.ReplaceAll(number, ".", ""), ",", ".", 1)
	})
}

// run returns the load and the figures of a table.
func (t printedTable) run() observed.Run {
	run := observed.Run{Name: "table"}
	l := &run.Load
	n := t["successful requests"]
	l.Requests = int(min(n, 1<<31))
	l.Seconds = t["benchmark duration"]
	l.Rate = cmp.Or(t["traffic request rate"], t["request rate configured"])
	l.Concurrency = int(min(cmp.Or(t["max request concurrency"],
		t["maximum request concurrency"]), 1<<31))
	if n > 0 {
		l.Prompt = t["total input tokens"] / n
		l.Output = t["total generated tokens"] / n
	}
	run.Summary = figures([3]string{"ttft", "tpot", "e2el"}, [3]string{"mean", "median", "p99"},
		func(name, statistic string) float64 {
			other := map[string]string{"tpot": "itl", "e2el": "e2e latency"}[name]
			if name == "tpot" && statistic != "mean" && statistic != "median" {
				other = "" // the longest gaps are of single tokens, not of requests
			}
			return cmp.Or(t[statistic+" "+name], t[statistic+" "+other])
		})
	f := &run.Summary
	f.ITL50, f.ITL90, f.ITL95, f.ITL99 = t["median itl"], t["p90 itl"], t["p95 itl"], t["p99 itl"]
	run.Summary.OutputRate = t["output token throughput"]
	return run
}

// llamaCell is the test of a line of llama-bench: prompts (pp) or answers (tg) of some tokens, at a
// depth of the context.
func llamaCell() *regexp.Regexp {
	return regexp.MustCompile(`\| *(pp|tg) ?(\d{1,8})(?: *@ *d(\d{1,8}))? *\| *([\d.]{1,16})` +
		`(?: *(?:±|\+/-) *[\d.]{1,16})? *\|`)
}

func fitsLlamaBench(data []byte) bool {
	return bytes.Contains(head(data), []byte("t/s")) && llamaCell().Match(head(data))
}

// readLlamaBench reads llama-bench's table: one sequence, whose prompt or answer is timed alone. A
// model is named by its kind, size and format, with the number of its parameters beside it.
func readLlamaBench(in *input) error {
	form := llamaCell()
	var header []string
	first := ""
	for line := range strings.Lines(string(in.data)) {
		m := form.FindStringSubmatch(line)
		if m == nil {
			if cells := cellsOf(line); slices.ContainsFunc(cells, func(cell string) bool {
				return strings.TrimSpace(cell) == "model"
			}) {
				header = columnsOf([][]string{cells})
			}
			continue
		}
		tokens, _ := strconv.ParseFloat(m[2], 64)
		depth, _ := strconv.ParseFloat(m[3], 64)
		rate, err := strconv.ParseFloat(m[4], 64)
		if err != nil || rate <= 0 || tokens == 0 {
			return in.errorf("found a rate of %q t/s for %s%s, want one above 0", m[4], m[1], m[2])
		}
		of := map[string]string{}
		for i, cell := range cellsOf(line) {
			if i < len(header) {
				of[header[i]] = strings.TrimSpace(cell)
			}
		}
		if model := of["model"]; model != first {
			if first != "" {
				in.addNote("the table has several models: %s is not compared", model)
				continue
			}
			first = model
			in.out.Server = observed.Server{Engine: "llama.cpp", Model: model,
				Flags: "params=" + of["params"] + ",ngl=" + of["ngl"] + ",backend=" + of["backend"]}
		}
		run := observed.Run{Name: m[1] + m[2], Load: observed.Load{Concurrency: 1, Requests: 1,
			Prompt: max(1, depth), Output: tokens}}
		if depth > 0 {
			run.Name += " @ d" + m[3]
		}
		if m[1] == "pp" {
			run.Load.Prompt, run.Load.Output = depth+tokens, 1
			run.Load.Cached = depth
			run.Summary.TTFT = tokens / rate
		} else {
			run.Summary.TPOT, run.Summary.OutputRate = 1/rate, rate
		}
		in.out.Runs = append(in.out.Runs, run)
	}
	in.found("%d tests of one sequence", len(in.out.Runs))
	in.lack("latencies under load: llama-bench runs one sequence alone")
	return nil
}

// decodeLine is a line that SGLang's scheduler logs every some steps
// (python/sglang/srt/managers/scheduler.py).
func decodeLine() *regexp.Regexp {
	return regexp.MustCompile(`Decode batch[.,].*#running-req: (\d{1,9}), #(?:full )?token: ` +
		`(\d{1,12}),.*gen throughput \(token/s\): ([\d.]{1,20})`)
}

func fitsDecodeLog(data []byte) bool { return decodeLine().Match(head(data)) }

// readDecodeLog reads mean steps of decode batches: a sequence gets its share of the throughput,
// which over the sequences is a step's rate.
func readDecodeLog(in *input) error {
	form, accepted := decodeLine(), regexp.MustCompile(`accept len: ([\d.]{1,8})`)
	run := observed.Run{Name: in.name}
	idle, eager := 0, false
	for line := range bytes.Lines(in.data) {
		m := form.FindSubmatch(line)
		if m == nil {
			continue
		}
		running, _ := strconv.Atoi(string(m[1]))
		held, _ := strconv.Atoi(string(m[2]))
		rate, _ := strconv.ParseFloat(string(m[3]), 64)
		given := 1.0
		if a := accepted.FindSubmatch(line); a != nil {
			given, _ = strconv.ParseFloat(string(a[1]), 64)
		}
		if running == 0 || rate <= 0 || given <= 0 {
			idle++
			continue
		}
		eager = eager || bytes.Contains(line, []byte("cuda graph: False"))
		run.Steps = append(run.Steps, observed.Step{Decodes: running, DecodeKV: min(held, 1<<30),
			Seconds: float64(running) * given / rate})
	}
	in.out.Server.Engine = "sglang"
	in.found("%d decode batches, %d idle ones left out", len(run.Steps), idle)
	in.addNote("each line is the mean step since the one before it, prompts between them included")
	if eager {
		in.addNote("some steps ran without CUDA graphs")
	}
	in.lack("arrivals and latencies of requests: the lines have none")
	in.out.Runs = append(in.out.Runs, run)
	return nil
}
