package timeline

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/llmsim/llmsim/internal/report/doc"
	"github.com/llmsim/llmsim/internal/units"
	"github.com/llmsim/llmsim/policies/memory"
	"github.com/llmsim/llmsim/sim"
)

// Blocks is who held which KV block of the first replica, and when. The simulation counts blocks;
// which ones they are is what vLLM's list of free blocks gives (see pool).
type Blocks struct {
	// Capacity is in tokens, Size the tokens of a block.
	Capacity, Size int64
	Spans          []Span
	// Again is how often a block was taken that another request had given back, Found how often a
	// block was found by its content.
	Again, Found int
	// Holders are the requests that hold memory at the moment of its largest use, At.
	At      sim.Time
	Holders []Holder
}

// Span is a time in which a request held a block, or in which a block that it gave back kept its
// content for others.
type Span struct {
	Block    int
	ID       int64
	From, To sim.Time
	Kept     bool
}

// Holder is a request that holds KV memory: room for Room tokens, with Stored there.
type Holder struct {
	ID           int64
	Room, Stored int64
}

// blockRecorder follows the blocks of a memory that can tell what a sequence takes.
type blockRecorder struct {
	memory sim.SlotMemory
	live   map[*sim.Sequence]bool
	most   int64
	pool   pool
	blocks *Blocks
}

func newBlockRecorder(m sim.SlotMemory) *blockRecorder {
	const usual = 16 // tokens of a block of vLLM
	all, _ := m.Slots()
	b := &Blocks{Capacity: all, Size: max(usual, all/max(1, m.Capacity()))}
	_, contiguous := m.(*memory.Contiguous)
	_, caches := m.(*memory.PrefixCache)
	return &blockRecorder{m, map[*sim.Sequence]bool{}, 0, newPool(b, contiguous, caches), b}
}

// step looks at the memory after a step of the first replica.
func (b *blockRecorder) step(l *sim.Leap) {
	for i := range l.Prefill {
		b.live[l.Prefill[i].Sequence] = true
	}
	list := make([]*sim.Sequence, 0, len(b.live))
	for s := range b.live {
		list = append(list, s)
	}
	slices.SortFunc(list, func(x, y *sim.Sequence) int { return int(x.ID - y.ID) })
	var holders []Holder
	for _, s := range list { // first what is given back, as an engine does before it schedules
		if !s.Running() || s.Replica != l.Replica {
			b.pool.give(s, l.Start)
		}
	}
	for _, s := range list {
		if s.Running() && s.Replica == l.Replica {
			stored := s.Context()
			h := Holder{s.ID, b.memory.Room(s, stored), int64(stored)}
			holders = append(holders, h)
			b.pool.take(s, h, l.Start)
		}
	}
	if l.Used > b.most {
		b.most, b.blocks.At, b.blocks.Holders = l.Used, l.End, holders
	}
}

// finished gives back the blocks of a request.
func (b *blockRecorder) finished(s *sim.Sequence) {
	b.pool.give(s, s.LastToken)
	delete(b.live, s)
}

// words sums the memory up.
func (b *Blocks) words() string {
	var room, stored int64
	for _, h := range b.Holders {
		room, stored = room+h.Room, stored+h.Stored
	}
	share := func(n int64) string {
		return units.Percent(float64(n) / float64(max(1, b.Capacity)))
	}
	return fmt.Sprintf("KV memory at its fullest: %d requests; %s holds tokens, %s is taken and "+
		"empty, %s is free.",
		len(b.Holders), share(stored), share(room-stored), share(b.Capacity-room))
}

// touched returns the number of blocks from the first to the last that was ever held.
func (b *Blocks) touched() int {
	last := 0
	for _, s := range b.Spans {
		last = max(last, s.Block+1)
	}
	return last
}

// taken says how many blocks were taken, and how often again.
func (b *Blocks) taken() string {
	text := fmt.Sprintf("%d of %d blocks of %d tokens are ever held", b.touched(),
		b.Capacity/b.Size, b.Size)
	again := "none is taken a second time"
	if b.Again > 0 {
		again = fmt.Sprintf("%d times one is taken that another request gave back", b.Again)
	}
	if b.Found > 0 {
		again += fmt.Sprintf(", and %d times one is found by its content", b.Found)
	}
	return text + "; " + again + "."
}

// Sizes of the picture of the blocks: high enough that a block of a short run is a few pixels.
const (
	blocksTall = 240
	mapTall    = blocksTall + 58
)

// requestColour is the colour of a request, in turn: neither that of prefill nor that of decode.
func requestColour(id int64) string {
	return [...]string{"#009e73", "#cc79a7", "#b58900", "#6a51a3", "#5b7f95"}[id%5]
}

