package training

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/llmsim/llmsim/hardware"
	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/models"
)

// plainMachine returns a machine whose links have one latency and one efficiency, whatever the
// group: nodes of perNode accelerators, each with inner and outer B/s.
func plainMachine(t *rapid.T) *Machine {
	rate := func(name string) float64 { return rapid.Float64Range(1e9, 1e12).Draw(t, name) }
	way := func(name string) hardware.Collective {
		return hardware.Collective{Library: hardware.AllReduce{
			Latency:    hardware.Seconds(rapid.Float64Range(0, 1e-4).Draw(t, name+" latency")),
			Efficiency: rapid.Float64Range(0.1, 1).Draw(t, name+" efficiency")}}
	}
	k := hardware.Roofline()
	k.ScaleUp, k.Network = way("inner"), way("outer")
	return &Machine{Accelerator: hardware.Accelerator{PerNode: 1 <<
		rapid.IntRange(1, 4).Draw(t, "log accelerators of a node")},
		ScaleUp: &hardware.Link{Bandwidth: rate("inner B/s")},
		Network: &hardware.Link{Bandwidth: rate("outer B/s")}, Constants: k}
}

// near fails the test unless two positive numbers are the same but for rounding.
func near(t *rapid.T, what string, got, want float64) {
	t.Helper()
	if !(math.Abs(got-want) <= 1e-9*math.Abs(want)) {
		t.Errorf("%s: %g, want %g", what, got, want)
	}
}

// Exchanges take their latency and what crosses the slowest link: of n ranks each receives (n−1)/n
// of the bytes that are gathered, and of M nodes a token reaches M·(1−(1−1/M)^k) by k experts.
func TestExchangesByClosedForm(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := plainMachine(t)
		n, bytes := m.Accelerator.PerNode, rapid.Float64Range(1, 1e10).Draw(t, "bytes")
		k := float64(rapid.IntRange(1, 16).Draw(t, "experts of a token"))
		nodes := float64(rapid.IntRange(2, 64).Draw(t, "nodes"))
		in, out := &m.Constants.ScaleUp.Library, &m.Constants.Network.Library
		inner := m.ScaleUp.Bandwidth * in.Efficiency
		outer := m.Network.Bandwidth * out.Efficiency
		others := float64(n-1) / float64(n)
		elsewhere := (nodes - 1) / nodes

		near(t, "gather within a node", m.gather(bytes, group{n, 1}),
			float64(in.Latency)+others*bytes/inner)
		near(t, "gather of one accelerator a node", m.gather(bytes, group{int(nodes), n}),
			float64(out.Latency)+elsewhere*bytes/outer)
		all := n * int(nodes)
		near(t, "gather of whole nodes", m.gather(bytes, group{all, 1}), max(
			float64(in.Latency)+float64(all-1)/float64(all)*bytes/inner,
			float64(out.Latency)+elsewhere*bytes/(float64(n)*outer)))

		near(t, "send within a node", m.send(bytes, 1), float64(in.Latency)/2+bytes/inner)
		near(t, "send to another node", m.send(bytes, n), float64(out.Latency)/2+bytes/outer)

		within := float64(in.Latency) + bytes*k*others/inner
		near(t, "experts within a node", m.scatter(bytes, int(k), group{n, 1}), within)
		reached := nodes * (1 - math.Pow(1-1/nodes, k)) * elsewhere
		across := float64(out.Latency) + bytes*reached/outer
		near(t, "experts of all nodes", m.scatter(bytes, int(k), group{all, 1}),
			max(within, across))
		near(t, "experts, one accelerator a node", m.scatter(bytes, int(k), group{int(nodes), n}),
			across)
	})
}

