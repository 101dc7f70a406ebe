package diagnosis

import (
	"github.com/llmsim/llmsim/scenarios"
)

// Document is what `llmsim scenario --format json` prints and summary.json holds: the figures of a
// run, and what they mean. scenarios/result.schema.json describes it.
type Document struct {
	*scenarios.Result
	// Insights say in sentences what the figures mean.
	Insights []string `json:"insights"`
}

// NewDocument returns the document of a result.
func NewDocument(r *scenarios.Result) Document { return Document{r, Of(r)} }
