package batching

import (
	"fmt"
	"math"
)

// NewOrca returns the scheduler of Orca, for at most maxBatch requests at once: requests leave the
// batch when they are complete, and others join in order of arrival, with whole prompts that are
// computed in the same step in which the others decode (selective batching: Yu et al., OSDI 2022,
// sections 3 and 4).
//
// Orca reserves KV memory for the whole request when it joins: use it with a memory that does. With
// one that does not, the newest is preempted and computed again.
func NewOrca(maxBatch int) (*Continuous, error) {
	if maxBatch < 1 {
		return nil, fmt.Errorf("max-batch is %d, want at least 1", maxBatch)
	}
	return &Continuous{limits: Limits{MaxSequences: maxBatch, TokenBudget: math.MaxInt},
		waiting: &fifo{}, whole: true}, nil
}
