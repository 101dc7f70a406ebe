package site

import (
	"encoding/csv"
	"fmt"
	"strconv"
	"strings"
)

// history holds what fits of the constants reached on rows whose engine, GPU and model together
// were left out of the fit.
type history struct {
	// Fits are the times of the fits, the oldest first.
	Fits []string `json:"fits"`
	// Errors are median absolute errors in percent by goal and quantity, separated by a line break,
	// one for each fit; nil where the fit did not have the rows.
	Errors map[string][]*float64 `json:"errors"`
}

// readHistory reads history.csv: a goal and a quantity in each line, and one error for each fit.
func readHistory(text string) (history, error) {
	records, err := csv.NewReader(strings.NewReader(text)).ReadAll()
	if err != nil {
		return history{}, fmt.Errorf("history.csv: %w", err)
	}
	h := history{Fits: records[0][2:], Errors: map[string][]*float64{}}
	for i, r := range records[1:] {
		list := make([]*float64, len(h.Fits))
		for j, field := range r[2:] {
			if field == "" {
				continue
			}
			x, err := strconv.ParseFloat(field, 64)
			if err != nil {
				return history{}, fmt.Errorf("history.csv, line %d: %w", i+2, err)
			}
			list[j] = &x
		}
		h.Errors[r[0]+"\n"+r[1]] = list
	}
	return h, nil
}
