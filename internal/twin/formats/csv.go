package formats

import (
	"bytes"
	"cmp"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/llmsim/llmsim/internal/nearest"
	"github.com/llmsim/llmsim/internal/twin/observed"
)

// field is a value that a CSV file may have: columns are its usual names, without the unit.
type field struct {
	name    string
	columns []string
	time    bool
}

// fields lists them. Requests need prompt, output and times; steps need step; runs need ttft_mean
// or tpot_mean.
func fields() []field {
	return []field{
		{"arrival", []string{"arrival", "timestamp"}, true}, {"sent", []string{"sent"}, true},
		{"first", []string{"first_token"}, true}, {"last", []string{"last_token", "end"}, true},
		{"ttft", []string{"ttft", "time_to_first_token"}, true},
		{"e2e", []string{"e2e", "e2el", "latency"}, true},
		{"prompt", []string{"prompt_tokens", "prompt_tokens_mean", "prompt_mean", "input_tokens"},
			false},
		{"output", []string{"output_tokens", "output_mean"}, false},
		{"cached", []string{"cached_tokens"}, false}, {"status", []string{"status"}, false},
		{"prefills", []string{"prefill_requests"}, false},
		{"prefill_tokens", []string{"prefill_tokens"}, false},
		{"prefill_kv", []string{"prefill_kv_tokens"}, false},
		{"decodes", []string{"decode_requests"}, false},
		{"decode_kv", []string{"decode_kv_tokens"}, false},
		{"step", []string{"step"}, true},
		{"run", []string{"run"}, false}, {"model", []string{"model"}, false},
		{"gpu", []string{"gpu"}, false}, {"tensor", []string{"tensor_parallel"}, false},
		{"version", []string{"engine_version"}, false},
		{"rate", []string{"rate_rps", "requested_rate"}, false},
		{"seconds", []string{"stage"}, true},
		{"requests", []string{"ok", "completed"}, false},
		{"concurrency", []string{"concurrency"}, false},
		{"ttft_mean", []string{"ttft_mean"}, true}, {"ttft_p50", []string{"ttft_p50"}, true},
		{"ttft_p90", []string{"ttft_p90"}, true}, {"ttft_p95", []string{"ttft_p95"}, true},
		{"tpot_p90", []string{"tpot_p90"}, true}, {"tpot_p95", []string{"tpot_p95"}, true},
		{"e2e_p90", []string{"e2e_p90"}, true}, {"e2e_p95", []string{"e2e_p95"}, true},
		{"ttft_p99", []string{"ttft_p99"}, true}, {"tpot_mean", []string{"tpot_mean"}, true},
		{"tpot_p50", []string{"tpot_p50"}, true}, {"tpot_p99", []string{"tpot_p99"}, true},
		{"e2e_mean", []string{"e2e_mean"}, true}, {"e2e_p50", []string{"e2e_p50"}, true},
		{"e2e_p99", []string{"e2e_p99"}, true},
		{"output_rate", []string{"output_tokens_per_s"}, false},
	}
}

// Fields returns the names of the fields of CSV files.
func Fields() []string {
	var names []string
	for _, f := range fields() {
		names = append(names, f.name)
	}
	return names
}

// units are the ends of names of columns, and the seconds for which they stand.
func timeUnits() map[string]float64 {
	return map[string]float64{"_s": 1, "_ms": 1e-3, "_us": 1e-6, "_ns": 1e-9, "": 1}
}

func fitsCSV(data []byte) bool {
	head, _, _ := bytes.Cut(data, []byte("\n"))
	return bytes.Count(head, []byte(string(separator(head)))) >= 2 &&
		!bytes.HasPrefix(head, []byte("#")) && !bytes.ContainsAny(head, "{}")
}

// separator returns what stands between the columns of a header: commas, or as spreadsheets write
// them, semicolons or tabs.
func separator(header []byte) rune {
	most := ','
	for _, c := range ";\t" {
		if bytes.Count(header, []byte(string(c))) > bytes.Count(header, []byte(string(most))) {
			most = c
		}
	}
	return most
}

// usual writes the name of a column as files mostly do: "TTFT (ms)" as ttft_ms.
func usual(column string) string {
	name, unit, has := strings.Cut(strings.TrimSuffix(strings.TrimSpace(column), ")"), "(")
	if name = strings.ReplaceAll(strings.TrimSpace(name), " ", "_"); has {
		name += "_" + unit
	}
	return strings.ToLower(name)
}

// table is a CSV file with the columns of the fields.
type table struct {
	in     *input
	header []string
	// comma reports whether a comma stands before decimals, as it does in spreadsheets that write
	// semicolons between columns.
	comma bool
	at    map[string]int
	scale map[string]float64
	row   []string
	line  int
	err   error
}

