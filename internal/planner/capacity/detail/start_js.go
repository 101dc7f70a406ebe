package detail

import (
	"github.com/llmsim/llmsim/internal/planner/capacity/answer"
	"github.com/llmsim/llmsim/scenarios"
)

// start sets nothing: a page in a browser writes no files that start servers.
func start(*answer.Deployment, *scenarios.Simulation) error { return nil }
