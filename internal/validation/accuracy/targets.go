package accuracy

import (
	_ "embed"
	"strings"
	"sync"

	"github.com/llmsim/llmsim/internal/files"
)

//go:embed targets.csv
var targetsCSV string

// Target is the error that predictions of a quantity should not exceed, over the rows of one table.
type Target struct {
	Table string `json:"table" csv:"table"`
	// Engine, the beginning of a preset's name, and Model choose rows; empty ones choose all.
	Engine   string `json:"engine,omitempty" csv:"engine"`
	Model    string `json:"model,omitempty" csv:"model"`
	Quantity string `json:"quantity" csv:"quantity"`
	// AtMost is the largest median absolute error, in percent.
	AtMost float64 `json:"at_most_pct" csv:"at_most_pct"`
	// Peer is what the best other simulator reaches on the same rows.
	Peer string `json:"peer" csv:"peer"`
}

// Targets lists what we hold ourselves to.
var Targets = sync.OnceValue(func() []Target {
	return files.MustReadTable[Target]("targets.csv", targetsCSV)
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
