package hardware

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/llmsim/llmsim/internal/nearest"
	"github.com/llmsim/llmsim/internal/units"
)

// form is the set of keys that a table of a catalogue file may have, with the places for their
// values. A figure is written either as `memory: 80GB`, with the table's own `source:`, or as
// `memory: {value: 80GB, source: "…"}`.
type form struct {
	// file and path name the place of the table, for error messages.
	file, path string
	// source is the source of all figures that do not name their own. If it is empty, each figure
	// must name its own.
	source string
	// sources receives the source of each figure, by its key.
	sources map[string]string
	fields  map[string]field
}

// field reads the value of one key; path is the key's own.
type field func(path string, value node) error

func newForm(file, path, source string, sources map[string]string) *form {
	f := &form{file: file, path: path, source: source, sources: sources, fields: map[string]field{}}
	f.text("source", &f.source)
	return f
}

// read takes the values of a table. It reads the source first, because the source also applies to
// the figures above it.
func (f *form) read(table node) error {
	if table.shape != isTable {
		return f.fail(table.line, f.path, "found %s, want a table of keys", table.describe())
	}
	if source, ok := table.get("source"); ok {
		if err := f.fields["source"](f.path+".source", source); err != nil {
			return err
		}
	}
	for _, e := range table.entries {
		read, ok := f.fields[e.key]
		if !ok {
			return f.fail(e.line, f.path, "%s",
				nearest.Unknown("key", e.key, slices.Sorted(maps.Keys(f.fields))))
		}
		if err := read(f.path+"."+e.key, e.value); err != nil {
			return err
		}
	}
	return nil
}

// fail returns an error at a line of the file.
func (f *form) fail(line int, path, format string, args ...any) error {
	return fmt.Errorf("%s:%d: %s: %s", f.file, line, path, fmt.Sprintf(format, args...))
}

// text adds a key whose value is a text.
func (f *form) text(key string, to *string) {
	f.fields[key] = func(path string, value node) error {
		if value.shape != isText || value.text == "" {
			return f.fail(value.line, path, "found %s, want a text that is not empty",
				value.describe())
		}
		*to = value.text
		return nil
	}
}

// texts adds a key whose value is a list of texts.
func (f *form) texts(key string, to *[]string) {
	f.fields[key] = func(path string, value node) error {
		if value.shape != isList {
			return f.fail(value.line, path, "found %s, want a list such as [a, b]",
				value.describe())
		}
		*to = nil
		for _, item := range value.items {
			if item.shape != isText || item.text == "" {
				return f.fail(item.line, path, "found %s, want texts that are not empty",
					item.describe())
			}
			*to = append(*to, item.text)
		}
		return nil
	}
}

// choice adds a key whose value is one of a few words.
func (f *form) choice(key string, to *string, allowed ...string) {
	f.fields[key] = func(path string, value node) error {
		if !slices.Contains(allowed, value.text) {
			return f.fail(value.line, path, "found %s, want one of %s", value.describe(),
				strings.Join(allowed, ", "))
		}
		*to = value.text
		return nil
	}
}

// link adds a key whose value names a link of the catalogue.
func (f *form) link(key string, to *string, links []Link) {
	f.fields[key] = func(path string, value node) error {
		l, err := lookUp("link", value.text, links)
		if err != nil {
			return f.fail(value.line, path, "%v", err)
		}
		*to = l.Name
		return nil
	}
}

// figure adds a key whose value is a quantity with a unit and a source.
func (f *form) figure(key string, to *float64, parse func(string) (float64, error)) {
	f.fields[key] = func(path string, value node) error {
		return f.readFigure(key, to, parse, path, value)
	}
}

// count adds a key whose value is a whole number with a source.
func (f *form) count(key string, to *int) {
	f.fields[key] = func(path string, value node) error {
		number := float64(*to)
		err := f.readFigure(key, &number, wholeNumber, path, value)
		*to = int(number)
		return err
	}
}

// rates adds a key whose value is a table of compute rates by number format, with perhaps a source
// of its own.
func (f *form) rates(key string, to map[DType]float64) {
	f.fields[key] = func(path string, value node) error {
		table := newForm(f.file, path, f.source, f.sources)
		for _, dtype := range dtypes() {
			table.fields[string(dtype)] = func(path string, value node) error {
				rate := to[dtype]
				err := table.readFigure(key+"."+string(dtype), &rate, positive(units.ParseFLOPRate),
					path, value)
				to[dtype] = rate
				return err
			}
		}
		return table.read(value)
	}
}

// readFigure reads a figure and its source.
func (f *form) readFigure(key string, to *float64, parse func(string) (float64, error), path string,
	value node) error {
	text, source := value.text, f.source
	switch value.shape {
	case isList:
		return f.fail(value.line, path, `found a list, want a figure, or {value: …, source: "…"}`)
	case isTable:
		sourced := newForm(f.file, path, f.source, nil)
		sourced.text("value", &text)
		if err := sourced.read(value); err != nil {
			return err
		}
		source = sourced.source
	}
	number, err := parse(text)
	if err != nil {
		return f.fail(value.line, path, "%v", err)
	}
	if source == "" {
		return f.fail(value.line, path,
			`the figure has no source; write {value: %s, source: "…"}, or one source: for the whole entry`, text)
	}
	*to, f.sources[key] = number, source
	return nil
}

// positive refuses 0 where the quantity cannot be.
func positive(parse func(string) (float64, error)) func(string) (float64, error) {
	return func(s string) (float64, error) {
		v, err := parse(s)
		if err == nil && v == 0 {
			err = fmt.Errorf("found %q, want more than 0", s)
		}
		return v, err
	}
}

// size reads an amount of memory above 0 and of at most a petabyte, whose tokens and blocks can be
// counted.
func size(s string) (float64, error) {
	v, err := positive(units.ParseBytes)(s)
	if err == nil && v > 1e15 {
		err = fmt.Errorf("found %q, want at most 1 PB", s)
	}
	return v, err
}

// wholeNumber reads a count of at least 1.
func wholeNumber(s string) (float64, error) {
	n, err := strconv.Atoi(s)
	if err != nil || n < 1 || n > 1e9 {
		return 0, fmt.Errorf("found %q, want a whole number from 1 to 1000000000", s)
	}
	return float64(n), nil
}

// dtypes lists the number formats in which hardware computes.
func dtypes() []DType { return []DType{FP32, TF32, FP16, BF16, FP8, INT8, FP6, INT4, FP4} }
