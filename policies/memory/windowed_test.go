package memory

import (
	"maps"
	"testing"

	"pgregory.net/rapid"

	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/sim"
)

// windowedTwin counts the blocks of every sequence, layer by layer.
type windowedTwin struct {
	pagedTwin
	layers Layers
}

func (w *windowedTwin) clone() twin {
	d := *w
	d.tokens = maps.Clone(w.tokens)
	return &d
}

func (w *windowedTwin) units(tokens int) int64 {
	most := 0 // blocks that a window can touch
	for start := range w.blockSize {
		most = max(most, w.blocks(start+w.layers.Window)-start/w.blockSize)
	}
	n := 0
	for range w.layers.Full {
		n += w.blocks(tokens)
	}
	for range w.layers.Windowed {
		n += min(w.blocks(tokens), most)
	}
	for kept := 0; tokens > 0 && kept < w.layers.Fixed; kept += w.blockSize {
		n++
	}
	return int64(n)
}

func (w *windowedTwin) used() int64 {
	n := int64(0)
	for _, tokens := range w.tokens {
		n += w.units(tokens)
	}
	return n
}

func (w *windowedTwin) all() int64 {
	return int64(w.capacity * (w.layers.Full + w.layers.Windowed))
}

func (w *windowedTwin) fits(tokens int) bool { return w.units(tokens) <= w.all() }

func (w *windowedTwin) extend(s *sim.Sequence, n int, reserve int64) bool {
	old, there := w.tokens[s.ID]
	w.tokens[s.ID] = max(old, s.Stored+n)
	if w.used()+reserve <= w.all() {
		return true
	}
	if w.tokens[s.ID] = old; !there {
		delete(w.tokens, s.ID)
	}
	return false
}

func (w *windowedTwin) step(decoding []*sim.Sequence) bool {
	for _, s := range decoding {
		w.tokens[s.ID]++
	}
	return w.used() <= w.all()
}

// Windowed memory counts as if it walked every token of every layer.
func windowedEqualsTwin(t *rapid.T) {
	block := rapid.SampledFrom([]int{1, 3, 16}).Draw(t, "block")
	capacity := rapid.IntRange(1, 300/block).Draw(t, "capacity")
	ratio := rapid.SampledFrom([][2]int{{0, 1}, {1, 1}, {1, 5}, {3, 2}, {1, 0}}).Draw(t, "layers")
	layers := Layers{Full: ratio[0], Windowed: ratio[1],
		Window: rapid.IntRange(1, 70).Draw(t, "window"),
		Fixed:  rapid.IntRange(0, 80).Draw(t, "state")}
	if layers.Windowed == 0 {
		layers.Window, layers.Fixed = 1, max(1, layers.Fixed)
	}
	// The memory is told of twice as many layers of each kind: only their ratio matters.
	w, err := NewWindowed(int64(capacity), block,
		Layers{Full: 2 * layers.Full, Windowed: 2 * layers.Windowed, Window: layers.Window,
			Fixed: 2 * layers.Fixed})
	testkit.OK(t, err)
	m := machine{memory: w, twin: &windowedTwin{pagedTwin{block, capacity, map[int64]int{}},
		layers}, request: drawRequest}
	m.run(t)
}

func TestWindowedEqualsTwin(t *testing.T) { rapid.Check(t, windowedEqualsTwin) }

func FuzzWindowedEqualsTwin(f *testing.F) { f.Fuzz(rapid.MakeFuzz(windowedEqualsTwin)) }
