package training

import "github.com/llmsim/llmsim/models"

// kept is what the backward pass of one layer needs, in bytes for a token of a micro-batch on one
// accelerator. Whole is not split by tensor ranks, unless they share the sequence; Split is; Scores
// is the scores of attention, for each token of the sequence. All follow figure 2 and equation 2 of
// Korthikanti et al., arXiv:2205.05198, extended to grouped heads, gates and experts.
type kept struct{ Whole, Split, Scores float64 }

// activations returns what a layer keeps on average over all layers.
func (j *Job) activations() kept {
	var sum kept
	for i := range j.Model.Groups {
		g := &j.Model.Groups[i]
		k := j.groupKeeps(g)
		n := float64(g.Count) / float64(j.Model.Layers())
		sum.Whole += n * k.Whole
		sum.Split += n * k.Split
		sum.Scores += n * k.Scores
	}
	return sum
}

// groupKeeps returns what one layer of a group keeps: inputs of norms and of products, in 16 bits.
func (j *Job) groupKeeps(g *models.Group) kept {
	h := float64(j.Model.Hidden)
	k := kept{Whole: 2 * h * float64(g.Norms)}
	mask := 0.0
	if j.Dropout {
		mask = h
	}
	if g.Mixer != nil {
		k.Whole += 2*h + mask
		k.Split += mixerKeeps(g.Mixer, h)
		if s, ok := g.Mixer.(*models.Softmax); ok && j.Attention == Stored {
			k.Scores = 2 * float64(s.Heads) // what softmax gives
			if j.Dropout {
				k.Scores = 5 * float64(s.Heads) // its mask, and what is left of it
			}
		}
	}
	switch m := g.MLP.(type) {
	case *models.Dense:
		k.Whole += 2*h + mask
		k.Split += wide(m.Intermediate, m.Gated)
	case *models.MoE:
		k.Whole += 2*h + mask
		k.Split += wide(m.SharedIntermediate, m.Gated)
		in := h
		if m.Latent > 0 {
			in = float64(m.Latent)
		}
		// the tokens of each expert are copied together; tensor ranks share them
		k.Split += float64(m.Active) * (2*in + wide(m.Intermediate, m.Gated))
	}
	return k
}

// wide returns the bytes of what lies between the products of a feed-forward network: what goes
// into the activation, and what comes out of it (of both matrices and their product with a gate).
func wide(intermediate int, gated bool) float64 {
	if gated {
		return 6 * float64(intermediate)
	}
	return 4 * float64(intermediate)
}

// mixerKeeps returns the bytes of queries, keys and values, and of the input of the output
// projection.
func mixerKeeps(m models.Mixer, h float64) float64 {
	switch m := m.(type) {
	case *models.Softmax:
		value := m.ValueDim
		if value == 0 {
			value = m.HeadDim
		}
		return 2 * float64(m.Heads*m.HeadDim+m.KVHeads*(m.HeadDim+value)+m.Heads*value)
	case *models.MLA:
		heads := m.Heads * (2*(m.NopeDim+m.RopeDim) + 2*m.ValueDim)
		return 2 * float64(heads+m.QueryRank+m.KVRank+m.RopeDim)
	case *models.Recurrent:
		return 2 * float64(2*m.KeyHeads*m.KeyDim+3*m.Heads*m.ValueDim)
	}
	return 8 * h
}

// layerBytes returns what a layer keeps of a micro-batch on one accelerator under a kind of
// recomputation: table 2 of Korthikanti et al., arXiv:2205.05198. Tensor ranks that share the
// sequence share the inputs of layers too (section 4.2.2).
func (j *Job) layerBytes(r Recompute) float64 {
	l, k := &j.Layout, j.activations()
	rows, tp := j.rows(), float64(l.Tensor)
	whole := 1.0
	if l.Sequence {
		whole = tp
	}
	switch r {
	case Full:
		return rows * 2 * float64(j.Model.Hidden) / whole
	case Selective:
		k.Scores = 0
	}
	return rows * (k.Whole/whole + k.Split/tp + k.Scores*float64(j.Seq)/float64(l.Context)/tp)
}

// inFlight returns for how many micro-batches the first stage keeps activations at the peak, each
// of all its layers: one for each stage (Narayanan et al., arXiv:2104.04473, section 2.2.1), and
// 1+(p−1)/(p·v) times that number when interleaved (Korthikanti et al., section 4.2.3).
func (j *Job) inFlight() float64 {
	l := &j.Layout
	p, v := float64(l.Pipeline), float64(l.Virtual)
	n := p
	if l.Virtual > 1 {
		n = p * (1 + (p-1)/(p*v))
	}
	return min(n, float64(l.MicroBatches(j.Batch)))
}
