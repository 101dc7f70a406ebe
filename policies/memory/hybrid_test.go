package memory

import (
	"maps"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/sim"
)

// hybridTwin has every block of the layers that grow by its name, and a queue of all that nobody
// uses, the next to be overwritten first. What else a sequence has is a number of units.
type hybridTwin struct {
	windowedTwin
	states bool
	free   int64
	queue  []entry
	users  map[string]int
	held   map[int64]heldBy
}

// entry is something that nobody uses: a block, a checkpoint, or what nobody can ask for.
type entry struct {
	name  string
	units int64
}

type heldBy struct {
	names  []string
	others int64
}

func (h *hybridTwin) clone() twin {
	d := *h
	d.queue, d.users, d.held = slices.Clone(h.queue), maps.Clone(h.users), maps.Clone(h.held)
	return &d
}

func (h *hybridTwin) shares() bool {
	return h.layers.Full > 0 && (h.layers.Fixed == 0 || h.states)
}

func (h *hybridTwin) available() int64 {
	n := h.free
	for _, e := range h.queue {
		n += e.units
	}
	return n
}

func (h *hybridTwin) used() int64 { return h.all() - h.available() }

func (h *hybridTwin) at(name string) int {
	return slices.IndexFunc(h.queue,
		func(e entry) bool { return e.name == name && name != unnamed })
}

func (h *hybridTwin) stored(name string) bool { return h.users[name] > 0 || h.at(name) >= 0 }

func (h *hybridTwin) take(n int64) {
	for h.free < n {
		h.free += h.queue[0].units
		h.queue = h.queue[1:]
	}
	h.free -= n
}

func (h *hybridTwin) use(name string) {
	if h.users[name]++; h.users[name] == 1 {
		i := h.at(name)
		h.queue = slices.Delete(slices.Clone(h.queue), i, i+1)
	}
}

// ends lists the blocks after which, or in which, segments of the text of s end.
func (h *hybridTwin) ends(s *sim.Sequence) []int {
	var ends []int
	tokens := 0
	for _, segment := range s.Content {
		tokens += segment.Tokens
		ends = append(ends, tokens/h.blockSize)
	}
	if s.Preemptions > 0 {
		ends = append(ends, (s.Prompt+s.Output)/h.blockSize)
	}
	slices.Sort(ends)
	return slices.Compact(ends)
}

func (h *hybridTwin) checkpoint(s *sim.Sequence, blocks int) string {
	return "after " + name(s, blocks*h.blockSize)
}

func (h *hybridTwin) match(s *sim.Sequence) int {
	if !h.shares() {
		return 0
	}
	n := 0
	for (n+1)*h.blockSize <= s.Prompt+s.Generated-1 && h.stored(name(s, (n+1)*h.blockSize)) {
		n++
	}
	best := 0
	for _, end := range append(h.ends(s), n) {
		if end <= n && h.at(h.checkpoint(s, end)) >= 0 {
			best = max(best, end)
		}
	}
	return best * h.blockSize
}

func (h *hybridTwin) touch(name string) {
	if i := h.at(name); i >= 0 {
		e := h.queue[i]
		h.queue = append(slices.Delete(slices.Clone(h.queue), i, i+1), e)
	}
}

func (h *hybridTwin) storeCheckpoint(s *sim.Sequence, blocks int, owned *int64) {
	name := h.checkpoint(s, blocks)
	if h.at(name) >= 0 {
		h.touch(name)
		return
	}
	units := h.units(blocks*h.blockSize) - int64(blocks*h.layers.Full)
	switch {
	case owned != nil && *owned >= units:
		*owned -= units
	case h.available() < units:
		return
	default:
		h.take(units)
	}
	h.queue = append(slices.Clone(h.queue), entry{name, units})
}

func (h *hybridTwin) extend(s *sim.Sequence, n int, reserve int64) bool {
	full := int64(h.layers.Full)
	mine, there := h.held[s.ID]
	var unused int64
	if !there {
		for tokens := h.blockSize; tokens <= s.Stored; tokens += h.blockSize {
			mine.names = append(mine.names, name(s, tokens))
			if h.users[name(s, tokens)] == 0 {
				unused += full
			}
		}
	}
	need := max(0, h.units(s.Stored+n)-mine.others-int64(len(mine.names))*full)
	if h.available()-unused-need < reserve {
		return false
	}
	if !there {
		for _, block := range mine.names {
			h.use(block)
		}
		if s.Stored > 0 {
			h.touch(h.checkpoint(s, s.Stored/h.blockSize))
		}
	}
	h.take(need)
	mine.others += need
	sure := min(s.Stored+n, s.Prompt+s.Generated)
	h.label(s, &mine, min(sure, h.described(s)))
	if h.shares() && (there || s.Swapped == 0) {
		for _, end := range h.ends(s) {
			if end > s.Stored/h.blockSize && end <= sure/h.blockSize {
				h.storeCheckpoint(s, end, nil)
			}
		}
	}
	h.held[s.ID] = mine
	return true
}

