package menu

import (
	"fmt"

	"github.com/llmsim/llmsim/scenarios"
	"github.com/llmsim/llmsim/scenarios/strict"
)

// Job is a number of requests that all wait at the start, and must be answered within a time.
type Job struct {
	Within   scenarios.Span `json:"within" above:"0" required:"true" jsonschema:"The time in which the job must be done, such as 8h."`
	Requests int64          `json:"requests,omitempty" min:"1" max:"1000000000" jsonschema:"The number of requests."`
	Tokens   int64          `json:"tokens,omitempty" min:"1" jsonschema:"The number of tokens of prompts and answers together, in place of requests."`
}

// check reports contradictions between a job and the rest of a plan.
func (j *Job) check(p *Plan, doc *strict.Document,
	problem func(field, format string, args ...any)) {
	if (j.Requests == 0) == (j.Tokens == 0) {
		problem("job", "give either requests or tokens")
	}
	for _, key := range []string{"models", "goal", "slo", "fleet", "workload.rate",
		"workload.arrivals", "workload.requests", "workload.duration", "workload.sessions"} {
		if doc.Has(key) {
			problem(key, "has no meaning for a job, whose requests all wait at the start; leave "+
				"it out")
		}
	}
	for i := range p.Workload.Classes {
		if highest(&p.Workload.Classes[i].Rate) > 0 {
			problem(fmt.Sprintf("workload.classes.%d.rate", i), "has no meaning for a job; give "+
				"each class a weight instead")
		}
	}
}
