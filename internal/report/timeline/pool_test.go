package timeline

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/llmsim/llmsim/sim"
)

func sequence(id int64) *sim.Sequence { return &sim.Sequence{Request: sim.Request{ID: id}} }

// Free blocks are taken from the head of a queue, and come back to its tail with the last one
// first, as in vLLM.
func TestFreeBlocksAreAQueue(t *testing.T) {
	b := &Blocks{Capacity: 64, Size: 16}
	p := newPool(b, false, false)
	first, second, third := sequence(1), sequence(2), sequence(3)
	p.take(first, Holder{1, 20, 20}, 0)
	p.take(second, Holder{2, 16, 16}, 1)
	p.give(first, 2)                    // the queue is 3, 1, 0
	p.take(third, Holder{3, 33, 33}, 3) // three blocks
	p.end(4)
	if got := p.held[third]; !slices.Equal(got, []int{3, 1, 0}) || b.Again != 2 || b.Found != 0 {
		t.Errorf("it gets %v, %d of them again", got, b.Again)
	}
}

// A block keeps its content once it is given back: who begins with the same text finds it, until
// it is taken for another text.
func TestFreeBlocksKeepTheirContent(t *testing.T) {
	begin := func(id int64, text uint64, cached int) *sim.Sequence {
		s := sequence(id)
		s.Cached = cached
		s.Content = []sim.Segment{{ID: text, Tokens: 32}}
		return s
	}
	b := &Blocks{Capacity: 64, Size: 16}
	p := newPool(b, false, true)
	a := begin(1, 7, 0)
	p.take(a, Holder{1, 40, 40}, 0) // 0 and 1 have names, 2 has none
	p.give(a, 10)
	same := begin(2, 7, 32)
	p.take(same, Holder{2, 33, 33}, 20)
	if got := p.held[same]; !slices.Equal(got, []int{0, 1, 3}) || b.Found != 2 {
		t.Errorf("the same text gets %v, of which it finds %d", got, b.Found)
	}
	p.give(same, 30) // the queue is 2, 3, 1, 0
	other := begin(3, 8, 0)
	p.take(other, Holder{3, 48, 48}, 40)
	last := begin(4, 7, 32)
	p.take(last, Holder{4, 16, 16}, 50)
	p.end(60)
	if got := p.held[last]; !slices.Equal(got, []int{0}) || b.Found != 3 {
		t.Errorf("of a text whose second block was taken it gets %v, and has found %d", got,
			b.Found)
	}
	if kept := (Span{1, 2, 30, 40, true}); !slices.Contains(b.Spans, kept) {
		t.Errorf("%+v is not among %+v", kept, b.Spans)
	}
}

// Whatever requests come and go, each holds as many blocks as its room takes while there are any, a
// block is held by one of them, and what is noted of a block does not overlap.
func TestBlocksAreHeldByOne(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := &Blocks{Capacity: 16 * 12, Size: 16}
		p := newPool(b, rapid.Bool().Draw(t, "contiguous"), false)
		rooms := map[int64]int64{}
		list := map[int64]*sim.Sequence{}
		for at := range sim.Time(rapid.IntRange(1, 30).Draw(t, "events")) {
			id := rapid.Int64Range(0, 5).Draw(t, "request")
			s := list[id]
			if s != nil && rapid.Bool().Draw(t, "ends") {
				p.give(s, at)
				delete(list, id)
				delete(rooms, id)
				continue
			}
			if s == nil {
				s = sequence(id)
				list[id] = s
			}
			rooms[id] = rapid.Int64Range(1, 60).Draw(t, "room")
			p.take(s, Holder{id, rooms[id], rooms[id]}, at)
			users := map[int]int64{}
			for id, s := range list {
				for _, block := range p.held[s] {
					if other, taken := users[block]; taken {
						t.Fatalf("block %d is held by %d and %d", block, other, id)
					}
					users[block] = id
				}
			}
			wants := int((rooms[id] + 15) / 16)
			if n := len(p.held[s]); n > wants || n < wants && !p.contiguous && len(users) < 12 {
				t.Fatalf("request %d holds %d blocks, and wants %d", id, n, wants)
			}
		}
		p.end(100)
		for i, s := range b.Spans {
			for _, o := range b.Spans[:i] {
				if s.Block == o.Block && s.From < o.To && o.From < s.To || s.From >= s.To {
					t.Fatalf("%+v and %+v", o, s)
				}
			}
		}
	})
}
