package asked

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/llmsim/llmsim/internal/nearest"
	"github.com/llmsim/llmsim/internal/units"
)

// fromCSV writes a table of offers as a price file in YAML. The columns are known keys of an offer.
// Each offer keeps its line, so that errors name the table's line.
func fromCSV(name string, data []byte, known []string) ([]byte, error) {
	if !utf8.Valid(data) {
		return nil, fmt.Errorf("%s: not a text in UTF-8", name)
	}
	// Spreadsheets write a byte order mark.
	r := csv.NewReader(bytes.NewReader(bytes.TrimPrefix(data, []byte("\ufeff"))))
	r.Comment, r.TrimLeadingSpace, r.FieldsPerRecord = '#', true, -1
	header, err := r.Read()
	if errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%s: the table is empty", name)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	line, _ := r.FieldPos(0)
	for i, column := range header {
		if !slices.Contains(known, column) {
			return nil, fmt.Errorf("%s:%d: %s", name, line,
				nearest.Unknown("column", column, known))
		}
		if slices.Contains(header[:i], column) {
			return nil, fmt.Errorf("%s:%d: the column %s is given twice", name, line, column)
		}
	}
	out := bytes.NewBuffer(bytes.Repeat([]byte("\n"), line-1))
	out.WriteString("offers:")
	for {
		row, err := r.Read()
		if errors.Is(err, io.EOF) {
			return out.Bytes(), nil
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		at, _ := r.FieldPos(0)
		if len(row) != len(header) {
			return nil, fmt.Errorf("%s:%d: found %s; the first line names %d", name, at,
				units.Plural(len(row), "field"), len(header))
		}
		cells, err := cellsOf(header, row)
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %w", name, at, err)
		}
		out.WriteString(strings.Repeat("\n", at-line) + "- {" + strings.Join(cells, ", ") + "}")
		line = at
	}
}

// cellsOf writes the cells of a row that are not empty as keys with values.
func cellsOf(header, row []string) ([]string, error) {
	var cells []string
	for i, cell := range row {
		switch {
		case strings.ContainsAny(cell, "\r\n"):
			return nil, fmt.Errorf("%s: found %q; want one line", header[i], cell)
		case cell == "":
		default:
			value := cell
			if _, err := strconv.ParseFloat(cell, 64); err != nil {
				text, err := json.Marshal(cell)
				if err != nil {
					return nil, err
				}
				value = string(text)
			}
			cells = append(cells, header[i]+": "+value)
		}
	}
	return cells, nil
}
