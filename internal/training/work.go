package training

import (
	"math"

	"github.com/llmsim/llmsim/hardware"
	"github.com/llmsim/llmsim/models"
)

// work is the seconds that one accelerator computes for one micro-batch, over all layers as if
// they were on one stage. Backward is the gradients of activations and of weights together.
type work struct {
	// Forward and Backward are the layers'; HeadForward and HeadBackward the output head's with the
	// loss.
	Forward, Backward         float64
	HeadForward, HeadBackward float64
	// Weights is the part of Backward that computes the gradients of weights.
	Weights float64
	// Scores is the part of Forward that selective recomputation repeats.
	Scores float64
	// Attention is the part of Forward that flash attention takes.
	Attention float64
}

// rows returns the tokens of a micro-batch on one accelerator.
func (j *Job) rows() float64 {
	return float64(j.Layout.Micro) * float64(j.Seq) / float64(j.Layout.Context)
}

// work adds up the kernels of a micro-batch.
func (j *Job) work() work {
	var w work
	l, rates := &j.Layout, j.rates()
	rows := j.rows()
	for _, p := range j.Model.LinearLayers(l.Tensor) {
		if p.Part == models.ExpertPart {
			continue
		}
		t, n := rates.product(&p, rows), float64(p.Count)
		if p.Name == "lm_head" {
			t = rates.head(&p, rows)
			w.HeadForward += n * t.forward
			w.HeadBackward += n * rates.backward(t)
			continue
		}
		w.Forward += n * t.forward
		w.Backward += n * rates.backward(t)
		w.Weights += n * t.weights
	}
	rates.addExperts(&w)
	rates.addAttention(&w)
	rates.addElementwise(&w)
	return w
}

// backward returns the seconds of the gradients of a product. Frozen weights have no gradients.
func (r *rates) backward(t seconds) float64 {
	if r.job.Method == LoRA {
		return t.inputs
	}
	return t.inputs + t.weights
}

// addExperts adds the routed experts. Each is whole on one accelerator (an expert-tensor size of
// 1), the tokens of the expert group are spread evenly, and tensor ranks share the tokens.
func (r *rates) addExperts(w *work) {
	j := r.job
	for _, p := range j.Model.LinearLayers(1) {
		if p.Part != models.ExpertPart {
			continue
		}
		t := r.grouped(&p, j.rows()*float64(p.Active)/float64(j.Layout.Tensor),
			p.Experts/j.Layout.Expert)
		n := float64(p.Count)
		w.Forward += n * t.forward
		w.Backward += n * r.backward(t)
		w.Weights += n * t.weights
	}
}

// addAttention adds what touches keys and values. The backward pass of flash attention computes 5
// products for the 2 of the forward pass (Dao, arXiv:2307.08691, section 3.1.2).
func (r *rates) addAttention(w *work) {
	j, l := r.job, &r.job.Layout
	sequences := float64(l.Micro) / float64(l.Context)
	for _, a := range j.Model.AttentionLayers(l.Tensor, hardware.BF16) {
		n := float64(a.Count) * sequences
		if j.Attention == Stored && a.Heads > 0 && a.Recurrent == "" {
			f := r.storedScores(&a, j.Seq)
			w.Forward += n * f
			w.Scores += n * f
			w.Backward += 2 * n * f
			continue
		}
		flops := a.Prefill(j.Seq, 0).FLOPs
		f := flops / r.attention
		w.Forward += n * f
		w.Attention += n * f
		w.Backward += 2.5 * n * flops / r.attentionBackward
	}
}

// addElementwise adds norms, activations and rotations: the forward pass reads and writes what the
// simulator of serving counts, and the backward pass twice as much, for it reads what was kept too.
func (r *rates) addElementwise(w *work) {
	j := r.job
	rows, tp := j.rows(), float64(j.Layout.Tensor)
	for _, k := range j.Model.ElementwiseKernels(j.Layout.Tensor) {
		n := rows * float64(k.Count) * float64(k.Elements)
		whole := k.Name == "norm" || k.Name == "embedding" || k.Name == "streams"
		switch {
		case whole && j.Layout.Sequence:
			n /= tp
		case k.Name == models.ExpertActivation || k.Name == models.ExpertCombine:
			n = n / tp
		}
		t := n * 2 / r.moved
		if j.Eager {
			t *= eagerPasses
		}
		w.Forward += t
		w.Backward += 2 * t
	}
	if j.Dropout { // the mask and the sum, after the mixer and after the MLP
		n := rows * float64(2*j.Model.Layers()) * float64(j.Model.Hidden) * 5
		if j.Layout.Sequence {
			n /= tp
		}
		w.Forward += n / r.moved
		w.Backward += n / r.moved
	}
}

