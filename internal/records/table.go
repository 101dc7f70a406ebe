package records

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/llmsim/llmsim/internal/report/doc"
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
	records := make([]*Record, len(entries))
	for i := range entries {
		records[i] = entries[i].Record
	}
	var err error
	if t.rows, err = together(records...); err != nil {
		return nil, err
	}
	all := map[string]bool{}
	for _, figures := range t.rows {
		for key := range figures {
			all[key] = true
		}
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

// MarshalJSON writes an object for each record, with the columns of WriteCSV; a figure that the
// record does not have is absent.
func (t *Table) MarshalJSON() ([]byte, error) {
	type row struct {
		ID      string             `json:"id"`
		Command string             `json:"command"`
		Name    string             `json:"name"`
		Version string             `json:"version"`
		Tags    []string           `json:"tags"`
		Figures map[string]float64 `json:"figures"`
	}
	list := make([]row, len(t.Entries))
	for i := range t.Entries {
		e := &t.Entries[i]
		list[i] = row{e.ID, e.Command, e.Name, e.Version, append([]string{}, e.Tags...),
			map[string]float64{}}
		for _, column := range t.Columns {
			if f, ok := t.rows[i][column]; ok {
				list[i].Figures[column] = f
			}
		}
	}
	return json.Marshal(list)
}

// WriteCSV writes the table with a line for each record.
func (t *Table) WriteCSV(out io.Writer) error {
	rows := [][]string{append([]string{"id", "command", "name", "version", "tags"}, t.Columns...)}
	for i := range t.Entries {
		e := &t.Entries[i]
		cells := []string{e.ID, e.Command, e.Name, e.Version, strings.Join(e.Tags, " ")}
		for _, column := range t.Columns {
			cells = append(cells, t.Cell(i, column, -1))
		}
		rows = append(rows, cells)
	}
	return csv.NewWriter(out).WriteAll(rows)
}

// WriteHTML writes a page that compares the records: the settings and the figures that are not the
// same in all of them, a row each, and a column for each record.
func (t *Table) WriteHTML(w io.Writer) error {
	all := make([]map[string]string, len(t.Entries))
	union, header := map[string]string{}, []string{""}
	for i := range t.Entries {
		e := &t.Entries[i]
		head := e.ID[:12] + " " + e.Name
		if len(e.Tags) > 0 {
			head += " (" + strings.Join(e.Tags, ", ") + ")"
		}
		header = append(header, head)
		settings, err := e.Settings()
		if err != nil {
			return err
		}
		all[i] = settings
		for key := range settings {
			union[key] = ""
		}
	}
	var rows [][]string
	add := func(key string, cell func(record int) string) {
		row := []string{key}
		for i := range all {
			row = append(row, cell(i))
		}
		if len(slices.Compact(slices.Clone(row[1:]))) > 1 || len(all) == 1 {
			rows = append(rows, row)
		}
	}
	for _, key := range keys(union, nil) {
		add(key, func(i int) string { return all[i][key] })
	}
	for _, column := range t.Columns {
		add(column, func(i int) string { return t.Cell(i, column, 5) })
	}
	var p doc.Blocks
	p.Text(fmt.Sprintf("%d records. Settings and figures that all of them share are left out.",
		len(all)))
	p.Table(header, rows, 0)
	return p.Page(w, "Runs")
}
