package records

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/llmsim/llmsim/internal/report/doc"
)

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
