package gpt2

import "github.com/llmsim/llmsim/internal/engine/kernels"

// embedTask computes the first hidden states: token embedding plus position embedding.
type embedTask struct {
	r      *Runner
	tokens []int32 // of all rows
	places []int32 // their positions
}

// prepare lists tokens and positions row by row.
func (t *embedTask) prepare() {
	t.tokens, t.places = t.tokens[:0], t.places[:0]
	for i := range t.r.batch {
		s := &t.r.batch[i]
		t.tokens = append(t.tokens, s.Tokens...)
		for j := range s.Tokens {
			t.places = append(t.places, int32(s.Start+j))
		}
	}
}

func (t *embedTask) Do(_, row int) {
	m := t.r.model
	width := m.Config.Width
	x := t.r.x[row*stride(width):][:width]
	token := m.tokens[int(t.tokens[row])*width:][:width]
	position := m.positions[int(t.places[row])*width:][:width]
	for i := range x {
		x[i] = token[i] + position[i]
	}
}

// normTask normalises rows of the residual stream.
type normTask struct {
	r    *Runner
	norm *norm
	rows []int32 // which rows, nil for all
}

// layerNorm normalises the given rows of the residual stream, or all when rows is nil, into
// consecutive rows of normed.
func (r *Runner) layerNorm(n *norm, rows []int32) {
	r.normal.norm, r.normal.rows = n, rows
	count := r.rows
	if rows != nil {
		count = len(rows)
	}
	r.pool.Run(count, &r.normal)
}

func (t *normTask) Do(_, i int) {
	c := &t.r.model.Config
	from := i
	if t.rows != nil {
		from = int(t.rows[i])
	}
	step := stride(c.Width)
	t.r.set.LayerNorm(t.r.normed[i*step:], t.r.x[from*step:][:c.Width], t.norm.weight, t.norm.bias,
		float32(c.Epsilon))
}

// outcome says what becomes of the result of a linear layer.
type outcome uint8

const (
	replace     outcome = iota // it replaces what was there
	activate                   // its GELU does
	addResidual                // it is added to it
)

// linearTask is a linear layer; an iteration computes one panel of outputs for all rows.
type linearTask struct {
	r         *Runner
	layer     *linear
	y         []float32
	x         kernels.Operand
	rows, ldy int
	then      outcome
}

// linear computes y = x·W + b for the first rows rows of x, which has inWidth columns, and treats
// the result as said.
func (r *Runner) linear(l *linear, y, x []float32, inWidth, rows int, then outcome) {
	t := &r.product
	t.layer, t.y, t.rows, t.then = l, y, rows, then
	r.set.Prepare(&t.x, x, stride(inWidth), rows, &l.weight)
	t.ldy = stride(l.weight.Out)
	r.pool.Run(l.weight.Panels(), t)
}

func (t *linearTask) Do(_, panel int) {
	const width = kernels.PanelWidth
	first := panel * width
	var bias [width]float32
	if len(t.layer.bias) > 0 {
		copy(bias[:], t.layer.bias[first:])
	}
	for row := range t.rows {
		y := (*[width]float32)(t.y[row*t.ldy+first:])
		if t.then == addResidual {
			for i := range y {
				y[i] += bias[i]
			}
		} else {
			*y = bias
		}
	}
	t.r.set.MulAdd(t.y, t.ldy, &t.x, &t.layer.weight, panel, panel+1)
	if t.then == activate {
		for row := range t.rows {
			t.r.set.GELU(t.y[row*t.ldy+first:][:width])
		}
	}
}
