package memory

import "github.com/llmsim/llmsim/sim"

// NameBlocks notes the names of the blocks of a text that is made of segments of one block each.
func NameBlocks(blocks []uint64, size int, names map[uint64]uint64) {
	var text []sim.Segment
	for _, b := range blocks {
		text = append(text, sim.Segment{ID: b, Tokens: size})
	}
	for i, name := range Names(nil, text, size) {
		names[name] = blocks[i]
	}
}
