package validation

import (
	_ "embed"
	"encoding/json"
	"io"
	"math"
	"strings"

	"github.com/llmsim/llmsim/internal/validation/accuracy"
)

//go:embed page.html
var siteTemplate string

// placeholder is where the page has its data.
const placeholder = "/*DATA*/"

// content is what the page shows. Names are listed once, and rows refer to them by place.
type sitePage struct {
	Names []string              `json:"names"`
	Rows  [][]any               `json:"rows"`
	Goals []accuracy.GoalResult `json:"goals"`
	// Sources are the sources that tables name, by table.
	Sources map[string][]string `json:"sources"`
	// History are the errors of goals left out of each fit of the constants.
	History history `json:"history"`
}

// WriteSite writes a page that shows how wrong predictions are: one file that works without a
// network, with every row predicted and measured, its range and its source.
func WriteSite(w io.Writer, r *accuracy.Report) error {
	c := sitePage{Goals: r.Goals(), Sources: map[string][]string{},
		History: history{accuracy.Fits(), map[string][]*float64{}}}
	for _, g := range accuracy.AllGoals() {
		c.History.Errors[g.Name+"\n"+g.Quantity] = g.Past
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
	before, after, _ := strings.Cut(siteTemplate, placeholder)
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

// history holds what fits of the constants reached on rows whose engine, GPU and model together
// were left out of the fit.
type history struct {
	// Fits are the times of the fits, the oldest first.
	Fits []string `json:"fits"`
	// Errors are median absolute errors in percent by goal and quantity, separated by a line break,
	// one for each fit; nil where the fit did not have the rows.
	Errors map[string][]*float64 `json:"errors"`
}