// drawJob draws a job of a GPT or of a mixture of experts, in any layout that Check accepts.
func drawJob(t *rapid.T) *Job {
	j := drawGPT(t)
	l := &j.Layout
	j.Machine = machineNamed(t, rapid.SampledFrom([]string{"a100-80gb-sxm", "h100-sxm"}).
		Draw(t, "accelerator"))
	j.Attention = rapid.SampledFrom([]Attention{Flash, Stored}).Draw(t, "attention")
	j.Overlap = rapid.Bool().Draw(t, "tensor exchanges run beside products")
	j.Eager = rapid.Bool().Draw(t, "eager")
	l.Sequence = rapid.Bool().Draw(t, "sequence")
	l.Context = rapid.SampledFrom([]int{1, 2, 4}).Draw(t, "context")
	j.GPUs *= l.Context
	l.ZeRO = rapid.IntRange(0, 3).Draw(t, "zero")
	l.Recompute = rapid.SampledFrom([]Recompute{NoRecompute, Selective, Full}).Draw(t, "recompute")
	if l.Pipeline > 1 {
		l.Virtual = rapid.IntRange(1, 8).Draw(t, "chunks")
		if l.Virtual == 1 && rapid.Bool().Draw(t, "zero-bubble") {
			l.Schedule = ZeroBubble
		}
	}
	if rapid.Bool().Draw(t, "experts") {
		h := j.Model.Hidden
		l.Expert = 1 << rapid.IntRange(0, 4).Draw(t, "log expert ranks")
		j.Model.Groups = models.Uniform(j.Model.Layers(), j.Model.Attends(),
			&models.MoE{Experts: 16, Active: 2, Intermediate: 2 * h})
	}
	if j.Check() != nil {
		t.Skip("the layout is refused")
	}
	return j
}

// Where all rates are c times as high and all latencies 1/c as long, each part of a step takes 1/c
// of its time: each time is a sum of amounts over rates, and of latencies.
func TestTimesAreAmountsOverRates(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		j := drawJob(t)
		c := rapid.Float64Range(0.1, 10).Draw(t, "times as fast")
		fast := *j
		a := &fast.Machine.Accelerator
		a.Bandwidth *= c
		a.Peak = map[hardware.DType]float64{}
		for format, rate := range j.Machine.Accelerator.Peak {
			a.Peak[format] = c * rate
		}
		up, net := *j.Machine.ScaleUp, *j.Machine.Network
		up.Bandwidth *= c
		net.Bandwidth *= c
		fast.Machine.ScaleUp, fast.Machine.Network = &up, &net
		k := &fast.Machine.Constants
		for _, way := range []*hardware.AllReduce{&k.ScaleUp.Library, &k.ScaleUp.Bulk,
			&k.Network.Library, &k.Network.Bulk} {
			way.Latency /= hardware.Seconds(c)
			way.Rank /= hardware.Seconds(c)
		}
		slow, quick := j.Step(), fast.Step()
		parts := slow.Parts()
		for i, part := range quick.Parts() {
			near(t, part.Name, part.Seconds, parts[i].Seconds/c)
		}
	})
}

// Where memory and links take no time, a step on equal stages computes its FLOP: 24·h² for each
// token and layer and 2·h·V for the head, twice as many backward, and attention beside them. Where
// computing takes no time, the optimizer reads and writes each parameter's states.
func TestStepByClosedForm(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		j := drawGPT(t)
		j.GPUs /= j.Layout.Pipeline
		j.Layout.Pipeline, j.Attention, j.Dropout = 1, Flash, false
		j.Layout.Recompute = rapid.SampledFrom([]Recompute{NoRecompute, Full}).Draw(t, "recompute")
		testkit.OK(t, j.Check())
		s, h := float64(j.Seq), float64(j.Model.Hidden)
		layers, v := float64(j.Model.Layers()), float64(j.Model.Vocab)
		tp, tokens := float64(j.Layout.Tensor), float64(j.Batch/j.Layout.Data)*s

		free := *j
		free.Machine.Accelerator.Bandwidth = 1e40
		free.Machine.ScaleUp = &hardware.Link{Bandwidth: 1e40}
		rates := free.rates()
		products := tokens * 24 * layers * h * h / tp / rates.wide
		head := tokens * 2 * h * v / tp / rates.wide
		// a token attends to (s+1)/2 tokens on average, with 2 products of 2·h FLOP for each
		attention := tokens * layers * 2 * h * (s + 1) / tp
		step := free.Step()
		near(t, "forward", step.Forward, products+head+attention/rates.attention)
		near(t, "backward", step.Backward,
			2*(products+head)+2.5*attention/rates.attentionBackward)
		again := 0.0
		if j.Layout.Recompute == Full {
			again = products + attention/rates.attention
		}
		near(t, "recompute", step.Recompute, again)

		// 2 all-reduces a layer and pass, each a gather and a scatter of 2·h bytes a token
		passes := 2.0
		if j.Layout.Recompute == Full {
			passes = 3
		}
		micro := float64(j.Layout.MicroBatches(j.Batch))
		vector := 2 * h * s * float64(j.Layout.Micro)
		exchange := j.Step()
		near(t, "tensor exchange", exchange.Tensor,
			passes*micro*layers*2*2*j.Machine.gather(vector, group{j.Layout.Tensor, 1}))

		j.Layout.Tensor, j.Layout.ZeRO = 1, 0
		o := rapid.SampledFrom(Optimizers()).Draw(t, "optimizer")
		j.Optimizer = o
		bandwidth := j.Machine.Accelerator.Bandwidth * j.Machine.Constants.Elementwise.Memory
		near(t, "optimizer", j.Step().Optimizer, float64(j.Model.Parameters().Total())*
			(2*(o.Master+o.First+o.Second)+o.Gradient+2)/bandwidth)
	})
}

