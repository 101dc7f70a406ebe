package papers

import (
	"fmt"
	"math"

	"github.com/llmsim/llmsim/scenarios"

	"github.com/expr-lang/expr"
)

// accuracy is the ratio of rates at which the search ends.
const accuracy = 1.02

// search bisects, on a logarithmic scale, for the highest rate at which the condition holds, and
// returns the figures of the run at that rate; "rate" is one more.
func (c *Capacity) search(simulate func(rate scenarios.PerSecond) (figures, error)) (figures,
	error) {
	try := func(rate float64) (figures, bool, error) {
		f, err := simulate(scenarios.PerSecond(rate))
		if err != nil {
			return nil, false, err
		}
		f["rate"] = rate
		holds, err := evaluate(c.While, f)
		if err != nil {
			return nil, false, err
		}
		yes, isCondition := holds.(bool)
		if !isCondition {
			return nil, false, fmt.Errorf("while: %q is no condition", c.While)
		}
		return f, yes, nil
	}
	low, high := float64(c.From), float64(c.To)
	best, holds, err := try(low)
	if err == nil && !holds {
		return nil, fmt.Errorf("%s does not hold at the lowest rate, %v/s", c.While, low)
	}
	if _, holds, err := try(high); err != nil || holds {
		return nil, fmt.Errorf("%s holds at the highest rate, %v/s (%v)", c.While, high, err)
	}
	for err == nil && high/low > accuracy {
		middle := math.Sqrt(low * high)
		var f figures
		if f, holds, err = try(middle); holds {
			low, best = middle, f
		} else {
			high = middle
		}
	}
	return best, err
}

// evaluate computes an expression over figures; a name that there is not is an error.
func evaluate(expression string, env map[string]any) (any, error) {
	program, err := expr.Compile(expression, expr.Env(env))
	if err != nil {
		return nil, fmt.Errorf("%q: %w", expression, err)
	}
	return expr.Run(program, env)
}
