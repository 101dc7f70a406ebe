package validation

import (
	"embed"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/llmsim/llmsim/internal/files"
	"github.com/llmsim/llmsim/internal/validation/accuracy"
)

// kind is a kind of table: a row of kinds.csv.
type kind struct {
	// Name is what reports call it.
	Name string `csv:"table"`
	// Files is what the names of its files look like, without folders, in upper or lower case; the
	// first of several that fits counts. A star is anything, and a word in braces is a column of
	// all rows of the file that lack it.
	Files string `csv:"files"`
	// Needs are the columns that must be there; of names with "|" between them, one.
	Needs string `csv:"needs"`
	// Rows is what holds of the rows of a file that are of the kind, as rules have conditions.
	Rows string `csv:"rows"`
	// The others are columns of trials; several that are separated by "|" are tried in turn, and
	// one that begins with "=" is a value. Count is the number of clients, of requests or of
	// sequences, Prompt and Output are lengths in tokens.
	Model  string `csv:"model"`
	GPU    string `csv:"gpu"`
	DType  string `csv:"dtype"`
	Tensor string `csv:"tensor"`
	Engine string `csv:"engine"`
	Count  string `csv:"count"`
	Prompt string `csv:"prompt"`
	Output string `csv:"output"`
	// Tokens is "random" where prompts are random tokens; any other word means text.
	Tokens string `csv:"tokens"`
	// Case names a row among others of its group, with the values of columns in braces; empty where
	// the reader of the kind does.
	Case string `csv:"case"`

	// forms are the patterns of Files.
	forms []*regexp.Regexp
	// figures are the columns with what was measured, and stated what the file's name says.
	figures []figure
	stated  map[string]string
}

//go:embed *.csv
var ownTables embed.FS

// shipped returns what reads one of the package's own tables, once.
func shipped[T any](name string) func() []T {
	return sync.OnceValue(func() []T {
		text, err := ownTables.ReadFile(name)
		if err != nil {
			panic(err) // the tables are part of the program
		}
		return files.MustReadTable[T](name, string(text))
	})
}

var (
	kindRows   = shipped[kind]("kinds.csv")
	figureRows = shipped[figure]("figures.csv")
)

// kinds lists the tables that are known.
var kinds = sync.OnceValue(func() []kind {
	list := kindRows()
	for i := range list {
		for pattern := range strings.FieldsSeq(list[i].Files) {
			list[i].forms = append(list[i].forms, formOf(pattern))
		}
	}
	for _, f := range figureRows() {
		for i := range list {
			if slices.Contains(strings.Fields(f.Tables), list[i].Name) {
				list[i].figures = append(list[i].figures, f)
			}
		}
	}
	return list
})

// kindsOf returns the kinds of table that a file name states: an empty list, or one, or the kinds
// of a file with measurements of several kinds.
func kindsOf(file string) []kind {
	base := path.Base(file)
	var list []kind
	for _, k := range kinds() {
		for _, form := range k.forms {
			if found := form.FindStringSubmatch(base); found != nil {
				k.stated = map[string]string{}
				for i, column := range form.SubexpNames() {
					k.stated[column] = found[i]
				}
				list = append(list, k)
				break
			}
		}
	}
	return list
}

// formOf returns the expression of a pattern of file names.
func formOf(pattern string) *regexp.Regexp {
	names := patternPart.ReplaceAllStringFunc(pattern, func(part string) string {
		switch part {
		case "*":
			return ".*?"
		case ".":
			return `\.`
		}
		return "(?P<" + strings.Trim(part, "{}") + ">[^_]+(?:_[^_]+)*)"
	})
	return regexp.MustCompile("(?i)^" + names + "$")
}

// patternPart finds the parts of a pattern of file names that are not literal text.
var patternPart = regexp.MustCompile(`\*|\.|\{\w+\}`)

// table is a file of measurements as it is read.
type table struct {
	kind    *kind  // without a name until the table is known to be of a kind
	file    string // relative to the folder of measurements
	columns map[string]int
	header  []string
	rows    []row
	stated  map[string]string // what the file's name says, by column
	// problems are malformed rows, each named with its line; skipped counts rows that are left out,
	// by reason.
	problems []string
	skipped  map[string]int
	// left says of rows by line why they were left out, as far as that was for a single row.
	left map[int]string
	// server describes what the file was measured on, nil where no table beside it does.
	server *row
}

// sources returns what the column source names, each once. A row that says "as above" has the
// source of the row before.
func (t *table) sources() []string {
	var list []string
	for i := range t.rows {
		if s := t.rows[i].text("source"); s != "" && s != "as above" && !slices.Contains(list, s) {
			list = append(list, s)
		}
	}
	return list
}

// again returns the table for the reader of a kind: rows without what another found wrong with
// them.
func (t *table) again(k *kind) *table {
	next := *t
	next.kind, next.stated = k, k.stated
	next.problems, next.skipped = slices.Clone(t.problems), map[string]int{}
	next.left = maps.Clone(t.left)
	next.rows = slices.Clone(t.rows)
	for i := range next.rows {
		next.rows[i].table, next.rows[i].err, next.rows[i].known = &next, nil, nil
	}
	return &next
}

