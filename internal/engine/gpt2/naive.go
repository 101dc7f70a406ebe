package gpt2

import (
	"math"

	"github.com/llmsim/llmsim/internal/engine/kernels"
)

// naive computes attention as it is written down, in three passes: all scores, their softmax, the
// weighted values. The matrix of scores, [tokens][keys], goes through memory three times; the tiled
// form never writes it.
func (t *attentionTask) naive(s *scratch, item *attentionItem) {
	r := t.r
	group := r.model.Config.Heads / r.model.KVHeads
	keys := int(item.start + item.count)
	ld := roundUp(keys)
	if n := int(item.count) * ld; n > len(s.matrix) {
		s.matrix = make([]float32, n)
	}
	for h := range group {
		head := int(item.head)*group + h
		t.allScores(s.matrix, ld, item, head)
		for row := range int(item.count) {
			softmaxRow(s.matrix[row*ld:][:ld], int(item.start)+row+1, t.scale)
		}
		t.weightedValues(s, ld, item, head)
	}
}

// allScores fills the matrix with the products of queries and keys.
func (t *attentionTask) allScores(matrix []float32, ld int, item *attentionItem, head int) {
	r := t.r
	step := stride(qkvWidth(r.model.Config, r.model.KVHeads))
	query := r.qkv[int(item.row)*step+head*r.kv.headSize:]
	clear(matrix[:int(item.count)*ld])
	for b, block := range r.batch[item.segment].Blocks[:ld/BlockTokens] {
		tile := r.kv.tile(t.layer, int(item.head), block)
		r.set.MulPanel(matrix[b*BlockTokens:], ld, query, step, tile, r.kv.headSize,
			int(item.count))
	}
}

// softmaxRow replaces the first visible scores by their softmax and the others by 0.
func softmaxRow(row []float32, visible int, scale float32) {
	largest := float32(math.Inf(-1))
	for _, v := range row[:visible] {
		largest = max(largest, v*scale)
	}
	sum := float32(0)
	for i, v := range row[:visible] {
		row[i] = float32(math.Exp(float64(v*scale - largest)))
		sum += row[i]
	}
	for i := range row[:visible] {
		row[i] /= sum
	}
	clear(row[visible:])
}

// weightedValues multiplies the matrix of weights with the values.
func (t *attentionTask) weightedValues(s *scratch, ld int, item *attentionItem, head int) {
	r := t.r
	size, count := r.kv.headSize, int(item.count)
	keys := int(item.start + item.count)
	step := stride(r.model.Config.Width)
	var sums [queryRows * kernels.PanelWidth]float32
	for column := 0; column < size; column += kernels.PanelWidth {
		for first := 0; first < count; first += queryRows {
			rows := min(queryRows, count-first)
			clear(sums[:])
			for b, block := range r.batch[item.segment].Blocks[:ld/BlockTokens] {
				tile := r.kv.tile(t.layer, int(item.head), block)
				r.set.MulPanel(sums[:], kernels.PanelWidth, s.matrix[first*ld+b*BlockTokens:], ld,
					tile[(size+column)*kernels.PanelWidth:], min(keys-b*BlockTokens, BlockTokens),
					rows)
			}
			for row := range rows {
				out := r.mixed[(int(item.row)+first+row)*step+head*size:][:size]
				copy(out[column:], sums[row*kernels.PanelWidth:][:kernels.PanelWidth])
			}
		}
	}
}
