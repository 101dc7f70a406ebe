package memory

import (
	"github.com/llmsim/llmsim/internal/content"
	"github.com/llmsim/llmsim/sim"
)

// Event says that a full block was stored, or dropped from all tiers, as engines publish it (vLLM
// v0.15: vllm/distributed/kv_events.py, BlockStored and BlockRemoved).
type Event struct {
	// Name identifies the tokens of the block and all before it, see Names.
	Name   uint64
	Stored bool
}

// journal records events from the first call of Events on.
type journal struct {
	block  int // tokens of a block
	on     bool
	events []Event // since the last call of Events; empty unless on
}

// record records that the blocks of a passage that begin after the given number of its tokens were
// stored or dropped. An empty passage makes no events: no request can ask for its blocks.
func (j *journal) record(p *passage, tokens int, blocks int64, stored bool) {
	if !j.on || len(p.list) == 0 {
		return
	}
	at := p.seek(tokens)
	for range blocks {
		j.events = append(j.events, Event{at.Name(p.list, j.block), stored})
		at.Skip(p.list, j.block)
	}
}

// Names appends the names of the full blocks of a text to a list, in order.
func Names(list []uint64, text []sim.Segment, block int) []uint64 {
	return content.Names(list, text, block)
}
