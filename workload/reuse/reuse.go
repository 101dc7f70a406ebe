// Package reuse computes which share of the prompts of a trace caches of any size find again. It
// knows neither time nor servers: requests come one at a time, in order.
package reuse

import (
	"container/heap"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"

	"github.com/llmsim/llmsim/internal/content"
	"github.com/llmsim/llmsim/sim"
	"github.com/llmsim/llmsim/workload"
	"github.com/llmsim/llmsim/workload/trace"
)

// Curve is the blocks of the prompts of a trace, and how large a cache has to be to find them.
type Curve struct {
	// Requests and Blocks are the numbers of requests and of their blocks, and Distinct the number
	// of different blocks.
	Requests int `json:"requests"`
	Blocks   int `json:"blocks"`
	Distinct int `json:"distinct_blocks"`
	// BlockTokens is the number of tokens of a block; 0 where the trace says which blocks prompts
	// have, and not how large they are.
	BlockTokens int   `json:"block_tokens,omitzero"`
	needed      []int // by the size from which on a cache finds them, the numbers of blocks

	blocks []int32 // of all requests, as numbers from 0
	ends   []int   // in blocks, of each request
}

// most is the largest number of blocks of a trace.
const most = 1 << 25

// blockTokens is the size of blocks of recorded sessions, vLLM's default.
const blockTokens = 16

// Read reads a trace whose prompts are lists of blocks, such as Mooncake's, or of recorded
// sessions, whose prompts repeat what was said before. Sessions have full blocks of 16 tokens, and
// answers that come at once; those without times come one after another.
func Read(path string, o trace.Options) (*Curve, error) {
	r, err := trace.Open(path, o)
	if failed, ok := errors.AsType[*fs.PathError](err); ok {
		return nil, fmt.Errorf("%s: %w", path, failed.Err)
	}
	if err != nil {
		return nil, err
	}
	defer r.Close()
	c, numbers := &Curve{}, map[uint64]int32{}
	if r.Sessions() {
		c.BlockTokens = blockTokens
		err = c.readSessions(path, o, r.Timed(), numbers)
	} else {
		err = c.readBlocks(path, r, numbers)
	}
	if err != nil {
		return nil, err
	}
	if len(c.blocks) == 0 {
		return nil, fmt.Errorf("%s: found no blocks (hash_ids, or sessions with prompts of %d "+
			"tokens); what prompts share is not known of other traces", path, blockTokens)
	}
	c.Requests, c.Blocks, c.Distinct = len(c.ends), len(c.blocks), len(numbers)
	c.measure()
	return c, nil
}