// described returns how many tokens of s may be found again.
func (h *hybridTwin) described(s *sim.Sequence) int {
	if s.Preemptions > 0 {
		return s.Prompt + s.Output
	}
	n := 0
	for _, segment := range s.Content {
		n += segment.Tokens
	}
	return n
}

func (h *hybridTwin) label(s *sim.Sequence, mine *heldBy, tokens int) {
	if !h.shares() {
		return
	}
	mine.names = slices.Clone(mine.names)
	for (len(mine.names)+1)*h.blockSize <= tokens {
		block := name(s, (len(mine.names)+1)*h.blockSize)
		mine.others -= int64(h.layers.Full)
		if h.stored(block) {
			h.use(block)
			h.free += int64(h.layers.Full)
		} else {
			h.users[block] = 1
		}
		mine.names = append(mine.names, block)
	}
}

func (h *hybridTwin) step(decoding []*sim.Sequence) bool {
	for _, s := range decoding {
		mine := h.held[s.ID]
		grown := h.units(s.Stored+1) - h.units(s.Stored)
		if grown > h.available() {
			return false
		}
		h.take(grown)
		mine.others += grown
		h.held[s.ID] = mine
	}
	return true
}

func (h *hybridTwin) release(s *sim.Sequence, done bool) {
	mine := h.held[s.ID]
	if h.shares() && (!done || s.Answer != 0) {
		h.label(s, &mine, s.Stored)
		if end := s.Stored / h.blockSize; end > 0 {
			h.storeCheckpoint(s, end, &mine.others)
		}
	}
	for range mine.others {
		h.queue = append(h.queue, entry{unnamed, 1})
	}
	for _, block := range slices.Backward(mine.names) {
		if h.users[block]--; h.users[block] == 0 {
			h.queue = append(h.queue, entry{block, int64(h.layers.Full)})
		}
	}
	delete(h.held, s.ID)
}

// The hybrid memory finds, shares and forgets what blocks and checkpoints with names of their own
// in one queue would.
func hybridEqualsTwin(t *rapid.T) {
	block := rapid.SampledFrom([]int{1, 4, 16}).Draw(t, "block")
	capacity := rapid.IntRange(1, 400/block).Draw(t, "capacity")
	layers := rapid.SampledFrom([]Layers{
		{Full: 1, Windowed: 1, Window: 9}, {Full: 1, Windowed: 5, Window: 30},
		{Full: 3, Windowed: 2, Window: 1},
		{Full: 1, Window: 1, Fixed: 20}, {Full: 2, Windowed: 1, Window: 20, Fixed: 30},
		{Windowed: 1, Window: 20},
	}).Draw(t, "layers")
	states := rapid.Bool().Draw(t, "states")
	h, err := NewHybrid(int64(capacity), block, layers, states)
	testkit.OK(t, err)
	twin := &hybridTwin{
		windowedTwin: windowedTwin{pagedTwin{block, capacity, nil}, layers}, states: states,
		users: map[string]int{}, held: map[int64]heldBy{},
	}
	twin.free = twin.all()
	m := machine{memory: h, twin: twin, request: drawRequest}
	m.run(t)
}

func TestHybridEqualsTwin(t *testing.T) { rapid.Check(t, hybridEqualsTwin) }

func FuzzHybridEqualsTwin(f *testing.F) { f.Fuzz(rapid.MakeFuzz(hybridEqualsTwin)) }

// A second prompt with the same system prompt goes on at its end, although the window of the first
// has long passed it; the same with states only where they are kept.
func TestHybridSharesPrefixes(t *testing.T) {
	for _, c := range []struct {
		layers Layers
		states bool
		want   int
	}{
		{Layers{Full: 1, Windowed: 5, Window: 64}, false, 992},
		{Layers{Full: 1, Fixed: 500}, false, 0},
		{Layers{Full: 1, Fixed: 500}, true, 992},
	} {
		h, err := NewHybrid(4000, 16, c.layers, c.states)
		testkit.OK(t, err)
		system := sim.Segment{ID: 1, Tokens: 1000}
		first := &sim.Sequence{
			Request: sim.Request{ID: 1, Prompt: 1500, Output: 400,
				Content: []sim.Segment{system, {ID: 2, Tokens: 500}}}}
		second := &sim.Sequence{
			Slot: 1,
			Request: sim.Request{ID: 2, Prompt: 1100, Output: 5,
				Content: []sim.Segment{system, {ID: 3, Tokens: 100}}}}
		if h.Match(second) != 0 || !h.Extend(first, 1500, 0) {
			t.Fatalf("%+v: found something in an empty memory, or no room", c.layers)
		}
		first.Stored, first.Generated = 1500, 1
		h.Join(0, first)
		for left := int64(300); left > 0; {
			steps := h.Headroom(0, left)
			h.Advance(0, steps)
			left -= steps
			first.Stored, first.Generated = first.Stored+int(steps), first.Generated+int(steps)
		}
		if got := h.Match(second); got != c.want {
			t.Errorf("%+v, states %t: %d tokens found, want %d", c.layers, c.states, got, c.want)
		}
	}
}
