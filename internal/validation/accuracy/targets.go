package accuracy

import (
	_ "embed"
	"encoding/csv"
	"fmt"
	"strconv"
	"strings"
	"sync"
)

//go:embed targets.csv
var targetsCSV string

// Target is the error that predictions of a quantity should not exceed, over the rows of one table.
type Target struct {
	Table string `json:"table"`
	// Engine, the beginning of a preset's name, and Model choose rows; empty ones choose all.
	Engine   string `json:"engine,omitempty"`
	Model    string `json:"model,omitempty"`
	Quantity string `json:"quantity"`
	// AtMost is the largest median absolute error, in percent.
	AtMost float64 `json:"at_most_pct"`
	// Peer is what the best other simulator reaches on the same rows.
	Peer string `json:"peer"`
}

// Targets lists what we hold ourselves to.
var Targets = sync.OnceValue(func() []Target {
	records, err := csv.NewReader(strings.NewReader(targetsCSV)).ReadAll()
	if err != nil {
		panic(fmt.Sprintf("validation: targets.csv: %v", err)) // it is part of the program
	}
	var list []Target
	for _, r := range records[1:] {
		most, err := strconv.ParseFloat(r[4], 64)
		if err != nil {
			panic(fmt.Sprintf("validation: targets.csv: %v", err))
		}
		list = append(list, Target{r[0], r[1], r[2], r[3], most, r[5]})
	}
	return list
})

// TargetResult is a target beside what was reached.
type TargetResult struct {
	Target
	N int `json:"n"`
	// Median is the median absolute error, in percent.
	Median float64 `json:"median_ape_pct"`
	Met    bool    `json:"met"`
}

// Targets returns those for which the report has rows.
func (r *Report) Targets() []TargetResult {
	var list []TargetResult
	for _, target := range Targets() {
		if rows := r.Rows(target.chooses); len(rows) > 0 {
			s := SumUp(rows)
			list = append(list, TargetResult{target, s.N, s.Median, s.Median <= target.AtMost})
		}
	}
	return list
}

func (t *Target) chooses(c *Comparison) bool {
	return c.Table == t.Table && c.Quantity == t.Quantity &&
		strings.HasPrefix(c.Engine, t.Engine) && (t.Model == "" || c.Model == t.Model)
}
