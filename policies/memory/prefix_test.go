package memory

import (
	"encoding/binary"
	"maps"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/sim"
)

// prefixTwin has every block, by number, and a queue of the blocks that nobody uses, the next to be
// overwritten first. Lower tiers are queues of names.
type prefixTwin struct {
	blockSize int
	// what each block and all before it hold; nothing at first, unnamed where nobody can ask for it
	names   []string
	users   []int
	queue   []int
	held    map[int64][]int
	lower   [][]string
	room    []int // in the lower tiers
	fetched []int // blocks that the last extend brought back from them
}

const nothing, unnamed = "", "unnamed"

func newPrefixTwin(capacity, blockSize int, room ...int) *prefixTwin {
	p := &prefixTwin{
		blockSize: blockSize, names: make([]string, capacity), users: make([]int, capacity),
		held:  map[int64][]int{},
		lower: make([][]string, len(room)), room: room, fetched: make([]int, len(room)),
	}
	for i := range capacity {
		p.queue = append(p.queue, i)
	}
	return p
}

func (p *prefixTwin) clone() twin {
	d := *p
	d.names, d.users, d.queue, d.held = slices.Clone(p.names), slices.Clone(p.users),
		slices.Clone(p.queue), maps.Clone(p.held)
	d.lower = slices.Clone(p.lower)
	for i := range d.lower {
		d.lower[i] = slices.Clone(d.lower[i])
	}
	return &d
}

func (p *prefixTwin) used() int64            { return int64(len(p.names) - len(p.queue)) }
func (p *prefixTwin) fits(tokens int) bool   { return p.count(tokens) <= len(p.names) }
func (p *prefixTwin) units(tokens int) int64 { return int64(p.count(tokens)) }
func (p *prefixTwin) join(*sim.Sequence)     {}

func (p *prefixTwin) count(tokens int) int { return (tokens + p.blockSize - 1) / p.blockSize }

// name says what the first tokens of s are, one by one.
func name(s *sim.Sequence, tokens int) string {
	var text []byte
	described := 0
	for _, segment := range s.Content {
		for i := range segment.Tokens {
			text = binary.AppendUvarint(append(text, 'c'), segment.ID)
			text = binary.AppendUvarint(text, uint64(i))
		}
		described += segment.Tokens
	}
	for i := range s.Prompt + s.Output - described {
		if described == s.Prompt && s.Answer != 0 {
			text = binary.AppendUvarint(append(text, 'c'), s.Answer)
		} else {
			text = binary.AppendUvarint(append(text, 'o'), uint64(s.ID))
		}
		text = binary.AppendUvarint(text, uint64(i))
	}
	at := 0
	for range tokens {
		for range 2 {
			at++
			for text[at]&0x80 != 0 {
				at++
			}
		}
		at++
	}
	return string(text[:at])
}

func (p *prefixTwin) find(name string) int {
	return slices.IndexFunc(p.names, func(other string) bool { return other == name })
}

func (p *prefixTwin) match(s *sim.Sequence) int {
	n := 0
	for n+p.blockSize <= s.Prompt+s.Generated-1 {
		next := name(s, n+p.blockSize)
		if p.find(next) < 0 && p.tier(next) < 0 {
			break
		}
		n += p.blockSize
	}
	return n
}

// tier returns the lower tier that has a name, or -1.
func (p *prefixTwin) tier(name string) int {
	return slices.IndexFunc(p.lower, func(names []string) bool {
		return slices.Contains(names, name)
	})
}

func (p *prefixTwin) forget(tier int, name string) {
	p.lower[tier] = slices.DeleteFunc(p.lower[tier], func(other string) bool {
		return other == name
	})
}

// demote moves a name to a lower tier, and what has no room there further down.
func (p *prefixTwin) demote(name string, to int) {
	if to == len(p.lower) || name == nothing {
		return
	}
	p.lower[to] = append(p.lower[to], name)
	if len(p.lower[to]) > p.room[to] {
		first := p.lower[to][0]
		p.lower[to] = p.lower[to][1:]
		p.demote(first, to+1)
	}
}

func (p *prefixTwin) use(block int) {
	if p.users[block]++; p.users[block] == 1 {
		p.queue = slices.DeleteFunc(p.queue, func(other int) bool { return other == block })
	}
}

