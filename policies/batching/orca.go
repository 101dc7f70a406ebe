package batching

import (
	"fmt"
	"math"
)

// NewOrca returns the scheduler of Orca, for at most maxBatch requests at once. Requests leave the
// batch when they are complete, and others join in order of arrival. Whole prompts are computed in
// the steps in which other requests decode (selective batching: Yu et al., OSDI 2022, sections 3
// and 4).
//
// Orca reserves KV memory for the whole request when it joins, so use it with a memory that does
// so. With another memory, the newest request is preempted and computed again when memory runs out.
func NewOrca(maxBatch int) (*Continuous, error) {
	if maxBatch < 1 {
		return nil, fmt.Errorf("max-batch is %d, want at least 1", maxBatch)
	}
	return &Continuous{limits: Limits{MaxSequences: maxBatch, TokenBudget: math.MaxInt},
		waiting: &fifo{}, whole: true}, nil
}