// runs joins the spans of blocks that follow each other, in the hands of the same request at the
// same time. The order is that of blocks.
func (b *Blocks) runs() (list []run) {
	spans := slices.Clone(b.Spans)
	slices.SortStableFunc(spans, func(x, y Span) int {
		return cmp.Or(cmp.Compare(x.From, y.From), cmp.Compare(x.To, y.To),
			cmp.Compare(x.Block, y.Block))
	})
	for _, s := range spans {
		if n := len(list); n > 0 {
			last := &list[n-1]
			same := last.Span
			same.Block = s.Block
			if same == s && last.Block+last.blocks == s.Block {
				last.blocks++
				continue
			}
		}
		list = append(list, run{s, 1})
	}
	return list
}

// run is a span of several blocks that follow each other, from the span's own block on.
type run struct {
	Span
	blocks int
}

// blocks draws a row for each block that was ever held, the first at the top: who holds it, and
// pale what it keeps for others once it was given back.
func (d *drawing) blocks(b *Blocks, y int) {
	d.printf(`<g><title>%s</title><text x="%d" y="%d" font-weight="600">%s</text><text x="%d" y="%d" fill="#565b64">%s</text>`,
		escape(b.words()), left, y+14, escape(b.words()), left, y+30, escape(b.taken()))
	top, touched := float64(y+38), max(1, b.touched())
	tall := float64(blocksTall) / float64(touched)
	d.printf(`<rect x="%d" y="%g" width="%d" height="%d" fill="#eceef1"/>`, left, top,
		width-left-right, blocksTall)
	for k, at := range []float64{top + 11, top + blocksTall} {
		d.printf(`<text x="%d" y="%g" text-anchor="end" fill="#565b64">block %d</text>`, left-8,
			at, k*(touched-1))
	}
	largest := map[int64]run{}
	area := func(r run) float64 { return float64(r.blocks) * float64(r.To-r.From) }
	for _, r := range b.runs() {
		from, to := d.x(r.From), d.x(r.To)
		shade := 1.0
		if r.Kept {
			shade = 0.25
		} else if area(r) > area(largest[r.ID]) {
			largest[r.ID] = r
		}
		d.printf(`<rect class="held" x="%.2f" y="%.2f" width="%.2f" height="%.2f" fill="%s" fill-opacity="%g"/>`,
			from, top+float64(r.Block)*tall, to-from, float64(r.blocks)*tall,
			requestColour(r.ID), shade)
	}
	for _, id := range slices.Sorted(maps.Keys(largest)) {
		r := largest[id]
		name := fmt.Sprint(r.ID)
		wide, high := d.x(r.To)-d.x(r.From), float64(r.blocks)*tall
		if high < 9 || wide < float64(9*len(name)) {
			continue
		}
		d.printf(`<text x="%.2f" y="%.2f" fill="#ffffff" font-weight="600" font-size="%g">%s</text>`,
			d.x(r.From)+3, top+float64(r.Block)*tall+high/2+4, min(12, high), name)
	}
	d.printf(`</g>`)
}

// mapRows is the height of the map of blocks in characters.
const mapRows = 12

// text draws the blocks in characters: the last digit of who holds most of them, ' where free ones
// keep their content, and · where they are free.
func (b *Blocks) text(p *doc.Blocks, whole sim.Time) {
	touched := max(1, b.touched())
	rows := min(mapRows, touched)
	held := make([]map[rune]sim.Time, rows*textWidth)
	for _, s := range b.Spans {
		sign := rune('0' + s.ID%10)
		if s.Kept {
			sign = '\''
		}
		cell := s.Block * rows / touched * textWidth
		for k := range textWidth {
			from, to := whole*sim.Time(k)/textWidth, whole*sim.Time(k+1)/textWidth
			if common := min(to, s.To) - max(from, s.From); common > 0 {
				if held[cell+k] == nil {
					held[cell+k] = map[rune]sim.Time{}
				}
				held[cell+k][sign] += common
			}
		}
	}
	for row := range rows {
		var line []rune
		for _, cell := range held[row*textWidth : (row+1)*textWidth] {
			best := '·'
			for _, sign := range "0123456789'" {
				if cell[sign] > cell[best] {
					best = sign
				}
			}
			line = append(line, best)
		}
		p.Line(fmt.Sprintf("%5d %s", (row*touched+rows-1)/rows, string(line)))
	}
	p.Text(b.taken() + " Above, a row for some blocks from the number at its left on, with the " +
		"last digit of the request that holds most of them; ' free, with a content that others " +
		"find; · free.")
}
