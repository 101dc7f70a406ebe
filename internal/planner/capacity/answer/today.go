package answer

import (
	"fmt"

	"github.com/llmsim/llmsim/internal/report"
	"github.com/llmsim/llmsim/internal/units"
)

// Today is the deployment that serves now, beside the fleet of the answer. Both are simulated at
// the predicted speed, with all replicas up and with the same seeds.
type Today struct {
	Label        string `json:"label"`
	Replicas     int    `json:"replicas"`
	Accelerators int    `json:"accelerators"`
	// Hourly is its price an hour; nil where its accelerator has none.
	Hourly *float64 `json:"dollars_per_hour,omitempty"`
	// Kept is the share of requests after the warm-up that keep the part of the SLO that binds, and
	// Met whether the SLO is kept. AnswerKept and AnswerMet are those of the answer's fleet; nil
	// where there is none.
	Kept       float64  `json:"slo_attainment"`
	Met        bool     `json:"slo_met"`
	AnswerKept *float64 `json:"answer_slo_attainment,omitempty"`
	AnswerMet  *bool    `json:"answer_slo_met,omitempty"`
	// Saved is what the answer costs less an hour; nil where a price is missing.
	Saved *float64 `json:"saved_dollars_per_hour,omitempty"`
	// Changes are the settings that the answer has differently, and Steps what leads from one
	// fleet to the other, in order.
	Changes []string `json:"changes,omitempty"`
	Steps   []string `json:"steps,omitempty"`
}

// print prints the deployment beside the answer; nothing for nil.
func (t *Today) print(p *report.Printer, c units.Currency) {
	if t == nil {
		return
	}
	cost := "without a price"
	if t.Hourly != nil {
		cost = c.Cents(*t.Hourly) + " an hour"
	}
	p.Text(fmt.Sprintf("Today: %s of %s, %s. At the predicted speed with all replicas up, it %s "+
		"the SLO (%s)%s.", units.Plural(t.Replicas, "replica"), t.Label, cost, keepsOrMisses(t.Met),
		report.Percent(t.Kept), t.beside(c)))
	if t.Steps != nil {
		p.Text("What to change, in this order:")
	}
	for _, step := range t.Steps {
		p.Item(step)
	}
}

// beside says what the answer does with the same seeds.
func (t *Today) beside(c units.Currency) string {
	if t.AnswerKept == nil {
		return ""
	}
	words := fmt.Sprintf("; the answer %s it (%s)", keepsOrMisses(*t.AnswerMet),
		report.Percent(*t.AnswerKept))
	switch {
	case t.Saved == nil:
		return words
	case *t.Saved == 0:
		return words + " and costs the same"
	case *t.Saved < 0:
		return words + " and costs " + c.Cents(-*t.Saved) + " an hour more"
	}
	return words + " and costs " + c.Cents(*t.Saved) + " an hour less"
}

func keepsOrMisses(met bool) string {
	if met {
		return "keeps"
	}
	return "misses"
}
