package records

import (
	"encoding/csv"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/parquet-go/parquet-go"
)

// Table is figures of records, a row each.
type Table struct {
	Entries []Entry
	// Columns are the figures, by their paths.
	Columns []string
	rows    []map[string]float64
}

// NewTable makes the table of records with the given figures, or with all that some record has.
func NewTable(entries []Entry, columns []string) (*Table, error) {
	t := &Table{Entries: entries, Columns: columns}
	all := map[string]bool{}
	for i := range entries {
		figures, err := entries[i].Figures()
		if err != nil {
			return nil, err
		}
		for key := range figures {
			all[key] = true
		}
		t.rows = append(t.rows, figures)
	}
	if len(columns) == 0 {
		t.Columns = slices.Sorted(maps.Keys(all))
	}
	return t, nil
}

// Cell returns a figure as text; empty where the record does not have it.
func (t *Table) Cell(row int, column string, digits int) string {
	if f, ok := t.rows[row][column]; ok {
		return strconv.FormatFloat(f, 'g', digits, 64)
	}
	return ""
}

// WriteCSV writes the table with a line for each record.
func (t *Table) WriteCSV(out io.Writer) error {
	w := csv.NewWriter(out)
	header := append([]string{"id", "command", "name", "version", "tags"}, t.Columns...)
	if err := w.Write(header); err != nil {
		return err
	}
	for i := range t.Entries {
		e := &t.Entries[i]
		cells := []string{e.ID, e.Command, e.Name, e.Version, strings.Join(e.Tags, " ")}
		for _, column := range t.Columns {
			cells = append(cells, t.Cell(i, column, -1))
		}
		if err := w.Write(cells); err != nil {
			return err
		}
	}
	w.Flush()
	return w.Error()
}

// WriteParquet writes the columns of WriteCSV: numbers for figures, null where there are none.
func (t *Table) WriteParquet(out io.Writer) error {
	group := parquet.Group{}
	for _, name := range []string{"id", "command", "name", "version", "tags"} {
		group[name] = parquet.String()
	}
	for _, column := range t.Columns {
		group[column] = parquet.Optional(parquet.Leaf(parquet.DoubleType))
	}
	w := parquet.NewGenericWriter[map[string]any](out, parquet.NewSchema("runs", group))
	for i := range t.Entries {
		e := &t.Entries[i]
		row := map[string]any{"id": e.ID, "command": e.Command, "name": e.Name,
			"version": e.Version, "tags": strings.Join(e.Tags, " ")}
		for _, column := range t.Columns {
			row[column] = nil
			if f, ok := t.rows[i][column]; ok {
				row[column] = f
			}
		}
		if _, err := w.Write([]map[string]any{row}); err != nil {
			return err
		}
	}
	return w.Close()
}
