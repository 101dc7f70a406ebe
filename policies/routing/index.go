package routing

import (
	lru "container/list"
	"fmt"

	"github.com/llmsim/llmsim/internal/content"
	"github.com/llmsim/llmsim/policies/memory"
	"github.com/llmsim/llmsim/sim"
)

// Index is a router's knowledge of the KV blocks of replicas.
type Index struct {
	// Exact builds the index of what replicas report (vLLM's KV events; llm-d-kv-cache). Otherwise
	// it holds the prompts that were sent to each, as if they stayed there.
	Exact bool
	// Period is the time between two reports of a replica; 0 means that the index is always fresh.
	// A report is read when the first request after it is routed.
	Period sim.Time
	// Loss is the share of events that never come, in [0, 1].
	Loss float64
	// Remembered is the number of blocks remembered of those sent to a replica, the last used ones;
	// at least 1. It has no effect if Exact.
	Remembered int
	// Seed determines which events are lost.
	Seed uint64

	known  []known        // by replica
	events []memory.Event // of the last report, for reuse
	names  []uint64       // of the blocks of the request that is routed
	of     int            // tokens of such a block; 0 before they are named
}

// known is the router's knowledge of one replica.
type known struct {
	size    int      // tokens of a block: blockTokens until a replica reports
	due     sim.Time // when the next report comes; 0 unless Exact
	reports uint64   // so far
	// blocks has the names of the blocks that the replica is taken to have. If Exact, the values
	// are nil; otherwise they are the elements of order, and len(blocks) <= Remembered.
	blocks map[uint64]*lru.Element
	order  *lru.List // the last used blocks first; empty if Exact
}

// blockTokens is the size of blocks where replicas report nothing: vLLM's default, and
// gateway-api-inference-extension's (defaultBlockSizeTokens).
const blockTokens = 16

func (x *Index) check() error {
	if x.Period < 0 || !(x.Loss >= 0 && x.Loss <= 1) || x.Remembered < 1 {
		return fmt.Errorf("reports come each %v, a share of %g of them is lost and %d blocks are "+
			"remembered; want 0s or more, 0 to 1 and 1 or more", x.Period, x.Loss, x.Remembered)
	}
	return nil
}

// find counts the leading blocks of a prompt that a replica has as far as is known, of how many.
func (x *Index) find(replica int, r *sim.Request, pool *sim.Pool) (found, of int) {
	for len(x.known) <= replica {
		x.known = append(x.known, known{size: blockTokens, blocks: map[uint64]*lru.Element{},
			order: lru.New()})
	}
	k := &x.known[replica]
	if x.Exact && pool.Now() >= k.due {
		x.hear(replica, memory.Cache(pool.Memory(replica)))
		k.due = pool.Now() + x.Period
	}
	x.name(r, k.size)
	for found < len(x.names) {
		if _, there := k.blocks[x.names[found]]; !there {
			break
		}
		found++
	}
	return found, len(x.names)
}

// name names the blocks of a prompt, of the given number of tokens each.
func (x *Index) name(r *sim.Request, size int) {
	if x.of == size {
		return
	}
	x.names, x.of = memory.Names(x.names[:0], r.Content, size), size
}

// hear takes in what a replica reports, but for what is lost.
func (x *Index) hear(replica int, m *memory.PrefixCache) {
	if m == nil {
		return
	}
	k := &x.known[replica]
	k.size = m.BlockTokens()
	k.reports++
	report := content.Hash(x.Seed ^ content.Hash(uint64(replica)<<48^k.reports))
	x.events = m.Events(x.events[:0])
	for _, e := range x.events {
		switch draw := content.Hash(report ^ e.Name); {
		case float64(draw>>11)/(1<<53) < x.Loss: // all events of a block in a report, or no event
		case e.Stored:
			k.blocks[e.Name] = nil
		default:
			delete(k.blocks, e.Name)
		}
	}
}

// sent notes that a replica got the request, and that another one comes next.
func (x *Index) sent(replica int) {
	x.of = 0
	if x.Exact {
		return
	}
	k := &x.known[replica]
	for _, name := range x.names { // all replicas have blocks of the same size here
		if at := k.blocks[name]; at != nil {
			k.order.MoveToFront(at)
			continue
		}
		k.blocks[name] = k.order.PushFront(name)
		if len(k.blocks) > x.Remembered {
			delete(k.blocks, k.order.Remove(k.order.Back()).(uint64))
		}
	}
}