// row is one line of a table. The first thing that is wrong with it sticks.
type row struct {
	table  *table
	line   int
	fields []string
	err    error
	// known are columns beside those of the table, and flags those of started, once it was called.
	known, flags map[string]string
}

// readTable reads a CSV file with a header. Rows with too few or too many fields are noted as
// malformed and left out; the error is for a file that is no table at all.
func readTable(file string, r io.Reader) (*table, error) {
	t := &table{kind: &kind{}, file: file, columns: map[string]int{}, skipped: map[string]int{},
		left: map[int]string{}}
	c := csv.NewReader(r)
	c.FieldsPerRecord, c.Comment = -1, '#'
	c.TrimLeadingSpace = true
	for {
		fields, err := c.Read()
		if err == io.EOF {
			break
		}
		var bad *csv.ParseError
		if errors.As(err, &bad) {
			t.problem(bad.Line, "%v", bad.Err)
			continue
		}
		if err != nil {
			return nil, err
		}
		line, _ := c.FieldPos(0)
		switch {
		case t.header == nil:
			t.setHeader(fields)
		case len(fields) != len(t.header):
			t.problem(line, "found %d fields, want %d as in the header", len(fields), len(t.header))
		default:
			t.rows = append(t.rows, row{table: t, line: line, fields: fields})
		}
	}
	if t.header == nil {
		return nil, errors.New("is empty")
	}
	return t, nil
}

func (t *table) setHeader(fields []string) {
	for i, name := range fields {
		name = strings.ToLower(strings.TrimSpace(strings.TrimPrefix(name, "\ufeff")))
		t.columns[name] = i
		t.header = append(t.header, name)
	}
}

// whole returns a row of a table whose rows are of one run: it has only what the file's name says.
func (t *table) whole() *row {
	return &row{table: t, line: 1, fields: make([]string, len(t.header))}
}

// missing returns the columns that the table lacks. Of names with "|" between them it needs one.
func (t *table) missing(columns []string) []string {
	var list []string
	for _, c := range columns {
		if names := strings.Split(c, "|"); !slices.ContainsFunc(names, t.has) {
			list = append(list, strings.Join(names, " or "))
		}
	}
	return list
}

// has reports whether the table has the column.
func (t *table) has(column string) bool {
	_, ok := t.columns[column]
	return ok
}

// problem notes a malformed row.
func (t *table) problem(line int, format string, args ...any) {
	t.left[line] = fmt.Sprintf(format, args...)
	t.problems = append(t.problems, fmt.Sprintf("%s:%d: %s", t.file, line, t.left[line]))
}

// skip counts a row that is left out.
func (t *table) skip(format string, args ...any) { t.skipped[fmt.Sprintf(format, args...)]++ }

// leave counts a row that is left out, and remembers why.
func (t *table) leave(r *row, why string) {
	t.skip("%s", why)
	t.left[r.line] = why
}

// each calls f with every row, and notes what f found wrong with it. f returns false, or leaves an
// error, for rows that it did not take.
func (t *table) each(f func(r *row)) {
	for i := range t.rows {
		r := &t.rows[i]
		f(r)
		var unknown *unknownName
		switch {
		case errors.As(r.err, &unknown):
			t.leave(r, unknown.Error())
		case r.err != nil:
			t.problem(r.line, "%v", r.err)
		}
	}
}

// fail notes what is wrong with the row, unless something is already.
func (r *row) fail(err error) {
	if r.err == nil && err != nil {
		r.err = err
	}
}

// text returns what is known of a column beside the table, the value of the column, or where that
// is absent or empty what the file's name says; empty where nothing has it. Flags have "--" before
// their names.
func (r *row) text(column string) string {
	if s := r.known[column]; s != "" {
		return s
	}
	if flag, is := strings.CutPrefix(column, "--"); is {
		return r.started()[flag]
	}
	if i, ok := r.table.columns[column]; ok {
		if s := strings.TrimSpace(r.fields[i]); s != "" {
			return s
		}
	}
	return r.table.stated[column]
}

// started returns the flags with which the server of a row was started, by name, as its columns
// have them. A name that begins with "?" is in doubt.
func (r *row) started() map[string]string {
	if r.flags == nil {
		r.flags = map[string]string{}
		for _, column := range []string{"script_flags", "flags", "other_flags", "what"} {
			writtenFlags(r.flags, r.text(column))
		}
	}
	return r.flags
}

// required returns the value of a column that may not be empty.
func (r *row) required(column string) string {
	s := r.text(column)
	if s == "" {
		r.fail(fmt.Errorf("%s is empty", column))
	}
	return s
}

// value returns the value of the first of several columns that is not empty, or what stands behind
// "=" instead of a column.
func (r *row) value(columns string) string {
	names := strings.Split(columns, "|")
	for _, name := range names {
		if value, is := strings.CutPrefix(name, "="); is {
			return value
		}
		if s := r.text(name); s != "" {
			return s
		}
	}
	return r.required(names[0])
}