// columns finds the column of each field.
func (t *table) columns(header []string) error {
	for name := range t.in.options.Columns {
		if !slices.Contains(Fields(), name) {
			return errors.New(nearest.Unknown("field", name, Fields()))
		}
	}
	for _, f := range fields() {
		asked := t.in.options.Columns[f.name]
		for i, column := range header {
			name := usual(column)
			for _, unit := range slices.Sorted(maps.Keys(timeUnits())) {
				base, fits := strings.CutSuffix(name, unit)
				known := asked == "" && slices.Contains(f.columns, base) && f.time == (unit != "")
				named := asked == strings.TrimSpace(column) && (unit == "") == !hasUnit(name)
				if _, taken := t.at[f.name]; fits && !taken && (known || named) {
					t.at[f.name], t.scale[f.name] = i, 1
					if f.time {
						t.scale[f.name] = timeUnits()[unit]
					}
				}
			}
		}
		if _, there := t.at[f.name]; asked != "" && !there {
			return errors.New(nearest.Unknown("column", asked, header))
		}
	}
	return nil
}

func hasUnit(column string) bool {
	for unit := range timeUnits() {
		if unit != "" && strings.HasSuffix(column, unit) {
			return true
		}
	}
	return false
}

func (t *table) has(names ...string) bool {
	for _, name := range names {
		if _, ok := t.at[name]; !ok {
			return false
		}
	}
	return true
}

// known reports whether the row has a value of a field.
func (t *table) known(name string) bool { return t.text(name) != "" }

// number returns the value of a field; 0 where there is no column or no value. Times of a clock may
// be negative, as a client's warm-up is.
func (t *table) number(name string) float64 {
	if !t.known(name) {
		return 0
	}
	text := t.text(name)
	if t.comma {
		text = strings.Replace(text, ",", ".", 1)
	}
	v, err := strconv.ParseFloat(text, 64)
	size, want := v, "a number from 0"
	if slices.Contains([]string{"arrival", "sent", "first", "last"}, name) {
		size, want = math.Abs(v), "a time"
	}
	if err != nil || !observed.Finite(size) {
		t.refuse("%s: found %.40q, want %s", t.header[t.at[name]], t.text(name), want)
	}
	return v * t.scale[name]
}

// refuse keeps the first error, which names the row.
func (t *table) refuse(format string, args ...any) {
	if t.err == nil {
		t.err = t.in.errorf("line %d: %w", t.line, fmt.Errorf(format, args...))
	}
}

func (t *table) whole(name string) int { return int(min(t.number(name), 1<<31)) }

func (t *table) text(name string) string {
	if i, ok := t.at[name]; ok && i < len(t.row) {
		return strings.TrimSpace(t.row[i])
	}
	return ""
}

// readCSV reads requests, steps or runs, as the columns say. It does not use files.Rows, since the
// files are other programs': rows may be shorter than the header, and columns are mapped, some
// under one name twice.
func readCSV(in *input) error {
	line, _, _ := bytes.Cut(in.data, []byte("\n"))
	r := csv.NewReader(bytes.NewReader(in.data))
	r.FieldsPerRecord, r.Comma = -1, separator(line)
	header, err := r.Read()
	if err != nil {
		return in.errorf("%w", err)
	}
	t := &table{in: in, header: header, comma: r.Comma == ';', at: map[string]int{},
		scale: map[string]float64{}}
	if err := t.columns(header); err != nil {
		return in.errorf("%w", err)
	}
	var take func(*observed.Run)
	switch {
	case t.has("step", "decodes"):
		take = t.takeStep
	case t.has("prompt", "output") && (t.has("first") || t.has("ttft") || t.has("e2e")):
		take = t.takeRequest
	case t.has("ttft_mean") || t.has("tpot_mean"):
		take = t.takeRun
	case t.has(t.first("arrival", "sent")) && (t.has("first") || t.has("ttft") || t.has("e2e")):
		lacking := "prompt"
		if t.has(lacking) {
			lacking = "output"
		}
		return in.errorf("found the columns %.300q: those of requests, without the tokens of the "+
			"%s; name that column by --map %s=COLUMN", header, lacking, lacking)
	case in.drawn(r, header):
		return readTable(in)
	default:
		return in.errorf("found the columns %.300q; want those of requests (arrival, prompt, "+
			"output, first and last, or ttft and e2e), of steps (step, decodes, …) or of runs "+
			"(rate, ttft_mean, …): name them with --map field=column, of the fields %s", header,
			strings.Join(Fields(), ", "))
	}
	one := observed.Run{Name: strings.TrimSuffix(in.name, ".csv")}
	one.Load.Untimed = t.has("prompt") && !t.has("arrival") && !t.has("sent") && !t.has("step")
	if one.Load.Untimed {
		in.lack("when requests arrived: name their column with --map arrival=COLUMN")
	}
	for n := 0; ; n++ {
		t.row, err = r.Read()
		if err == io.EOF && n == 0 {
			return in.errorf("found the names of columns, and no row below them")
		}
		if err == io.EOF {
			break
		}
		if err != nil || n >= mostEntries {
			return in.errorf("row %d: %w", n+1, cmp.Or(err, errors.New("too many rows")))
		}
		t.line, _ = r.FieldPos(0)
		if take(&one); t.err != nil {
			return t.err
		}
	}
	if len(one.Requests)+len(one.Steps) > 0 {
		in.out.Runs = append(in.out.Runs, one)
	}
	in.found("%d requests, %d steps, %d runs", len(one.Requests), len(one.Steps), len(in.out.Runs))
	return nil
}

