package hardware

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/llmsim/llmsim/internal/nearest"
	"github.com/llmsim/llmsim/internal/units"

	"gopkg.in/yaml.v3"
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
	// links are the links that values may name.
	links  []Link
	fields map[string]field
}

// field reads the value of one key; path is the key's own.
type field func(path string, value *yaml.Node) error

func newForm(file, path, source string, sources map[string]string) *form {
	f := &form{file: file, path: path, source: source, sources: sources, fields: map[string]field{}}
	f.text("source", &f.source)
	return f
}

// inner returns the form of a table within this one, whose figures have sources of their own.
func (f *form) inner(path string, sources map[string]string) *form {
	return newForm(f.file, path, f.source, sources)
}

// read takes the values of a table. It reads the source first, because the source also applies to
// the figures above it.
func (f *form) read(table *yaml.Node) error {
	if table.Kind != yaml.MappingNode {
		return f.fail(table.Line, f.path, "found %s, want a table of keys", describe(table))
	}
	if source := get(table, "source"); source != nil {
		if err := f.fields["source"](f.path+".source", source); err != nil {
			return err
		}
	}
	for key, value := range entries(table) {
		read, ok := f.fields[key.Value]
		if !ok {
			return f.fail(key.Line, f.path, "%s",
				nearest.Unknown("key", key.Value, slices.Sorted(maps.Keys(f.fields))))
		}
		if err := read(f.path+"."+key.Value, value); err != nil {
			return err
		}
	}
	return nil
}

// fail returns an error at a line of the file.
func (f *form) fail(line int, path, format string, args ...any) error {
	return fmt.Errorf("%s:%d: %s: %s", f.file, line, path, fmt.Sprintf(format, args...))
}

// keyOf returns the key of a field of a struct in catalogue files: what the tag `key` says, its
// name in YAML, or its name in small letters; "-" for a field that has no key.
func keyOf(f reflect.StructField) string {
	return cmp.Or(f.Tag.Get("key"), strings.TrimSuffix(f.Tag.Get("yaml"), ",omitempty"),
		strings.ToLower(f.Name))
}

// describes adds a key for each field of the struct that to points to. Tags say what a value may
// be: unit is one that readerOf knows, or "link" for the name of a link, and words lists the words.
func (f *form) describes(to any) {
	v := reflect.ValueOf(to).Elem()
	for i := range v.NumField() {
		tag, at := v.Type().Field(i).Tag, v.Field(i).Addr().Interface()
		if key := keyOf(v.Type().Field(i)); key != "-" {
			f.fields[key] = func(path string, value *yaml.Node) error {
				return f.set(at, key, tag, path, value)
			}
		}
	}
}

// set reads the value of a key into what to points to.
func (f *form) set(to any, key string, tag reflect.StructTag, path string, value *yaml.Node) error {
	switch to := to.(type) {
	case *string:
		return f.setText(to, tag, path, value)
	case *[]string:
		return f.setTexts(to, path, value)
	case *float64:
		return f.figure(key, to, readerOf(tag.Get("unit")), path, value)
	case *Seconds:
		return f.figure(key, (*float64)(to), units.ParseDuration, path, value)
	case *int:
		n := float64(*to)
		err := f.figure(key, &n, wholeNumber, path, value)
		*to = int(n)
		return err
	case *map[DType]float64:
		return f.rates(key, *to, readerOf(tag.Get("unit")), path, value)
	case **Constants:
		return f.constants(to, path, value)
	}
	table := f.inner(path, f.sources)
	table.describes(to)
	return table.read(value)
}

// text adds a key whose value is a text.
func (f *form) text(key string, to *string) {
	f.fields[key] = func(path string, value *yaml.Node) error {
		return f.setText(to, "", path, value)
	}
}

