package trace

import (
	"bytes"
	"slices"
	"strconv"
	"strings"

	"github.com/llmsim/llmsim/internal/content"
	"github.com/llmsim/llmsim/sim"
)

// maxTokens is the largest number of tokens that a row may have, so that sums stay in range.
const maxTokens = 1 << 30

// layout describes the columns of a CSV format.
type layout struct {
	name                    string
	arrival, prompt, output string
	// total is a column that may be there, with the sum of prompt and output; empty without one.
	total string
	// parse reads the arrival column, and times says in words what it takes.
	parse func([]byte) (instant, error)
	times string
	// fromFirst counts time from the first row instead of from 0.
	fromFirst bool
	// failures says that rows with no output are failed requests.
	failures bool
	// optional are the columns that may be there.
	optional []optional
}

func layouts() []layout {
	const seconds = "seconds from 0"
	return []layout{
		{name: "azure", arrival: "TIMESTAMP", prompt: "ContextTokens", output: "GeneratedTokens",
			parse: parseDate, times: "times like 2023-11-16 18:15:46.680", fromFirst: true},
		{name: "burstgpt", arrival: "Timestamp", prompt: "Request tokens",
			output: "Response tokens", total: "Total tokens",
			parse: parseSeconds, times: seconds, fromFirst: true, failures: true},
		{name: "llmsim", arrival: "arrival_s", prompt: "prompt_tokens", output: "output_tokens",
			parse: parseSeconds, times: seconds, optional: optionalColumns()},
	}
}

// required lists the columns that must be there.
func (l layout) required() []string { return []string{l.arrival, l.prompt, l.output} }

func (l layout) fits(head []byte) bool {
	return hasColumns(head, l.required()...)
}

// open reads the header.
func (l layout) open(f *file, o Options, c *Counts) (decoder, error) {
	columns, at, err := readHeader(f, l.name, l.required())
	if err != nil {
		return nil, err
	}
	d := &csvDecoder{layout: l, file: f, counts: c, classes: o.Classes, columns: len(columns),
		at: at, total: -1}
	if l.total != "" {
		d.total = find(columns, l.total)
	}
	for _, o := range l.optional {
		if at := find(columns, o.column); at >= 0 {
			d.optional = append(d.optional, placed{o, at})
		}
	}
	return d, nil
}

// hasColumns reports whether a first line names all columns.
func hasColumns(head []byte, names ...string) bool {
	columns := split(head, nil)
	return !slices.ContainsFunc(names, func(name string) bool { return find(columns, name) < 0 })
}

// readHeader reads the first line of a format's table, which names the columns, and returns the
// positions of the required ones.
func readHeader(f *file, format string, required []string) (columns [][]byte, at []int, err error) {
	head, err := f.next()
	if err != nil {
		return nil, nil, err
	}
	columns = split(head, nil)
	if err := checkColumns(f, columns); err != nil {
		return nil, nil, err
	}
	for _, name := range required {
		at = append(at, find(columns, name))
	}
	if slices.Contains(at, -1) {
		return nil, nil, f.errorf("%s: found the columns %.300q, allowed: those with %s", format,
			bytes.Join(columns, []byte(", ")), strings.Join(required, ", "))
	}
	return columns, at, nil
}

// fieldsOf cuts a row into as many fields as the first line has, in the space of fields.
func fieldsOf(f *file, line []byte, fields [][]byte, columns int) ([][]byte, error) {
	if bytes.Count(line, []byte(",")) > maxColumns {
		return nil, f.errorf("found more than %d fields, allowed: %d, as in the header", maxColumns,
			columns)
	}
	if fields = split(line, fields[:0]); len(fields) != columns {
		return nil, f.errorf("found %d fields, allowed: %d, as in the header", len(fields), columns)
	}
	return fields, nil
}

// wholeNumber reads a whole number from 0 to most. Spreadsheets may have written it as 12.0.
func wholeNumber(f *file, name string, field []byte, most int64) (int, error) {
	n, ok := digits(bytes.TrimSuffix(field, []byte(".0")))
	if !ok || n > most {
		return 0, f.errorf("%s: found %.80q, allowed: whole numbers from 0 to %d", name, field,
			most)
	}
	return int(n), nil
}

// checkColumns refuses too many columns, and two columns of the same name, since either might be
// meant.
func checkColumns(f *file, columns [][]byte) error {
	if len(columns) > maxColumns {
		return f.errorf("found %d columns, allowed: up to %d", len(columns), maxColumns)
	}
	seen := map[string]bool{}
	for _, c := range columns {
		name := strings.ToLower(string(c))
		if seen[name] && name != "" {
			return f.errorf("found the column %.60q twice; leave one of the two out", c)
		}
		seen[name] = true
	}
	return nil
}

// find returns the position of a column, or -1.
func find(columns [][]byte, name string) int {
	return slices.IndexFunc(columns,
		func(c []byte) bool { return strings.EqualFold(string(c), name) })
}

// csvDecoder reads rows of a layout.
type csvDecoder struct {
	layout  layout
	file    *file
	counts  *Counts
	classes []string
	// columns is the number of columns, and at the positions of the required ones. The position of
	// the total is -1 without one.
	columns  int
	at       []int
	total    int
	optional []placed
	fields   [][]byte
	// origin is the time from which arrivals count. It is known once the first row was read.
	origin instant
	begun  bool
}

func (d *csvDecoder) timed() bool { return true }

