package detail

import (
	"github.com/llmsim/llmsim/internal/planner/capacity/answer"
	"github.com/llmsim/llmsim/scenarios"
)

// start says which command writes the files that start the fleet: a page in a browser writes none.
func start(d *answer.Deployment, _ *scenarios.Simulation) error {
	d.Unstartable = "this page writes none; llmsim plan --emit does"
	return nil
}

// serving adds nothing, for the same reason.
func (*Fleet) serving(*scenarios.Simulation, *answer.Measurement) error { return nil }
