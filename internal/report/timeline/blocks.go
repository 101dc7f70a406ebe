package timeline

import (
	"fmt"
	"slices"

	"github.com/llmsim/llmsim/internal/units"
	"github.com/llmsim/llmsim/sim"
)

// Blocks is what the KV memory of the first replica holds at the moment of its largest use.
type Blocks struct {
	At sim.Time
	// Capacity is in tokens.
	Capacity int64
	Holders  []Holder
}

// Holder is a request that holds KV memory: room for Room tokens, with Stored there.
type Holder struct {
	ID           int64
	Room, Stored int64
}

// blockRecorder looks for the moment of the largest use. Memories that cannot tell what a sequence
// takes have no such moment.
type blockRecorder struct {
	memory sim.SlotMemory
	live   map[*sim.Sequence]bool
	most   int64
	blocks Blocks
}

// step looks at the memory after a step of the first replica.
func (b *blockRecorder) step(l *sim.Leap) {
	for i := range l.Prefill {
		b.live[l.Prefill[i].Sequence] = true
	}
	if l.Used <= b.most {
		return
	}
	b.most = l.Used
	all, _ := b.memory.Slots()
	b.blocks = Blocks{At: l.End, Capacity: all}
	for s := range b.live {
		if s.Running() && s.Replica == l.Replica {
			stored := s.Context()
			b.blocks.Holders = append(b.blocks.Holders,
				Holder{s.ID, b.memory.Room(s, stored), int64(stored)})
		}
	}
	slices.SortFunc(b.blocks.Holders, func(x, y Holder) int { return int(x.ID - y.ID) })
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

// The map of the memory has cells in rows. Requests are in the order of their numbers, not of
// addresses.
const (
	mapColumns = 96
	mapRows    = 8
	mapTall    = 24 + mapRows*11
)

// requestColours are the colours of requests in turn: where tokens are, and where room is empty.
func requestColours(i int) (full, empty string) {
	all := [][2]string{{"#0072b2", "#b3d5e8"}, {"#d55e00", "#f2cfb3"}, {"#009e73", "#b3e2d5"},
		{"#cc79a7", "#f0d7e5"}, {"#e69f00", "#f8e2b3"}}
	return all[i%len(all)][0], all[i%len(all)][1]
}

// blocks draws the map.
func (d *drawing) blocks(b *Blocks, y int) {
	d.printf(`<g><title>%s</title><text x="%d" y="%d" text-anchor="end" fill="#565b64">KV memory</text><text x="%d" y="%d" fill="#565b64">%s</text>`,
		escape(b.words()), left-8, y+24, left, y+12, escape(b.words()))
	cells := make([]string, mapColumns*mapRows)
	cell := float64(b.Capacity) / float64(len(cells))
	at := 0.0
	for i, h := range b.Holders {
		full, empty := requestColours(i)
		for k := int(at / cell); k < min(len(cells), int((at+float64(h.Room))/cell+0.999)); k++ {
			if float64(k)*cell < at+float64(h.Stored) {
				cells[k] = full
			} else {
				cells[k] = empty
			}
		}
		at += float64(h.Room)
	}
	wide := float64(width-left-right) / mapColumns
	for k, colour := range cells {
		if colour == "" {
			colour = "#eceef1"
		}
		d.printf(`<rect x="%.2f" y="%d" width="%.2f" height="10" fill="%s"/>`,
			left+float64(k%mapColumns)*wide, y+18+k/mapColumns*11, wide-1, colour)
	}
	d.printf(`</g>`)
}