// readBlocks reads requests whose prompts are lists of blocks.
func (c *Curve) readBlocks(path string, r *trace.Reader, numbers map[uint64]int32) error {
	var q sim.Request
	err := r.Read(&q)
	for ; err == nil; err = r.Read(&q) {
		for i := range q.Content {
			c.use(q.Content[i].ID, numbers)
		}
		if len(c.blocks) > most {
			return tooMany(path)
		}
		c.ends = append(c.ends, len(c.blocks))
	}
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// readSessions reads recorded sessions.
func (c *Curve) readSessions(path string, o trace.Options, timed bool,
	numbers map[uint64]int32) error {
	config := workload.Config{Trace: &workload.Trace{Path: path, Options: o}}
	if !timed {
		config.Users = &workload.Users{Count: 1}
	}
	source, err := workload.Open(config)
	if err != nil {
		return err
	}
	defer source.Close()
	var q sim.Request
	var names []uint64
	for source.NextArrival() != sim.Never {
		source.Next(&q)
		if len(c.blocks)+q.Prompt/blockTokens > most {
			return tooMany(path)
		}
		names = content.Names(names[:0], q.Content, blockTokens)
		for _, name := range names {
			c.use(name, numbers)
		}
		c.ends = append(c.ends, len(c.blocks))
		source.Done(&q, q.Arrival)
	}
	return source.Err()
}

// use adds a block to the prompt that is read.
func (c *Curve) use(name uint64, numbers map[uint64]int32) {
	number, known := numbers[name]
	if !known {
		number = int32(len(numbers))
		numbers[name] = number
	}
	c.blocks = append(c.blocks, number)
}

func tooMany(path string) error { return fmt.Errorf("%s: found more than %d blocks", path, most) }

// each calls f with the blocks of each request, in order.
func (c *Curve) each(f func(request int, blocks []int32)) {
	begin := 0
	for i, end := range c.ends {
		f(i, c.blocks[begin:end])
		begin = end
	}
}

// measure computes from which size on a cache finds each block, if it keeps the blocks that were
// used last: one that holds the block and all before it in the prompt (Mattson et al., IBM Systems
// Journal 9(2), 1970). The end of a prompt counts as used before its beginning.
func (c *Curve) measure() {
	c.needed = make([]int, c.Distinct+1)
	last, now := make([]int, c.Distinct), 0 // the time of the last use, from 1; 0 for never
	used := make(sums, c.Blocks+1)          // 1 at the time of the last use of each block
	seen := 0
	c.each(func(_ int, blocks []int32) {
		size := 0
		for _, b := range blocks {
			if last[b] == 0 {
				break
			}
			size = max(size, 1+seen-used.upTo(last[b]))
			c.needed[size]++
		}
		for i := len(blocks) - 1; i >= 0; i-- {
			b := blocks[i]
			if now++; last[b] > 0 {
				used.add(last[b], -1)
			} else {
				seen++
			}
			used.add(now, 1)
			last[b] = now
		}
	})
}

// sums are sums of numbers by place, from 1 (Fenwick, Software: Practice and Experience 24(3),
// 1994).
type sums []int32

func (s sums) add(at int, n int32) {
	for ; at < len(s); at += at & -at {
		s[at] += n
	}
}

func (s sums) upTo(at int) (sum int) {
	for ; at > 0; at -= at & -at {
		sum += int(s[at])
	}
	return sum
}

// Found returns the number of blocks that a cache of the given number of blocks finds, if it keeps
// the blocks that were used last.
func (c *Curve) Found(size int) (blocks int) {
	for _, n := range c.needed[:min(size, c.Distinct)+1] {
		blocks += n
	}
	return blocks
}

// Bound returns the number of blocks that a cache of the given size finds if it keeps the blocks
// that are used next (Belady, IBM Systems Journal 5(2), 1966). No cache of that size finds more.
func (c *Curve) Bound(size int) (found int) {
	next := c.nexts()
	kept := make([]int, c.Distinct) // by block, the request that uses it next, from 1
	var furthest later
	count, at := 0, 0
	c.each(func(_ int, blocks []int32) {
		hit := true
		for depth, b := range blocks {
			if hit = hit && kept[b] > 0; hit {
				found++
			}
			if kept[b] == 0 {
				count++
			}
			kept[b] = next[at]
			heap.Push(&furthest, use{next[at], depth, b})
			at++
		}
		for count > size {
			if u := heap.Pop(&furthest).(use); kept[u.block] == u.next {
				kept[u.block] = 0
				count--
			}
		}
	})
	return found
}

// nexts returns, for each block of each request, the number of the next request that has it, from
// 1.
func (c *Curve) nexts() []int {
	next, coming := make([]int, c.Blocks), make([]int, c.Distinct)
	at := c.Blocks
	for request := c.Requests; request > 0; request-- {
		begin := 0
		if request > 1 {
			begin = c.ends[request-2]
		}
		for i := begin; i < at; i++ {
			if next[i] = coming[c.blocks[i]]; next[i] == 0 {
				next[i] = math.MaxInt
			}
		}
		for _, b := range c.blocks[begin:at] {
			coming[b] = request
		}
		at = begin
	}
	return next
}

// use is the next use of a block, at a depth in its prompt.
type use struct {
	next, depth int
	block       int32
}

// later is a heap of uses with the latest, and deepest, first.
type later []use

func (l later) Len() int { return len(l) }
func (l later) Less(i, j int) bool {
	return l[i].next > l[j].next || l[i].next == l[j].next && l[i].depth > l[j].depth
}
func (l later) Swap(i, j int) { l[i], l[j] = l[j], l[i] }
func (l *later) Push(x any)   { *l = append(*l, x.(use)) }
func (l *later) Pop() any {
	last := len(*l) - 1
	u := (*l)[last]
	*l = (*l)[:last]
	return u
}
