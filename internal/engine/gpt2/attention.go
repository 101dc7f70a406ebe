package gpt2

import "github.com/llmsim/llmsim/internal/engine/kernels"

// queryRows is the number of query tokens that share the keys and values they read: as many as a
// micro-kernel computes at once.
const queryRows = 12

// attentionItem is a piece of attention for one worker: some query tokens of one segment, and one
// key and value head.
type attentionItem struct {
	segment int32
	row     int32 // of the batch, of the first query token
	start   int32 // its position in the sequence
	count   int32 // of query tokens
	head    int32 // of keys and values
}

// scratch is a worker's space for attention.
type scratch struct {
	scores  []float32 // [rows][PanelWidth]
	sums    []float32 // weighted values, [rows][valueWidth]
	softmax kernels.Softmax
	matrix  []float32 // all scores of a segment, for naive attention
}

func newScratch(rows, valueWidth int) scratch {
	return scratch{
		scores:  make([]float32, rows*kernels.PanelWidth),
		sums:    make([]float32, rows*valueWidth),
		softmax: kernels.NewSoftmax(rows),
	}
}

// listAttention adds the items of a segment whose first token is at the given row of the batch.
func (r *Runner) listAttention(segment, row int) {
	s := &r.batch[segment]
	tokens := queryRows
	if r.Naive {
		tokens = len(s.Tokens)
	}
	for head := range r.model.KVHeads {
		for first := 0; first < len(s.Tokens); first += tokens {
			r.work = append(r.work, attentionItem{
				segment: int32(segment), row: int32(row + first), start: int32(s.Start + first),
				count: int32(min(tokens, len(s.Tokens)-first)), head: int32(head),
			})
		}
	}
}

// attend stores the keys and values of all rows and computes attention from qkv into mixed.
func (r *Runner) attend(layer int, scale float32) {
	r.storing.layer = layer
	r.pool.Run(len(r.batch)*r.model.KVHeads, &r.storing)
	r.attention.layer, r.attention.scale = layer, scale
	r.pool.Run(len(r.work), &r.attention)
}

// storeTask stores new keys and values; an iteration is one segment and head.
type storeTask struct {
	r     *Runner
	layer int
}

func (t *storeTask) Do(_, i int) {
	r := t.r
	c := &r.model.Config
	heads, size := r.model.KVHeads, c.HeadSize()
	segment, head := i/heads, i%heads
	row := 0
	for j := range segment {
		row += len(r.batch[j].Tokens)
	}
	s := &r.batch[segment]
	step := stride(qkvWidth(*c, heads))
	for j := s.Stored; j < len(s.Tokens); j++ {
		position := s.Start + j
		qkv := r.qkv[(row+j)*step:]
		key := qkv[c.Width+head*size:][:size]
		value := qkv[c.Width+(heads+head)*size:][:size]
		r.kv.store(r.kv.tile(t.layer, head, s.Blocks[position/BlockTokens]), position%BlockTokens,
			key, value)
	}
}

// attentionTask computes attention.
type attentionTask struct {
	r     *Runner
	layer int
	scale float32
}

func (t *attentionTask) Do(worker, i int) {
	r := t.r
	item := r.work[i]
	scratch := &r.scratch[worker]
	if r.Naive {
		t.naive(scratch, &item)
		return
	}
	group := r.model.Config.Heads / r.model.KVHeads
	if item.count == 1 { // the query heads of the group read the same keys: take them as the rows
		t.tiled(scratch, &item, queries{
			head: int(item.head) * group, rows: group, stride: r.model.Config.HeadSize(), step: 0,
		})
		return
	}
	for h := range group {
		t.tiled(scratch, &item, queries{
			head: int(item.head)*group + h, rows: int(item.count),
			stride: stride(qkvWidth(r.model.Config, r.model.KVHeads)), step: 1,
		})
	}
}

// queries are the rows of a tile of attention: heads of one token (step 0) or tokens of one head
// (step 1: each sees one key more than the row before).
type queries struct {
	head         int // of the first row
	rows, stride int // stride is the distance between rows of queries
	step         int
}

// tiled computes attention block by block of keys with an online softmax, never holding more than
// one tile of scores (Dao et al. 2022, arXiv:2205.14135, algorithm 1; Rabe and Staats 2021,
// arXiv:2112.05682). Blocks are taken in order from the first, so that a row's result does not
// depend on how the sequence was cut into chunks.
func (t *attentionTask) tiled(s *scratch, item *attentionItem, q queries) {
	r := t.r
	const width = kernels.PanelWidth
	size, valueWidth := r.kv.headSize, r.kv.valueWidth
	query := r.qkv[int(item.row)*stride(qkvWidth(r.model.Config, r.model.KVHeads))+q.head*size:]
	blocks := r.batch[item.segment].Blocks
	scores, sums := s.scores[:q.rows*width], s.sums[:q.rows*valueWidth]
	clear(sums)
	s.softmax.Reset()
	keys := int(item.start) + (q.rows-1)*q.step + 1 // that the last row sees
	for first := 0; first < keys; first += BlockTokens {
		tile := r.kv.tile(t.layer, int(item.head), blocks[first/BlockTokens])
		clear(scores)
		r.set.MulPanel(scores, width, query, q.stride, tile, size, q.rows)
		r.set.Update(&s.softmax, scores, q.rows, int(item.start)+1-first, q.step, t.scale)
		for row := range q.rows {
			if c := s.softmax.Correction[row]; c != 1 {
				r.set.Scale(sums[row*valueWidth:][:valueWidth], c)
			}
		}
		for column := 0; column < valueWidth; column += width {
			values := tile[(size+column)*width:]
			r.set.MulPanel(sums[column:], valueWidth, scores, width, values,
				min(keys-first, BlockTokens), q.rows)
		}
	}
	step := stride(r.model.Config.Width)
	for row := range q.rows {
		token, head := row*q.step, q.head+row*(1-q.step)
		out := r.mixed[(int(item.row)+token)*step+head*size:][:size]
		inverse := 1 / s.softmax.Sum[row]
		for i := range out {
			out[i] = sums[row*valueWidth+i] * inverse
		}
	}
}