// setText reads a text: one of a few words, the name of a link, or any that is not empty.
func (f *form) setText(to *string, tag reflect.StructTag, path string, value *yaml.Node) error {
	if words := strings.Split(tag.Get("words"), ","); words[0] != "" {
		if !slices.Contains(words, value.Value) {
			return f.fail(value.Line, path, "found %s, want one of %s", describe(value),
				strings.Join(words, ", "))
		}
	} else if tag.Get("unit") == "link" {
		l, err := lookUp("link", value.Value, f.links)
		if err != nil {
			return f.fail(value.Line, path, "%v", err)
		}
		*to = l.Name
		return nil
	} else if value.Kind != yaml.ScalarNode || value.Value == "" {
		return f.fail(value.Line, path, "found %s, want a text that is not empty", describe(value))
	}
	*to = value.Value
	return nil
}

// setTexts reads a list of texts.
func (f *form) setTexts(to *[]string, path string, value *yaml.Node) error {
	if value.Kind != yaml.SequenceNode {
		return f.fail(value.Line, path, "found %s, want a list such as [a, b]", describe(value))
	}
	*to = nil
	for _, item := range value.Content {
		if item.Kind != yaml.ScalarNode || item.Value == "" {
			return f.fail(item.Line, path, "found %s, want texts that are not empty",
				describe(item))
		}
		*to = append(*to, item.Value)
	}
	return nil
}

// rates reads a table of figures by number format, with perhaps a source of its own.
func (f *form) rates(key string, to map[DType]float64, parse reader, path string,
	value *yaml.Node) error {
	table := f.inner(path, f.sources)
	for _, dtype := range dtypes() {
		table.fields[string(dtype)] = func(path string, value *yaml.Node) error {
			rate := to[dtype]
			err := table.figure(key+"."+string(dtype), &rate, parse, path, value)
			to[dtype] = rate
			return err
		}
	}
	return table.read(value)
}

// constants reads constants that a user fitted to an accelerator, in the format of the program's
// own files. Constants that are left out follow from the data sheet: efficiencies of 1 and no fixed
// times.
func (f *form) constants(to **Constants, path string, value *yaml.Node) error {
	c := Roofline()
	c.Fit = Fit{Source: f.source}
	table := f.inner(path, map[string]string{})
	table.describes(&c)
	if err := table.read(value); err != nil {
		return err
	}
	*to = &c
	return nil
}

// figure reads a figure and its source.
func (f *form) figure(key string, to *float64, parse reader, path string, value *yaml.Node) error {
	text, source := value.Value, f.source
	switch value.Kind {
	case yaml.SequenceNode:
		return f.fail(value.Line, path, `found a list, want a figure, or {value: …, source: "…"}`)
	case yaml.MappingNode:
		sourced := f.inner(path, nil)
		sourced.text("value", &text)
		if err := sourced.read(value); err != nil {
			return err
		}
		source = sourced.source
	}
	number, err := parse(text)
	if err != nil {
		return f.fail(value.Line, path, "%v", err)
	}
	if source == "" {
		return f.fail(value.Line, path,
			`the figure has no source; write {value: %s, source: "…"}, or one source: for the whole entry`, text)
	}
	*to, f.sources[key] = number, source
	return nil
}

// reader reads a number, with its unit if it has one.
type reader = func(string) (float64, error)

// readerOf returns what reads figures with a tag unit. A figure without one is a share of a figure
// of the data sheet.
func readerOf(unit string) reader {
	switch unit {
	case "":
		return positive(units.ParseFraction)
	case "error":
		return units.ParseFraction
	case "number":
		return number
	case "positive number":
		return positive(number)
	case "size":
		return size
	case "byte rate":
		return positive(units.ParseByteRate)
	case "FLOP rate":
		return positive(units.ParseFLOPRate)
	case "power":
		return positive(units.ParsePower)
	case "price":
		return positive(units.ParsePrice)
	case "duration":
		return units.ParseDuration
	}
	panic("hardware: no figure has the unit " + unit)
}

// positive refuses 0 where the quantity cannot be.
func positive(parse reader) reader {
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

// number reads a plain number of 0 or more; infinity is one too.
func number(s string) (float64, error) {
	v, err := strconv.ParseFloat(s, 64)
	if err != nil || !(v >= 0) {
		return 0, fmt.Errorf("found %q, want a number of 0 or more such as 2.5", s)
	}
	return v, nil
}
