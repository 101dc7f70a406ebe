package files

import (
	"bytes"
	"encoding"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/llmsim/llmsim/internal/nearest"
	"github.com/llmsim/llmsim/internal/units"
)

// column is a field of a row that the tag `csv:"name"` binds to a column.
type column struct {
	index    []int
	optional bool
}

// ReadTable reads a CSV table into a T for each row below the first line, which names the columns.
// A field of T names its column by the tag `csv:"name"`, and fields of embedded and inner structs
// are columns as well; with `csv:"name,optional"` the column may be absent and numbers in it empty,
// which leaves the field zero. Texts may always be empty. A column must be known and given once, a
// number finite, and a row as long as the first line; lines that begin with # are comments. Errors
// name the line.
func ReadTable[T any](name string, data []byte) ([]T, error) {
	if !utf8.Valid(data) {
		return nil, fmt.Errorf("%s: not a text in UTF-8", name)
	}
	// Spreadsheets write a byte order mark.
	r := csv.NewReader(bytes.NewReader(bytes.TrimPrefix(data, []byte("\ufeff"))))
	r.Comment, r.FieldsPerRecord = '#', -1
	header, err := r.Read()
	if errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%s: the table is empty", name)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	bound := map[string]column{}
	bind(reflect.TypeFor[T](), nil, bound)
	line, _ := r.FieldPos(0)
	if err := checkHeader(header, bound); err != nil {
		return nil, fmt.Errorf("%s:%d: %w", name, line, err)
	}
	var list []T
	for {
		cells, err := r.Read()
		if errors.Is(err, io.EOF) {
			return list, nil
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		line, _ := r.FieldPos(0)
		if len(cells) != len(header) {
			return nil, fmt.Errorf("%s:%d: found %s; the first line names %d", name, line,
				units.Plural(len(cells), "field"), len(header))
		}
		var row T
		for i, cell := range cells {
			c := bound[header[i]]
			err := setCell(reflect.ValueOf(&row).Elem().FieldByIndex(c.index), cell, c.optional)
			if err != nil {
				return nil, fmt.Errorf("%s:%d: %s: %w", name, line, header[i], err)
			}
		}
		list = append(list, row)
	}
}

// bind adds the columns of a struct, which is at index within the row.
func bind(t reflect.Type, index []int, bound map[string]column) {
	for i := range t.NumField() {
		f := t.Field(i)
		at := append(slices.Clone(index), i)
		name, rest, tagged := strings.Cut(f.Tag.Get("csv"), ",")
		switch {
		case name != "":
			bound[name] = column{at, tagged && rest == "optional"}
		case f.Type.Kind() == reflect.Struct:
			bind(f.Type, at, bound)
		}
	}
}

// checkHeader refuses columns that are not known, given twice or missing.
func checkHeader(header []string, bound map[string]column) error {
	for i, name := range header {
		if _, known := bound[name]; !known {
			var names []string
			for known := range bound {
				names = append(names, known)
			}
			slices.Sort(names)
			return errors.New(nearest.Unknown("column", name, names))
		}
		if slices.Contains(header[:i], name) {
			return fmt.Errorf("the column %s is given twice", name)
		}
	}
	for name, c := range bound {
		if !c.optional && !slices.Contains(header, name) {
			return fmt.Errorf("the column %s is missing", name)
		}
	}
	return nil
}

// setCell sets a field to what a cell says.
func setCell(field reflect.Value, cell string, optional bool) error {
	if reader, is := field.Addr().Interface().(encoding.TextUnmarshaler); is {
		return reader.UnmarshalText([]byte(cell))
	}
	if field.Kind() == reflect.String {
		field.SetString(cell)
		return nil
	}
	if cell == "" && (optional || field.Kind() == reflect.Pointer) {
		return nil
	}
	if field.Kind() == reflect.Pointer {
		field.Set(reflect.New(field.Type().Elem()))
		field = field.Elem()
	}
	if field.CanInt() {
		n, err := strconv.ParseInt(cell, 10, field.Type().Bits())
		if err != nil {
			return fmt.Errorf("found %q, want a whole number", cell)
		}
		field.SetInt(n)
		return nil
	}
	x, err := strconv.ParseFloat(cell, 64)
	if err != nil || math.IsNaN(x) || math.IsInf(x, 0) {
		return fmt.Errorf("found %q, want a number", cell)
	}
	field.SetFloat(x)
	return nil
}

// MustReadTable is ReadTable for a table that is a part of the program: it is right, or a test
// fails.
func MustReadTable[T any](name, table string) []T {
	list, err := ReadTable[T](name, []byte(table))
	if err != nil {
		panic(err)
	}
	return list
}
