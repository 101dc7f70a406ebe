// Package site writes a page that shows how wrong predictions are: one file that works without a
// network, with every row predicted and measured, its range and its source.
package site

import (
	_ "embed"
	"encoding/json"
	"io"
	"math"
	"strings"

	"github.com/llmsim/llmsim/internal/validation/accuracy"
)

//go:embed page.html
var page string

// placeholder is where the page has its data.
const placeholder = "/*DATA*/"

//go:embed history.csv
var historyCSV string

// content is what the page shows. Names are listed once, and rows refer to them by place.
type content struct {
	Names []string              `json:"names"`
	Rows  [][]any               `json:"rows"`
	Goals []accuracy.GoalResult `json:"goals"`
	// Sources are the sources that tables name, by table.
	Sources map[string][]string `json:"sources"`
	// History are the errors of goals left out of each fit of the constants.
	History history `json:"history"`
}

// Write writes the page of a report.
func Write(w io.Writer, r *accuracy.Report) error {
	c := content{Goals: r.Goals(), Sources: map[string][]string{}}
	var err error
	if c.History, err = readHistory(historyCSV); err != nil {
		return err
	}
	places := map[string]int{}
	name := func(s string) int {
		i, known := places[s]
		if !known {
			i = len(c.Names)
			places[s] = i
			c.Names = append(c.Names, s)
		}
		return i
	}
	for i := range r.Tables {
		t := &r.Tables[i]
		if len(t.Sources) > 0 {
			c.Sources[t.Name] = t.Sources
		}
		for j := range t.Rows {
			x := &t.Rows[j]
			if x.Engine == "" {
				continue // kernels measured alone
			}
			row := []any{name(x.Table), name(x.Engine), name(x.Version), name(x.GPU), name(x.Model),
				name(x.DType), x.TP, name(x.Quantity), name(x.Unit), digits(x.Predicted),
				digits(x.Measured), nil, nil, name(x.File), x.Line, name(x.Case), nil}
			if low, high, grade, ok := accuracy.Range(x); ok {
				row[11], row[12], row[16] = digits(low), digits(high), name(string(grade))
			}
			c.Rows = append(c.Rows, row)
		}
	}
	data, err := json.Marshal(&c) // escapes <, so that no table can end the script
	if err != nil {
		return err
	}
	before, after, _ := strings.Cut(page, placeholder)
	for _, part := range []string{before, string(data), after} {
		if _, err := io.WriteString(w, part); err != nil {
			return err
		}
	}
	return nil
}

// digits keeps four of them.
func digits(x float64) float64 {
	if x == 0 || math.IsInf(x, 0) || math.IsNaN(x) {
		return 0
	}
	unit := math.Pow(10, 3-math.Floor(math.Log10(math.Abs(x))))
	return math.Round(x*unit) / unit
}