func (d *csvDecoder) decode(r *sim.Request) error {
	for {
		line, err := d.file.next()
		if err != nil {
			return err
		}
		if d.fields, err = fieldsOf(d.file, line, d.fields, d.columns); err != nil {
			return err
		}
		if r.Arrival, err = d.arrival(d.fields[d.at[0]]); err != nil {
			return err
		}
		if r.Prompt, err = d.number(d.layout.prompt, d.fields[d.at[1]], maxTokens); err != nil {
			return err
		}
		if r.Output, err = d.number(d.layout.output, d.fields[d.at[2]], maxTokens); err != nil {
			return err
		}
		if d.total >= 0 {
			if err := d.sum(r, d.fields[d.total]); err != nil {
				return err
			}
		}
		if r.Output == 0 && d.layout.failures {
			d.counts.Rows++
			d.counts.Failed++
			continue
		}
		return d.readOptional(r)
	}
}

// sum refuses a total that is not the sum of prompt and output.
func (d *csvDecoder) sum(r *sim.Request, field []byte) error {
	total, err := d.number(d.layout.total, field, 2*maxTokens)
	if err == nil && total != r.Prompt+r.Output {
		err = d.file.errorf("%s: found %d, allowed: %d, the sum of %s and %s", d.layout.total,
			total, r.Prompt+r.Output, d.layout.prompt, d.layout.output)
	}
	return err
}

func (d *csvDecoder) arrival(field []byte) (sim.Time, error) {
	at, err := d.layout.parse(field)
	if err != nil {
		return 0, d.file.errorf("%s: found %.80q, allowed: %s", d.layout.arrival, field,
			d.layout.times)
	}
	if !d.begun && d.layout.fromFirst {
		d.origin = at
	}
	d.begun = true
	span, err := at.since(d.origin)
	if err != nil {
		return 0, d.file.errorf("%s: %w", d.layout.arrival, err)
	}
	return span, nil
}

func (d *csvDecoder) number(name string, field []byte, most int64) (int, error) {
	return wholeNumber(d.file, name, field, most)
}

// split cuts a CSV line at the commas outside quotes, appends the fields to fields, and takes off
// blanks and quotes around them.
func split(line []byte, fields [][]byte) [][]byte {
	start, quoted := 0, false
	for i, c := range line {
		switch {
		case c == '"':
			quoted = !quoted
		case c == ',' && !quoted:
			fields = append(fields, trim(line[start:i]))
			start = i + 1
		}
	}
	return append(fields, trim(line[start:]))
}

func trim(field []byte) []byte {
	field = bytes.TrimSpace(field)
	if n := len(field); n >= 2 && field[0] == '"' && field[n-1] == '"' {
		field = field[1 : n-1]
	}
	return field
}

// optional is a column that a row of llmsim's own format may have.
type optional struct {
	column string
	// read puts a field that is not empty into the row.
	read func(d *csvDecoder, field []byte, r *sim.Request) error
}

// placed is an optional column that the file has, and its position.
type placed struct {
	optional
	at int
}

// optionalColumns lists the optional columns of our own format. A prefix comes before its length.
func optionalColumns() []optional {
	return []optional{
		{"class", readClass},
		{"tenant", func(d *csvDecoder, field []byte, r *sim.Request) (err error) {
			r.Tenant, err = d.number("tenant", field, maxTokens)
			return err
		}},
		{"priority", func(d *csvDecoder, field []byte, r *sim.Request) (err error) {
			if r.Priority, err = strconv.Atoi(string(field)); err != nil {
				return d.file.errorf("priority: found %.80q, allowed: whole numbers", field)
			}
			return nil
		}},
		{"deadline_s", readDeadline},
		{"session", func(d *csvDecoder, field []byte, r *sim.Request) error {
			n, err := d.number("session", field, maxNumber)
			r.Session = int64(n)
			return err
		}},
		{"prefix", func(d *csvDecoder, field []byte, r *sim.Request) error {
			n, err := d.number("prefix", field, maxNumber)
			r.Content = append(r.Content,
				sim.Segment{ID: content.ID(content.TracePrefix, uint64(n))})
			return err
		}},
		{"prefix_tokens", readPrefixTokens},
	}
}

// maxNumber bounds sessions and prefixes.
const maxNumber = 1e15

// readOptional reads the optional columns that the file has.
func (d *csvDecoder) readOptional(r *sim.Request) error {
	for _, o := range d.optional {
		if field := d.fields[o.at]; len(field) > 0 {
			if err := o.read(d, field, r); err != nil {
				return err
			}
		}
	}
	if len(r.Content) > 0 && r.Content[0].Tokens == 0 {
		r.Content = r.Content[:0]
	}
	return nil
}

// readClass finds a class by its name. If the workload names no classes, the column is ignored.
func readClass(d *csvDecoder, field []byte, r *sim.Request) error {
	for i, name := range d.classes {
		if string(field) == name {
			r.Class = i
			return nil
		}
	}
	if len(d.classes) == 0 {
		return nil
	}
	return d.file.errorf("class: found %.80q, allowed: %s", field, strings.Join(d.classes, ", "))
}

func readDeadline(d *csvDecoder, field []byte, r *sim.Request) error {
	at, err := parseSeconds(field)
	if err != nil {
		return d.file.errorf("deadline_s: found %.80q, allowed: seconds from 0", field)
	}
	if r.Deadline, err = at.since(instant{}); err != nil {
		return d.file.errorf("deadline_s: %w", err)
	}
	return nil
}

func readPrefixTokens(d *csvDecoder, field []byte, r *sim.Request) error {
	tokens, err := d.number("prefix_tokens", field, maxTokens)
	if err != nil {
		return err
	}
	if tokens > r.Prompt {
		return d.file.errorf("prefix_tokens: found %d, allowed: at most the %d prompt tokens",
			tokens, r.Prompt)
	}
	if len(r.Content) > 0 {
		r.Content[0].Tokens = tokens
	}
	return nil
}