// Stages send each micro-batch's vectors forward and its gradients back, once for each chunk, and
// each tensor rank its part of them.
func TestPipelineExchange(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		j := drawJob(t)
		l := &j.Layout
		if l.Pipeline == 1 {
			t.Skip("no pipeline")
		}
		part := 2 * j.rows() * float64(j.Model.Hidden) / float64(l.Tensor)
		step := j.Step()
		near(t, "pipeline exchange", step.Pipeline,
			float64(l.MicroBatches(j.Batch))*2*float64(l.Virtual)*
				j.Machine.send(part, l.Tensor*l.Context*l.Data))
	})
}

// The loss holds 10 bytes for each logit of a tensor rank, an eighth of them in parts.
func TestLogits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		j := drawJob(t)
		want := 10 * j.rows() * float64(j.Model.Vocab) / float64(j.Layout.Tensor)
		if j.ChunkedLoss = rapid.Bool().Draw(t, "chunked"); j.ChunkedLoss {
			want /= 8
		}
		m := j.stageMemory("last", 1, j.spread().head(), 1, true)
		near(t, "logits", m.Of("logits"), want)
	})
}

// No layout that Check accepts and that fits is quicker than the best that a search finds, with
// interleaving, each stage of ZeRO and each way to compute again.
func TestNoAcceptedLayoutIsQuicker(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		j := drawJob(t)
		l := &j.Layout
		l.Micro = 1 << rapid.IntRange(0, 2).Draw(t, "log micro-batch")
		j.Batch = l.Data * l.Micro * l.Pipeline * rapid.IntRange(1, 5).Draw(t, "batches")
		if l.ZeRO == 0 || l.Recompute == Selective && j.Attention != Stored || j.Check() != nil {
			t.Skip("the search passes over it: another is as quick and holds no more")
		}
		memory, step := j.Memory(), j.Step()
		if !memory.Fits() {
			t.Skip("does not fit")
		}
		best, err := j.Best(Search{map[string]bool{"context": true}})
		testkit.OK(t, err)
		if best.Step > step.Total()*(1+1e-12) {
			t.Errorf("%+v takes %g s, and the best %+v %g s", *l, step.Total(), best.Layout,
				best.Step)
		}
	})
}

// Where computing takes no time, a pass of a product reads its operands and writes its result, of
// 2 bytes each; the gradient of the weights is read and written in the optimizer's sum.
func TestProductsMoveTheirOperands(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		j := drawJob(t)
		j.Optimizer = rapid.SampledFrom(Optimizers()).Draw(t, "optimizer")
		j.Machine.Accelerator.Peak = map[hardware.DType]float64{hardware.BF16: 1e40}
		r := j.rates()
		p := rapid.SampledFrom(j.Model.LinearLayers(j.Layout.Tensor)).Draw(t, "product")
		n, k, rows := float64(p.N), float64(p.K), rapid.Float64Range(1, 1e5).Draw(t, "rows")
		got := r.product(&p, rows)
		moves := j.Machine.Accelerator.Bandwidth * j.Machine.Constants.Linear.Memory
		near(t, "forward", got.forward, 2*(n*k+rows*k+rows*n)/moves)
		near(t, "gradients of inputs", got.inputs, got.forward)
		near(t, "gradients of weights", got.weights,
			2*(rows*k+rows*n+j.Optimizer.Gradient*n*k)/moves)
		near(t, "head", r.head(&p, rows).forward, got.forward+12*rows*n/r.moved)
		near(t, "gradients of the head", r.head(&p, rows).inputs, got.inputs+4*rows*n/r.moved)
	})
}
