package detail

import (
	"context"
	"errors"

	"github.com/llmsim/llmsim/internal/planner/capacity/answer"
	"github.com/llmsim/llmsim/scenarios"
)

// lead refuses a deployment beside the answer, which no page in a browser asks for.
func lead(context.Context, *Fleet, *answer.Today, *scenarios.Simulation) error {
	return errors.New("a page in a browser compares no deployment of today")
}
