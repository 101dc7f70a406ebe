package answer

import (
	"encoding/csv"
	"io"
	"strconv"
)

// WriteCSV writes the outcome of every option, one row each, in the order of the menu.
func (a *Answer) WriteCSV(out io.Writer) error {
	w := csv.NewWriter(out)
	if err := w.Write([]string{"option", "outcome", "why",
		"bound_requests_per_second"}); err != nil {
		return err
	}
	for _, f := range a.Outcomes {
		row := []string{f.Label, f.Kind, f.Words,
			strconv.FormatFloat(f.Ceiling, 'g', -1, 64)}
		if err := w.Write(row); err != nil {
			return err
		}
	}
	w.Flush()
	return w.Error()
}