func (p *prefixTwin) take() int {
	block := p.queue[0]
	p.demote(p.names[block], 0)
	p.names[block] = nothing
	p.use(block)
	return block
}

// label names the blocks that are full with the given number of tokens. A copy is dropped for the
// block that was there before.
func (p *prefixTwin) label(s *sim.Sequence, tokens int) {
	for i, block := range p.held[s.ID] {
		if (i+1)*p.blockSize > tokens {
			return
		}
		n := name(s, (i+1)*p.blockSize)
		if other := p.find(n); other >= 0 && other != block {
			p.use(other)
			p.held[s.ID][i] = other
			p.users[block]--
			p.queue = slices.Insert(p.queue, 0, block)
		}
		if tier := p.tier(n); tier >= 0 {
			p.forget(tier, n)
		}
		p.names[p.held[s.ID][i]] = n
	}
}

func (p *prefixTwin) extend(s *sim.Sequence, n int, reserve int64) bool {
	var hits []int
	var fetch []string
	free := len(p.queue)
	if p.held[s.ID] == nil {
		for tokens := p.blockSize; tokens <= s.Stored; tokens += p.blockSize {
			block := p.find(name(s, tokens))
			if block < 0 {
				fetch = append(fetch, name(s, tokens))
				continue
			}
			hits = append(hits, block)
			if p.users[block] == 0 {
				free--
			}
		}
	}
	need := max(0, p.count(s.Stored+n)-len(p.held[s.ID])-len(hits))
	if int64(free-need) < reserve {
		return false
	}
	clear(p.fetched)
	for _, name := range fetch {
		tier := p.tier(name)
		p.fetched[tier]++
		p.forget(tier, name)
	}
	for _, block := range hits {
		p.use(block)
	}
	held := slices.Concat(p.held[s.ID], hits)
	for i := range need {
		held = append(held, p.take())
		if i < len(fetch) {
			p.names[held[len(held)-1]] = fetch[i]
		}
	}
	p.held[s.ID] = held
	sure := s.Prompt
	if s.Preemptions > 0 {
		sure += s.Generated
	}
	p.label(s, min(s.Stored+n, sure))
	return true
}

func (p *prefixTwin) step(decoding []*sim.Sequence) bool {
	for _, s := range decoding {
		if p.count(s.Stored+1) > len(p.held[s.ID]) {
			if len(p.queue) == 0 {
				return false
			}
			p.held[s.ID] = append(slices.Clone(p.held[s.ID]), p.take())
		}
	}
	return true
}

func (p *prefixTwin) release(s *sim.Sequence, done bool) {
	if !done || s.Answer != 0 {
		p.label(s, s.Stored)
	}
	for _, block := range slices.Backward(p.held[s.ID]) {
		if p.names[block] == nothing {
			p.names[block] = unnamed
		}
		if p.users[block]--; p.users[block] == 0 {
			p.queue = append(p.queue, block)
		}
	}
	delete(p.held, s.ID)
}

// The prefix cache finds, shares and forgets what blocks with names of their own in queues would,
// and fetches as much from each lower tier.
func prefixCacheEqualsTwin(t *rapid.T) {
	block := rapid.SampledFrom([]int{1, 4, 16}).Draw(t, "block")
	capacity := rapid.IntRange(1, 400/block).Draw(t, "capacity")
	room := rapid.SliceOfN(rapid.IntRange(1, 300/block), 0, 2).Draw(t, "lower")
	var tiers []Tier
	for i, blocks := range room {
		tiers = append(tiers, Tier{int64(blocks), fetchTimes[i]})
	}
	p, err := NewPrefixCache(int64(capacity), block, tiers...)
	testkit.OK(t, err)
	m := machine{memory: p, twin: newPrefixTwin(capacity, block, room...), request: drawRequest}
	m.run(t)
}

var fetchTimes = []sim.Time{1, 1000}

func TestPrefixCacheEqualsTwin(t *testing.T) { rapid.Check(t, prefixCacheEqualsTwin) }

func FuzzPrefixCacheEqualsTwin(f *testing.F) { f.Fuzz(rapid.MakeFuzz(prefixCacheEqualsTwin)) }