// version returns the release of the engine: from a column, or from the file's name; "" where
// neither says it.
func (r *row) version() string {
	for _, column := range []string{"engine_version", "backend_version", "vllm", "trtllm_version",
		"version"} {
		if v := release.FindString(r.text(column)); v != "" {
			return v
		}
	}
	return strings.TrimPrefix(fileRelease.FindString(path.Base(r.table.file)), "_")
}

var (
	release     = regexp.MustCompile(`\d+\.\d+(\.\d+)?`)
	fileRelease = regexp.MustCompile(`_\d+\.\d+(\.\d+)?`)
)

// number returns the finite number of at least 0 in a column, or in several as value finds it.
func (r *row) number(columns string) float64 { return r.numberOf(columns, r.value(columns)) }

// numberOf reads the number of a column, which is 0 if it is empty.
func (r *row) numberOf(column, s string) float64 {
	if s == "" {
		return 0
	}
	x, err := strconv.ParseFloat(s, 64)
	if err != nil || math.IsNaN(x) || math.IsInf(x, 0) || x < 0 {
		column, _, _ = strings.Cut(column, "|")
		r.fail(fmt.Errorf("%s: found %q, want a number of 0 or more", column, s))
		return 0
	}
	return x
}

// optional returns the number in a column, or otherwise, which may be negative, where it is absent
// or empty.
func (r *row) optional(column string, otherwise float64) float64 {
	if r.text(column) == "" {
		return otherwise
	}
	return r.number(column)
}

// Bounds of whole numbers in tables, far above what anybody measures: of sizes and lengths, of
// sequences that run at a time, and of requests of a run.
const (
	maxCount    = 1 << 36
	maxBatch    = 1 << 14
	maxRequests = 1 << 20
)

// figure returns the number in a column, or 0 where it is absent or no number. It notes nothing.
func (r *row) figure(column string) float64 {
	x, err := strconv.ParseFloat(r.text(column), 64)
	if err != nil {
		return 0
	}
	return x
}

// whole returns the whole number, at least least, that value finds.
func (r *row) whole(columns string, least int) int {
	return r.wholeOf(columns, r.value(columns), least)
}

// wholeOf reads a whole number of a column. Tables that were averaged write it with a fraction,
// which is rounded.
func (r *row) wholeOf(column, text string, least int) int {
	x := math.Round(r.numberOf(column, text))
	if r.err == nil && (x < float64(least) || x > maxCount) {
		column, _, _ = strings.Cut(column, "|")
		r.fail(fmt.Errorf("%s: found %s, want a whole number from %d", column, text, least))
	}
	return int(x)
}

// count returns a whole number of at least 1.
func (r *row) count(column string) int { return r.whole(column, 1) }

// batch returns a number of things that are simulated one by one.
func (r *row) batch(column string) int {
	if n := r.count(column); r.atMost(column, n, maxBatch) {
		return n
	}
	return 1
}

// atMost reports whether a number of a column is not too large; otherwise the row is malformed.
func (r *row) atMost(column string, n, most int) bool {
	if n > most {
		r.fail(fmt.Errorf("%s: found %d, want at most %d", column, n, most))
	}
	return n <= most
}

// figure is a row of figures.csv: a column of some kinds of tables with a measured figure, and what
// it is called in reports, with the value of a column in braces, such as mean or p50 for
// {ttft_stat}. Scale turns it into the unit.
type figure struct {
	Tables   string  `csv:"tables"`
	Column   string  `csv:"column"`
	Quantity string  `csv:"quantity"`
	Unit     string  `csv:"unit"`
	Scale    float64 `csv:"scale"`
}

// leastFigure is below everything that is measured.
const leastFigure = 1e-9

// figures returns the figures of the table's kind that the row has.
func (r *row) figures() []accuracy.Measurement { return r.measured(r.table.kind.figures) }

// measured returns the figures that the row has. A figure of zero is one that was not measured.
func (r *row) measured(figures []figure) []accuracy.Measurement {
	var list []accuracy.Measurement
	for _, f := range figures {
		value := r.number(f.Column + "|=0")
		if value > 0 && value < leastFigure {
			r.fail(fmt.Errorf("%s: found %s, want %g or more, or 0 where it was not measured",
				f.Column, r.text(f.Column), leastFigure))
		}
		if value > 0 {
			name, column, _ := strings.Cut(strings.TrimSuffix(f.Quantity, "}"), "{")
			if column != "" {
				name += r.required(column)
			}
			list = append(list, accuracy.Measurement{Quantity: name, Unit: f.Unit,
				Value: value * f.Scale})
		}
	}
	return list
}

// nameParts returns the parts between double underscores of a file's name, without its extension.
func nameParts(file string) []string {
	base := path.Base(file)
	return strings.Split(strings.TrimSuffix(base, path.Ext(base)), "__")
}
