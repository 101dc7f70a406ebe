package gpt2

import "math"

// reference computes the logits at every position of one sequence in float64, as directly as the
// formulas are written (Radford et al. 2019; Vaswani et al. 2017). w holds the tensors by their
// names.
func reference(c Config, kvHeads int, w map[string][]float32, tokens []int32) [][]float64 {
	x := make([][]float64, len(tokens))
	for i, t := range tokens {
		x[i] = make([]float64, c.Width)
		for j := range x[i] {
			x[i][j] = float64(w["wte.weight"][int(t)*c.Width+j]) +
				float64(w["wpe.weight"][i*c.Width+j])
		}
	}
	for l := range c.Layers {
		name := layerName(l)
		qkv := make([][]float64, len(x))
		for i := range x {
			qkv[i] = affine(normalise(c, x[i], w[name+"ln_1.weight"], w[name+"ln_1.bias"]),
				w[name+"attn.c_attn.weight"], w[name+"attn.c_attn.bias"])
		}
		for i, a := range referenceAttention(c, kvHeads, l, qkv) {
			add(x[i], affine(a, w[name+"attn.c_proj.weight"], w[name+"attn.c_proj.bias"]))
			h := affine(normalise(c, x[i], w[name+"ln_2.weight"], w[name+"ln_2.bias"]),
				w[name+"mlp.c_fc.weight"], w[name+"mlp.c_fc.bias"])
			for j, v := range h {
				h[j] = v / 2 * (1 + math.Tanh(math.Sqrt(2/math.Pi)*(v+0.044715*v*v*v)))
			}
			add(x[i], affine(h, w[name+"mlp.c_proj.weight"], w[name+"mlp.c_proj.bias"]))
		}
	}
	head := w["wte.weight"]
	if !c.Tied {
		head = w["lm_head.weight"]
	}
	logits := make([][]float64, len(x))
	for i := range x {
		h := normalise(c, x[i], w["ln_f.weight"], w["ln_f.bias"])
		logits[i] = make([]float64, c.Vocab)
		for t := range logits[i] {
			for j, v := range h {
				logits[i][t] += v * float64(head[t*c.Width+j])
			}
		}
	}
	return logits
}

// referenceAttention averages the keys and values of a group's heads, which equals averaging their
// weights.
func referenceAttention(c Config, kvHeads, l int, qkv [][]float64) [][]float64 {
	size, group := c.HeadSize(), c.Heads/kvHeads
	shared := func(row []float64, part, head, i int) float64 {
		sum := 0.0
		for h := head / group * group; h < (head/group+1)*group; h++ {
			sum += row[part*c.Width+h*size+i]
		}
		return sum / float64(group)
	}
	out := make([][]float64, len(qkv))
	for t := range qkv {
		out[t] = make([]float64, c.Width)
		for h := range c.Heads {
			weights, total := make([]float64, t+1), 0.0
			for s := range weights {
				score := 0.0
				for i := range size {
					score += qkv[t][h*size+i] * shared(qkv[s], 1, h, i)
				}
				weights[s] = math.Exp(score * float64(attentionScale(c, l)))
				total += weights[s]
			}
			for s := range weights {
				for i := range size {
					out[t][h*size+i] += weights[s] / total * shared(qkv[s], 2, h, i)
				}
			}
		}
	}
	return out
}

func normalise(c Config, x []float64, weight, bias []float32) []float64 {
	mean, variance := 0.0, 0.0
	for _, v := range x {
		mean += v / float64(len(x))
	}
	for _, v := range x {
		variance += (v - mean) * (v - mean) / float64(len(x))
	}
	y := make([]float64, len(x))
	for i, v := range x {
		y[i] = (v-mean)/math.Sqrt(variance+c.Epsilon)*float64(weight[i]) + float64(bias[i])
	}
	return y
}

func affine(x []float64, weight, bias []float32) []float64 {
	y := make([]float64, len(bias))
	for j := range y {
		y[j] = float64(bias[j])
		for i, v := range x {
			y[j] += v * float64(weight[i*len(bias)+j])
		}
	}
	return y
}

func add(x, y []float64) {
	for i := range x {
		x[i] += y[i]
	}
}
