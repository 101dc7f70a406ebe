package calibration

import (
	"github.com/llmsim/llmsim/sim"
)

// Shape is a kind of step: sequences that decode with the same context, and perhaps one prompt
// chunk.
type Shape struct {
	// Decodes is the number of sequences that decode a token, Context what each of them attends to,
	// that token included.
	Decodes, Context int
	// New is the number of prompt tokens, Cached the number of tokens before them.
	New, Cached int
}

// Grid returns the steps that are measured: decode batch × context, prefill chunk × cached prefix,
// and some with both. Contexts end in the middle of a KV block, as they do on average. All of them
// fit into the context of the model.
func Grid(context int) []Shape {
	const most = 12 << 10 // tokens of context in a step, for the sake of memory
	var list []Shape
	for _, n := range []int{1, 2, 3, 4, 6, 8, 12, 16, 24, 32} {
		for _, each := range []int{16, 208, 528, 976} {
			if each <= context && n*each <= most {
				list = append(list, Shape{Decodes: n, Context: each})
			}
		}
	}
	for _, n := range []int{8, 24, 48, 96, 192, 384, 640} {
		for _, cached := range []int{0, 64, 336} {
			if n+cached <= context {
				list = append(list, Shape{New: n, Cached: cached})
			}
		}
	}
	for _, n := range []int{4, 16} {
		for _, chunk := range []int{16, 64, 200} {
			if 208 <= context {
				list = append(list, Shape{Decodes: n, Context: 208, New: chunk})
			}
		}
	}
	return list
}

// Step returns the summary of the step, whose chunk completes a prompt.
func (s Shape) Step() *sim.Step {
	step := &sim.Step{Decodes: s.Decodes, DecodeTokens: s.Decodes,
		Context: int64(s.Decodes) * int64(s.Context)}
	if s.New > 0 {
		step.Prefill = []sim.Chunk{{New: s.New, Cached: s.Cached, Last: true}}
	}
	return step
}
