package judge

import (
	"fmt"

	"github.com/llmsim/llmsim/internal/planner/capacity/asked"
	"github.com/llmsim/llmsim/internal/planner/capacity/candidate"
	"github.com/llmsim/llmsim/policies"
	"github.com/llmsim/llmsim/scenarios"
)

// CheckScalings builds a fleet in each way of scaling, so that a policy or parameter that is not
// known is refused before anything is simulated.
func (j *Judge) CheckScalings(options []*candidate.Option) error {
	f := j.Trials.File
	done := map[int]bool{}
	for _, o := range options {
		if !o.Scaled() || done[o.Scaling.Index] || o.Unfit() != "" {
			continue
		}
		done[o.Scaling.Index] = true
		file, err := f.File(o.Scenario(&f.Plan.Menu, j.Fewest(o), 1), 0, asked.Probes)
		if err != nil {
			return err
		}
		file.Clocks = j.Trials.Clocks
		simulation, err := file.Build(policies.Default())
		if err == nil {
			err = simulation.Source.Close()
		}
		if scenarios.IsInputError(err) {
			return scenarios.BadInput(fmt.Errorf("%s: menu.scaling: %s: %s", f.Name,
				f.Plan.Menu.ScalingWords(o.Scaling.Index), asked.Reason(err)))
		}
		if err != nil {
			return err
		}
	}
	return nil
}