// seconds are the times of a product and of the two products of its gradients.
type seconds struct{ forward, inputs, weights float64 }

// rates are the speeds of one accelerator.
type rates struct {
	job *Job
	// wide is the rate of 16-bit products and operand of products in the job's precision, both in
	// FLOP/s.
	wide, operand float64
	// attention and attentionBackward are FLOP/s, bandwidth and moved B/s of weights and of
	// activations.
	attention, attentionBackward float64
	bandwidth, moved             float64
	// overlap joins compute and memory time: see join.
	overlap float64
	// narrow reports whether products are computed in less than 16 bits.
	narrow bool
}

// rates finds the speeds of the job's accelerator.
func (j *Job) rates() rates {
	a, k := &j.Machine.Accelerator, &j.Machine.Constants
	peak := a.Peak[hardware.BF16]
	wide, _ := productEfficiencyOf(a, hardware.BF16)
	forward, backward := scores(j.Attention, a.Generation)
	r := rates{job: j, wide: peak * wide, operand: peak * wide,
		attention: peak * forward, attentionBackward: peak * backward,
		bandwidth: a.Bandwidth * k.Linear.Memory, moved: a.Bandwidth * k.Elementwise.Memory,
		overlap: k.Linear.Overlap}
	if j.Precision == hardware.FP8 || j.Precision == hardware.FP4 {
		narrow, _ := productEfficiencyOf(a, j.Precision)
		r.operand, r.narrow = a.Peak[j.Precision]*narrow, true
	}
	return r
}

// product returns the seconds of a product with rows rows. Each pass streams its operands and its
// result, and the gradient of the weights is added to a sum in memory.
func (r *rates) product(p *models.Linear, rows float64) seconds {
	n, k := float64(p.N), float64(p.K)
	rate := r.wide
	cast := 0.0
	if r.narrow && p.Quantised {
		rate = r.operand
		// read in 16 bits, and written in 8 bits as it stands and transposed
		cast = castBytes * rows / r.moved
	}
	compute := 2 * rows * n * k / rate
	weights, in, out := 2*n*k, 2*rows*k, 2*rows*n
	sum := 2 * r.job.Optimizer.Gradient * n * k
	return seconds{
		forward: r.join(compute, weights+in+out) + cast*k,
		inputs:  r.join(compute, weights+in+out) + cast*n,
		weights: r.join(compute, in+out+sum),
	}
}

// head returns the seconds of the output head, whose logits the loss reads and writes in 32 bits.
func (r *rates) head(p *models.Linear, rows float64) seconds {
	q := *p
	q.Quantised = false
	t := r.product(&q, rows)
	logits := 4 * rows * float64(p.N)
	t.forward += 3 * logits / r.moved
	t.inputs += logits / r.moved
	return t
}

// grouped returns the seconds of the products of experts, local of them on an accelerator, with
// rows rows over all of them.
func (r *rates) grouped(p *models.Linear, rows float64, local int) seconds {
	each := *p
	t := r.product(&each, rows/float64(max(1, local)))
	n := float64(max(1, local)) / expertShare
	return seconds{n * t.forward, n * t.inputs, n * t.weights}
}

// storedScores returns the seconds of attention over a sequence whose scores are kept: two products
// for all pairs, and scaling, mask, softmax and dropout, which read and write scores of 2 bytes
// three times and a mask of one (Korthikanti et al., arXiv:2205.05198, figure 3).
func (r *rates) storedScores(a *models.Attention, seq int) float64 {
	pairs := float64(seq) * float64(seq)
	products := a.PrefillFLOPs * pairs / r.wide
	return products + 13*pairs*float64(a.Heads)/r.moved
}

// join returns the seconds of a kernel that computes and moves bytes at once.
func (r *rates) join(compute, bytes float64) float64 {
	memory := bytes / r.bandwidth
	if math.IsInf(r.overlap, 1) {
		return max(compute, memory)
	}
	return math.Pow(math.Pow(compute, r.overlap)+math.Pow(memory, r.overlap), 1/r.overlap)
}
