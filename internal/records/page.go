package records

import (
	"html/template"
	"io"
	"slices"
	"strings"
)

// page is the page of a table: the settings and the figures that are not the same in all records,
// a row each, and a column for each record.
const page = `<!doctype html>
<html lang="en"><meta charset="utf-8"><title>Runs</title>
<style>
body { font: 15px/1.4 system-ui, sans-serif; margin: 2em; }
table { border-collapse: collapse; }
th, td { border-bottom: 1px solid #ccc; padding: .2em .8em; text-align: right; }
th:first-child, td:first-child { text-align: left; }
</style>
<h1>Runs</h1>
<p>{{len .Heads}} records. Settings and figures that all of them share are left out.</p>
<table>
<thead><tr><th scope="col"></th>{{range .Heads}}<th scope="col">{{.}}</th>{{end}}</tr></thead>
<tbody>
{{range .Rows}}<tr><th scope="row">{{.Key}}</th>{{range .Cells}}<td>{{.}}</td>{{end}}</tr>
{{end}}</tbody>
</table>
</html>
`

type pageRow struct {
	Key   string
	Cells []string
}

// WriteHTML writes a page that compares the records.
func (t *Table) WriteHTML(w io.Writer) error {
	var view struct {
		Heads []string
		Rows  []pageRow
	}
	all := make([]map[string]string, len(t.Entries))
	union := map[string]string{}
	for i := range t.Entries {
		e := &t.Entries[i]
		head := e.ID[:12] + " " + e.Name
		if len(e.Tags) > 0 {
			head += " (" + strings.Join(e.Tags, ", ") + ")"
		}
		view.Heads = append(view.Heads, head)
		settings, err := e.Settings()
		if err != nil {
			return err
		}
		all[i] = settings
		for key := range settings {
			union[key] = ""
		}
	}
	add := func(key string, cells []string) {
		if len(slices.Compact(slices.Clone(cells))) > 1 || len(cells) == 1 {
			view.Rows = append(view.Rows, pageRow{key, cells})
		}
	}
	for _, key := range keys(union, nil) {
		var cells []string
		for i := range all {
			cells = append(cells, all[i][key])
		}
		add(key, cells)
	}
	for _, column := range t.Columns {
		var cells []string
		for i := range t.Entries {
			cells = append(cells, t.Cell(i, column, 5))
		}
		add(column, cells)
	}
	return template.Must(template.New("page").Parse(page)).Execute(w, view)
}