// drawn puts rows between lines, as the reader of tables that people make takes them, and reports
// whether their columns have a figure.
func (in *input) drawn(r *csv.Reader, header []string) bool {
	var b strings.Builder
	row := func(cells []string) { b.WriteString("| " + strings.Join(cells, " | ") + " |\n") }
	row(header)
	row(slices.Repeat([]string{"---"}, len(header)))
	if !hasFigures([]byte(b.String() + "| 0 |\n")) {
		return false
	}
	for n := 0; n < mostEntries; n++ {
		cells, err := r.Read()
		if err != nil {
			break
		}
		row(cells)
	}
	in.data = []byte(b.String())
	return true
}

func (t *table) takeStep(run *observed.Run) {
	run.Steps = append(run.Steps, observed.Step{Prefills: t.whole("prefills"),
		PrefillTokens: t.whole("prefill_tokens"), PrefillKV: t.whole("prefill_kv"),
		Decodes: t.whole("decodes"), DecodeKV: t.whole("decode_kv"), Seconds: t.number("step")})
}

func (t *table) takeRequest(run *observed.Run) {
	q := observed.Request{Arrival: t.number(t.first("arrival", "sent")), Sent: t.number("sent"),
		Prompt: t.whole("prompt"), Output: t.whole("output"), Cached: t.whole("cached"),
		TTFT: t.number("ttft"), E2E: t.number("e2e"),
		Failed: strings.HasPrefix(t.text("status"), "rejected")}
	if t.known("sent") && q.Arrival < 0 {
		q.Sent = cmp.Or(q.Sent, 1e-9) // since 0 would say that it was sent at its arrival
	}
	if t.known("first") && !q.Failed {
		q.TTFT = t.number("first") - q.Start()
	}
	if t.known("last") && !q.Failed {
		q.E2E = t.number("last") - q.Start()
	}
	switch {
	case q.TTFT < 0 || q.E2E < 0:
		t.refuse("times go backwards: sent at %g s, first token after %g s, last after %g s",
			q.Start(), q.TTFT, q.E2E)
	case !run.Load.Untimed && !t.known("arrival") && !t.known("sent"):
		t.refuse("%s: found no value, want the time at which the request was sent: without it, "+
			"the load of the server is not known", t.header[t.at[t.first("arrival", "sent")]])
	case !q.Failed && !t.known("prompt"):
		t.refuse("%s: found no value, want the number of tokens", t.header[t.at["prompt"]])
	case q.E2E > 0 && q.TTFT > q.E2E+1e-6:
		t.refuse("the first token comes %g s after sending and the last one %g s; want the last "+
			"one no earlier", q.TTFT, q.E2E)
	}
	run.Requests = append(run.Requests, q)
}

// first returns the first of two fields that the row has a value of, or else a column of.
func (t *table) first(a, b string) string {
	if t.known(a) || !t.known(b) && t.has(a) {
		return a
	}
	return b
}

func (t *table) takeRun(*observed.Run) {
	summary := figures([3]string{"ttft", "tpot", "e2e"}, [3]string{"mean", "p50", "p99"},
		func(name, statistic string) float64 { return t.number(name + "_" + statistic) })
	summary.OutputRate = t.number("output_rate")
	s := &t.in.out.Server
	s.Model, s.GPU = cmp.Or(s.Model, t.text("model")), cmp.Or(s.GPU, t.text("gpu"))
	s.Version, s.Tensor = cmp.Or(s.Version, t.text("version")), cmp.Or(s.Tensor, t.whole("tensor"))
	t.in.out.Runs = append(t.in.out.Runs, observed.Run{
		Name: strings.TrimSpace(t.text("run") + " " + t.text("rate") + "/s"),
		Load: observed.Load{Rate: t.number("rate"), Concurrency: t.whole("concurrency"),
			Requests: t.whole("requests"), Seconds: t.number("seconds"),
			Prompt: t.number("prompt"), Output: t.number("output")},
		Summary: summary})
}
