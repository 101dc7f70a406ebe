package memory

import "github.com/llmsim/llmsim/internal/prefix"

// Event says that a full block was stored, or dropped from all tiers, as engines publish it (vLLM
// v0.15: vllm/distributed/kv_events.py, BlockStored and BlockRemoved).
type Event struct {
	// Name stands for the tokens of the block and all before it, see Names.
	Name   uint64
	Stored bool
}

// journal is what happened to runs of blocks, in order.
type journal []change

// change is what happened to a run of blocks.
type change struct {
	name, before, segment uint64 // of the first block, see runNode
	offset                int
	blocks                int64
	stored                bool
}

// events appends what happened to each block, of the given number of tokens, to a list.
func (j journal) events(list []Event, block int) []Event {
	for _, c := range j {
		for k := range int(c.blocks) {
			if c.offset >= 0 {
				c.name = prefix.BlockName(c.before, c.segment, c.offset+k*block)
			}
			list = append(list, Event{c.name, c.stored})
		}
	}
	return list
}
