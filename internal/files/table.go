package files

import (
	"bytes"
	"cmp"
	"encoding"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"maps"
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
	name, format string
	index        []int
	optional     bool
}

// Row is a row of a table, and the line at which it begins, from 1.
type Row struct {
	Line  int
	Cells []string
}

// Rows splits a CSV table into its rows. The first names the columns, each of them known, unless
// known is nil, and given once; the others are as long. Lines that begin with # are comments, and
// spaces before a cell are left out. Errors name the line.
func Rows(name string, data []byte, known []string) ([]Row, error) {
	if !utf8.Valid(data) {
		return nil, fmt.Errorf("%s: not a text in UTF-8", name)
	}
	// Spreadsheets write a byte order mark.
	r := csv.NewReader(bytes.NewReader(bytes.TrimPrefix(data, []byte("\ufeff"))))
	r.Comment, r.TrimLeadingSpace, r.FieldsPerRecord = '#', true, -1
	var rows []Row
	for {
		cells, err := r.Read()
		switch {
		case errors.Is(err, io.EOF) && rows == nil:
			return nil, fmt.Errorf("%s: the table is empty", name)
		case errors.Is(err, io.EOF):
			return rows, nil
		case err != nil:
			return nil, fmt.Errorf("%s: %w", name, err)
		case rows == nil:
			err = checkColumns(cells, known)
		case len(cells) != len(rows[0].Cells):
			err = fmt.Errorf("found %s; the first line names %d",
				units.Plural(len(cells), "field"), len(rows[0].Cells))
		}
		line, _ := r.FieldPos(0)
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %w", name, line, err)
		}
		rows = append(rows, Row{line, cells})
	}
}

// checkColumns refuses columns that are not known, unless known is nil, or given twice.
func checkColumns(columns, known []string) error {
	for i, column := range columns {
		if known != nil && !slices.Contains(known, column) {
			return errors.New(nearest.Unknown("column", column, known))
		}
		if slices.Contains(columns[:i], column) {
			return fmt.Errorf("the column %s is given twice", column)
		}
	}
	return nil
}

// ReadTable reads a CSV table as Rows does, into a T for each row below the first line. A field of
// T names its column by the tag `csv:"name"`, and fields of embedded and inner structs are columns
// as well; with `csv:"name,optional"` the column may be absent and numbers in it empty, which
// leaves the field zero. Texts may always be empty. A number must be finite.
func ReadTable[T any](name string, data []byte) ([]T, error) {
	bound := map[string]column{}
	for _, c := range columnsOf(reflect.TypeFor[T](), nil) {
		bound[c.name] = c
	}
	known := slices.Sorted(maps.Keys(bound))
	rows, err := Rows(name, data, known)
	if err != nil {
		return nil, err
	}
	header := rows[0].Cells
	for _, column := range known {
		if !bound[column].optional && !slices.Contains(header, column) {
			return nil, fmt.Errorf("%s:%d: the column %s is missing", name, rows[0].Line, column)
		}
	}
	var list []T
	for _, row := range rows[1:] {
		var read T
		for i, cell := range row.Cells {
			c := bound[header[i]]
			err := setCell(reflect.ValueOf(&read).Elem().FieldByIndex(c.index), cell, c.optional)
			if err != nil {
				return nil, fmt.Errorf("%s:%d: %s: %w", name, row.Line, header[i], err)
			}
		}
		list = append(list, read)
	}
	return list, nil
}

// WriteTable writes rows as ReadTable reads them, with the columns in the order of the fields. A
// tag `format:"%.1f"` says how a number is written, and zeros of optional columns are left empty.
func WriteTable[T any](w io.Writer, rows []T) error {
	columns := columnsOf(reflect.TypeFor[T](), nil)
	lines := make([][]string, 1+len(rows))
	for _, c := range columns {
		lines[0] = append(lines[0], c.name)
		for i := range rows {
			field := reflect.ValueOf(&rows[i]).Elem().FieldByIndex(c.index)
			lines[i+1] = append(lines[i+1], c.cell(field))
		}
	}
	return csv.NewWriter(w).WriteAll(lines)
}

// cell returns how the table has a field.
func (c *column) cell(field reflect.Value) string {
	if c.optional && field.IsZero() || field.Kind() == reflect.Pointer && field.IsNil() {
		return ""
	}
	value := reflect.Indirect(field).Interface()
	if s, is := value.(fmt.Stringer); is {
		return s.String()
	}
	return fmt.Sprintf(cmp.Or(c.format, "%v"), value)
}

// columnsOf returns the columns of a struct, which is at index within the row.
func columnsOf(t reflect.Type, index []int) (list []column) {
	for i := range t.NumField() {
		f := t.Field(i)
		at := append(slices.Clone(index), i)
		name, rest, tagged := strings.Cut(f.Tag.Get("csv"), ",")
		switch {
		case name != "":
			list = append(list, column{name, f.Tag.Get("format"), at, tagged && rest == "optional"})
		case f.Type.Kind() == reflect.Struct:
			list = append(list, columnsOf(f.Type, at)...)
		}
	}
	return list
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
