package training

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/llmsim/llmsim/hardware"
	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/models"
)

// plainJob is a job of a GPT in one layout, on an accelerator of the catalogue.
func plainJob(t *testing.T, accelerator string) *Job {
	t.Helper()
	adam, err := FindOptimizer("adamw")
	testkit.OK(t, err)
	return &Job{Model: gpt(512, 8, 8, 1000), Machine: machineNamed(t, accelerator), GPUs: 8,
		Batch: 16, Seq: 256, Precision: hardware.BF16, Optimizer: adam, Method: Pretrain,
		Attention: Flash, Layout: Layout{Tensor: 2, Context: 1, Pipeline: 2, Data: 2, Expert: 1,
			Micro: 1, Virtual: 1, ZeRO: 1, Recompute: NoRecompute}}
}

// same fails the test unless two numbers are the same but for rounding.
func same(t *testing.T, what string, got, want float64) {
	t.Helper()
	if !(math.Abs(got-want) <= 1e-9*math.Abs(want)) {
		t.Errorf("%s: %g, want %g", what, got, want)
	}
}

// What ZeRO shares is held once by the ranks that share it: dense weights by the data and context
// ranks, or by a shard of them with copies beside, experts by the ranks of the same experts.
func TestSharesHoldTheWhole(t *testing.T) {
	for _, l := range []Layout{{Tensor: 2, Context: 1, Data: 8, Expert: 4},
		{Tensor: 1, Context: 2, Data: 8, Expert: 16}, {Tensor: 4, Context: 2, Data: 4, Expert: 2},
		{Tensor: 2, Context: 2, Data: 4, Expert: 1, Shard: 4}, {Tensor: 1, Context: 1, Data: 1,
			Expert: 1}} {
		s := &spread{layout: &l}
		dense, all := l.Data*l.Context, l.Tensor*l.Context*l.Data
		if l.Shard > 0 {
			dense = l.Shard
		}
		same(t, "dense", s.share(heldParameters{Dense: 7})*float64(dense), 7)
		same(t, "experts", s.share(heldParameters{Expert: 7})*float64(all)/float64(l.Expert), 7)
		g, c, e := s.denseGroup(), s.copies(), s.expertGroup()
		if g != (group{dense, l.Tensor}) || g.size*c.size*l.Tensor != all ||
			c.stride != l.Tensor*dense || e.size*l.Expert != all || e.stride != l.Expert {
			t.Errorf("%+v: %+v, copies %+v, experts %+v", l, g, c, e)
		}
	}
	l := Layout{Tensor: 1, Context: 1, Data: 2, Expert: 4} // no rank holds more than it has
	s := &spread{layout: &l}
	same(t, "experts", s.share(heldParameters{Expert: 7}), 7)
}

// Stages differ by a layer, of which inner stages get the first that are left over.
func TestLayersOfStages(t *testing.T) {
	for _, c := range []struct{ n, p, first, inner, last int }{{8, 1, 8, 8, 8}, {8, 2, 4, 4, 4},
		{9, 2, 5, 4, 4}, {10, 4, 2, 3, 2}, {11, 4, 3, 3, 2}, {9, 4, 2, 3, 2}, {12, 4, 3, 3, 3},
		{4, 3, 1, 2, 1}, {5, 3, 2, 2, 1}} {
		s := &spread{model: gpt(64, c.n, 1, 8), layout: &Layout{Pipeline: c.p}}
		if first, inner, last := s.stageLayers(); first != c.first || inner != c.inner ||
			last != c.last {
			t.Errorf("%+v: %d, %d, %d", c, first, inner, last)
		}
	}
}

// The first stage keeps one micro-batch for each stage, interleaved (p−1)/v more of them, and no
// more than there are.
func TestMicroBatchesInFlight(t *testing.T) {
	for _, c := range []struct {
		p, v, batch int
		want        float64
	}{{1, 1, 9, 1}, {4, 1, 9, 4}, {4, 2, 9, 5.5}, {4, 4, 9, 4.75}, {4, 1, 3, 3}, {4, 2, 5, 5},
		{2, 2, 9, 2.5}} {
		j := &Job{Batch: c.batch, Layout: Layout{Pipeline: c.p, Virtual: c.v, Data: 1, Micro: 1}}
		same(t, fmt.Sprint(c), j.inFlight(), c.want)
	}
}

// What a layer keeps is what its products and norms read, of two bytes each: queries, keys, values
// and the input of the output projection; and around an activation two matrices, or four products
// with a gate less one.
func TestLayersKeepWhatTheyRead(t *testing.T) {
	const h = 100.0
	for i, c := range []struct {
		m    models.Mixer
		want float64
	}{
		{&models.Softmax{Heads: 8, KVHeads: 2, HeadDim: 10}, 2 * (80 + 2*20 + 80)},
		{&models.Softmax{Heads: 8, KVHeads: 2, HeadDim: 10, ValueDim: 5}, 2 * (80 + 20 + 10 + 40)},
		{&models.MLA{Heads: 4, QueryRank: 7, KVRank: 9, RopeDim: 2, NopeDim: 3, ValueDim: 6},
			2 * (4*(5+5+12) + 7 + 9 + 2)},
		{&models.Recurrent{Heads: 4, KeyHeads: 2, KeyDim: 3, ValueDim: 5}, 2 * (2*6 + 3*20)},
		{&models.ParallelMixers{}, 8 * h},
	} {
		same(t, fmt.Sprint("mixer ", i), mixerKeeps(c.m, h), c.want)
	}
	for gated, want := range map[bool]float64{true: 60, false: 40} {
		same(t, "MLP", mlpBytes(10, gated), want)
	}
	j := &Job{Model: &models.Architecture{Hidden: 100}}
	moe := &models.MoE{Experts: 8, Active: 2, Intermediate: 10, SharedIntermediate: 5, Gated: true}
	k := j.groupKeeps(&models.Group{Count: 1, Norms: 1, MLP: moe})
	same(t, "experts, whole", k.Whole, 2*h+2*h)
	same(t, "experts, split", k.Split, 6*5+2*(2*h+6*10))
	moe.Latent = 30
	k = j.groupKeeps(&models.Group{Count: 1, Norms: 1, MLP: moe})
	same(t, "latent experts", k.Split, 6*5+2*(2*30+6*10))
	j.Dropout = true
	k = j.groupKeeps(&models.Group{Count: 1, MLP: &models.Dense{Intermediate: 10}})
	same(t, "mask", k.Whole, 2*h+h)
	same(t, "dense", k.Split, 40)
	mixer := &models.Softmax{Heads: 8, KVHeads: 8, HeadDim: 10}
	for attention, want := range map[Attention]map[bool]float64{Stored: {true: 40, false: 16},
		Flash: {true: 0, false: 0}} {
		for _, j.Dropout = range []bool{true, false} {
			j.Attention = attention
			k = j.groupKeeps(&models.Group{Count: 1, Mixer: mixer})
			same(t, "scores", k.Scores, want[j.Dropout])
		}
	}
}

// Memory is the sum of its lines, fits up to the last byte, and is the fullest stage's.
func TestTheFullestStageCounts(t *testing.T) {
	m := Memory{Lines: []Line{{"a", 3, ""}, {"outside", 4, ""}}, Capacity: 7}
	if m.Total() != 7 || m.Of("a") != 3 || m.Of("b") != 0 || m.Allocated() != 3 || !m.Fits() {
		t.Errorf("%+v", m)
	}
	if m.Capacity = 6.5; m.Fits() {
		t.Error("7 bytes fit into 6.5")
	}
	j := plainJob(t, "a100-80gb-sxm")
	m = j.Memory() // a context of 0.47 to 1.78 GiB, and about one for exchanges
	if gib := m.Of("outside") / (1 << 30); gib < 1.47 || gib > 2.78 {
		t.Errorf("%g GiB outside of the program", gib)
	}
	for _, c := range []struct {
		vocab, pipeline int
		stage           string
	}{{8, 1, "only"}, {8, 2, "first"}, {1 << 22, 2, "last"}, {8, 4, "first"}} {
		j := plainJob(t, "a100-80gb-sxm")
		j.Model = gpt(512, 8, 8, c.vocab)
		j.Layout.Pipeline = c.pipeline
		got := j.Memory()
		if got.Stage != c.stage {
			t.Errorf("%+v: the %s stage", c, got.Stage)
		}
		if first := j.FirstStage(); first.Total() > got.Total() {
			t.Errorf("%+v: the first stage holds %g, and the fullest %g", c, first.Total(),
				got.Total())
		}
	}
	j = plainJob(t, "a100-80gb-sxm") // four stages of ten layers: the second has one more
	j.Model, j.Layout.Pipeline, j.Batch = gpt(512, 10, 8, 8), 4, 64
	if j.Layout.Recompute = Full; j.Memory().Stage != "second" {
		t.Errorf("the %s stage is the fullest", j.Memory().Stage)
	}
}

// An exchange beside computing adds what it is longer by, and a share of what they have together.
func TestVisibleExchanges(t *testing.T) {
	for _, c := range []struct {
		eager                     bool
		exchange, computing, want float64
	}{{false, 1, 3, 0.2}, {true, 1, 3, 0.48}, {false, 5, 3, 2 + 0.6}, {true, 5, 3, 2 + 1.44},
		{false, 0, 3, 0}, {false, 3, 0, 3}, {false, 3, 3, 0.6}} {
		j := &Job{Eager: c.eager}
		same(t, fmt.Sprint(c), j.visibleExchange(c.exchange, c.computing)+1, c.want+1)
	}
	rapid.Check(t, func(t *rapid.T) {
		j := drawJob(t)
		l := &j.Layout
		if l.Context == 1 {
			t.Skip("no ring")
		}
		// keys and values of two bytes, once forward and twice backward
		bytes := float64(j.Model.KVBytesPerTokenPerGPU("bf16", l.Tensor)) * float64(l.Micro*j.Seq)
		ring := j.Machine.gather(bytes, group{l.Context, l.Tensor})
		near(t, "ring", j.exchanges().context, j.visibleExchange(3*ring, 3.5*j.work().Attention))
	})
}

// Experts get the vectors of their tokens, each tensor rank's part in two bytes, and send them back
// in each layer; tensor ranks exchange twice a layer, of which 0.55 is seen beside products.
func TestExpertExchanges(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		j := drawJob(t)
		l := &j.Layout
		x := j.exchanges()
		vector := 2 * j.rows() * float64(j.Model.Hidden)
		tensor := 4 * float64(j.Model.Layers()) * j.Machine.gather(vector, group{l.Tensor, 1})
		if j.Overlap {
			tensor *= 0.55
		}
		near(t, "tensor", x.tensor, tensor)
		moe, want := j.Model.Experts(), 0.0
		if moe != nil && l.Expert > 1 {
			want = 2 * float64(j.Model.Layers()) *
				j.Machine.scatter(vector/float64(l.Tensor), 2, group{l.Expert, 1})
		}
		near(t, "expert", x.expert, want)
		if want > 0 {
			moe.Latent = j.Model.Hidden / 4
			near(t, "latent", j.exchanges().expert, 2*float64(j.Model.Layers())*
				j.Machine.scatter(vector/4/float64(l.Tensor), 2, group{l.Expert, 1}))
		}
	})
}

// A group of one exchanges nothing, nor does one that sends nothing; without a link of a node each
// accelerator is a node, without a network nothing takes time, and a node's accelerators may share
// its port.
func TestMachinesAtTheirLimits(t *testing.T) {
	m := machineNamed(t, "h100-sxm")
	for _, g := range []group{{1, 1}, {0, 1}, {1, 8}} {
		if m.gather(1e9, g) != 0 || m.scatter(1e9, 2, g) != 0 {
			t.Errorf("%+v exchanges with itself", g)
		}
	}
	if m.gather(0, group{8, 1}) != 0 {
		t.Error("nothing takes time")
	}
	for g, want := range map[group]int{{8, 1}: 8, {16, 1}: 8, {4, 1}: 4, {8, 2}: 4, {8, 8}: 1,
		{8, 16}: 1, {2, 4}: 2} {
		if got := m.inside(g); got != want {
			t.Errorf("%+v has %d in a node, want %d", g, got, want)
		}
	}
	port := m.port()
	same(t, "port", port, m.Network.Bandwidth)
	shared := *m.Network
	shared.Port, m.Network = "node", &shared
	same(t, "shared port", m.port(), port/8)
	near, far := m.send(1e9, 7), m.send(1e9, 8)
	if near >= far || m.Send(1e9, false) != near || m.Send(1e9, true) != far {
		t.Errorf("%g within a node and %g beyond", near, far)
	}
	up := m.ScaleUp
	if m.ScaleUp = nil; m.inside(group{8, 1}) != 1 || m.send(1e9, 1) != far {
		t.Error("a link that is not there is used")
	}
	m.ScaleUp, m.Network = up, nil
	if m.send(1e9, 8) != 0 || m.gather(1e9, group{4, 8}) != 0 || m.scatter(1e9, 2, group{4, 8}) !=
		0 || m.send(1e9, 1) != near {
		t.Error("a network that is not there is used")
	}
}

// Computing and moving take as long as the longer of the two where they overlap in full, as both
// together where they do not, and lie between otherwise.
func TestKernelsJoin(t *testing.T) {
	for overlap, want := range map[float64]float64{math.Inf(1): 4, 1: 7, 2: 5} {
		r := rates{bandwidth: 2, overlap: overlap}
		same(t, fmt.Sprint("overlap ", overlap), r.join(3, 8), want)
		same(t, fmt.Sprint("overlap ", overlap), r.join(4, 6), want)
	}
	for _, c := range []struct {
		kind              Attention
		generation        string
		forward, backward float64
	}{{Flash1, "ampere", 0.4, 0.3}, {Flash2, "hopper", 0.38, 0.33}, {Flash, "hopper", 0.6, 0.5},
		{Flash, "blackwell", 0.6, 0.5}, {Stored, "ampere", 0.6, 0.5}} {
		if f, b := scores(c.kind, c.generation); f != c.forward || b != c.backward {
			t.Errorf("%+v: %g, %g", c, f, b)
		}
	}
}

// Products in 8 bits compute at their own rate and bring operands to it, 6 bytes for each element,
// once for each side; those that are not quantised do not.
func TestProductsInEightBits(t *testing.T) {
	j := plainJob(t, "h100-sxm")
	wide := j.rates()
	j.Precision = hardware.FP8
	narrow := j.rates()
	a := &j.Machine.Accelerator
	share, _ := productEfficiencyOf(a, hardware.FP8)
	same(t, "rate", narrow.operand, a.Peak[hardware.FP8]*share)
	if wide.narrow || !narrow.narrow || narrow.wide != wide.wide || narrow.operand <= narrow.wide {
		t.Errorf("%+v and %+v", wide, narrow)
	}
	for _, r := range []*rates{&wide, &narrow} {
		r.bandwidth = 1e40 // computing alone
		r.overlap = math.Inf(1)
	}
	const rows = 1000.0
	for _, quantised := range []bool{true, false} {
		p := &models.Linear{N: 300, K: 200, Quantised: quantised}
		plain, got := wide.product(p, rows), narrow.product(p, rows)
		compute, cast := plain.weights, 0.0
		if quantised {
			compute *= narrow.wide / narrow.operand
			cast = 6 * rows / narrow.moved
		}
		same(t, "forward", got.forward, compute+cast*200)
		same(t, "inputs", got.inputs, compute+cast*300)
		same(t, "weights", got.weights, compute)
		same(t, "plain", plain.forward, 2*rows*300*200/wide.wide)
		same(t, "head", narrow.head(p, rows).weights, plain.weights)
	}
	// Experts share their rows; two of them take as long as one with half of the rows, twice.
	p := &models.Linear{N: 300, K: 200}
	same(t, "grouped", wide.grouped(p, rows, 2).forward,
		2*wide.product(p, rows/2).forward/expertShare)
	same(t, "grouped, one", wide.grouped(p, rows, 0).inputs,
		wide.product(p, rows).inputs/expertShare)
	scores := wide.storedScores(&models.Attention{Heads: 4, PrefillFLOPs: 10}, 100)
	same(t, "scores", scores, 10*1e4/wide.wide+13*1e4*4/wide.moved)
}

// A search lists each way to divide the accelerators once, keeps what is given, and lists the ways
// to compute again that differ.
func TestLayoutsAreListedOnce(t *testing.T) {
	j := plainJob(t, "a100-80gb-sxm")
	for _, fixed := range [][]string{{}, {"data"}, {"tensor"}, {"tensor", "pipeline"},
		{"data", "recompute"}, {"zero", "virtual"}} {
		s := &Search{Fixed: map[string]bool{}}
		for _, name := range fixed {
			s.Fixed[name] = true
		}
		seen := map[Layout]bool{}
		for _, l := range s.layouts(j) {
			if seen[l] || l.Tensor*l.Context*l.Pipeline*l.Data != 8 || l.Context != 1 ||
				s.Fixed["data"] && l.Data != 2 || s.Fixed["tensor"] && l.Tensor != 2 ||
				s.Fixed["pipeline"] && l.Pipeline != 2 || s.Fixed["zero"] && l.ZeRO != 1 ||
				l.ZeRO < 1 || l.ZeRO > 3 || s.Fixed["recompute"] && l.Recompute != NoRecompute ||
				l.Recompute == Selective || s.Fixed["virtual"] && l.Virtual != 1 ||
				l.Virtual > 1 && (l.Pipeline == 1 || l.Virtual*l.Pipeline > 10) || l.Virtual > 8 {
				t.Fatalf("%v: %+v", fixed, l)
			}
			seen[l] = true
		}
		want := 0
		for tensor := 1; tensor <= 8; tensor *= 2 {
			for pipeline := 1; tensor*pipeline <= 8; pipeline *= 2 {
				data := 8 / tensor / pipeline
				if s.Fixed["data"] && data != 2 || s.Fixed["tensor"] && tensor != 2 ||
					s.Fixed["pipeline"] && pipeline != 2 {
					continue
				}
				chunks := 1
				if pipeline > 1 && !s.Fixed["virtual"] {
					chunks = min(8, 10/pipeline)
				}
				again, zero := 2, 3
				if s.Fixed["recompute"] {
					again = 1
				}
				if s.Fixed["zero"] {
					zero = 1
				}
				want += chunks * again * zero
			}
		}
		if len(seen) != want || want == 0 {
			t.Errorf("%v: %d layouts, want %d", fixed, len(seen), want)
		}
	}
	j.Attention = Stored
	s := &Search{}
	if !slices.ContainsFunc(s.layouts(j), func(l Layout) bool { return l.Recompute == Selective }) {
		t.Error("scores that are stored are never computed again")
	}
	j.Attention, j.Layout.Recompute = Flash, Selective
	s.Fixed = map[string]bool{"recompute": true}
	if list := s.layouts(j); len(list) == 0 || list[0].Recompute != Selective {
		t.Error("what is given is not kept")
	}
	if j.Layout.Schedule = ZeroBubble; !slices.Equal(s.chunks(j, 2), []int{1}) {
		t.Errorf("zero bubble in chunks %v", s.chunks(j, 2))
	}
	j.Layout.Schedule, j.Model = OneForwardOneBackward, gpt(512, 40, 8, 8)
	if got := s.chunks(j, 2); !slices.Equal(got, []int{1, 2, 3, 4, 5, 6, 7, 8}) ||
		!slices.Equal(s.chunks(j, 14), []int{1, 2, 3}) {
		t.Errorf("40 layers in %v chunks", got)
	}
	if got := doubles(9); !slices.Equal(got, []int{1, 2, 4, 8}) || len(doubles(8)) != 4 ||
		len(doubles(0)) != 0 {
		t.Errorf("powers of two: %v", got)
	}
	if got := divisors(6, 12); !slices.Equal(got, []int{1, 2, 3, 4, 6}) ||
		!slices.Equal(divisors(12, 12), []int{1, 2, 3, 4, 6, 12}) {
		t.Errorf("divisors: %v", got)
	}
}

// Dimensions that are given and do not go together are named with what they do not divide.
func TestGivenDimensionsThatDoNotDivide(t *testing.T) {
	for _, c := range []struct {
		given  map[string]bool
		change func(*Layout)
		want   string
	}{
		{map[string]bool{"tensor": true}, func(l *Layout) { l.Tensor = 3 },
			"tensor: 3 does not divide the 8 accelerators"},
		{map[string]bool{"pipeline": true}, func(l *Layout) { l.Pipeline = 5 },
			"pipeline: 5 does not divide the 8 accelerators"},
		{map[string]bool{"data": true}, func(l *Layout) { l.Data = 7 },
			"data: 7 does not divide the 8 accelerators"},
		{map[string]bool{"tensor": true, "pipeline": true, "data": true},
			func(l *Layout) { l.Tensor, l.Pipeline, l.Data = 4, 4, 1 },
			"tensor 4 x pipeline 4 x context 1 x data 1 take 16 accelerators, and gpus is 8"},
		{map[string]bool{"tensor": true, "data": true},
			func(l *Layout) { l.Tensor, l.Data = 4, 4 },
			"the dimensions that are given do not divide the 8 accelerators"},
	} {
		j := plainJob(t, "a100-80gb-sxm")
		c.change(&j.Layout)
		if err := j.Fill(c.given); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, want %s", err, c.want)
		}
	}
	for _, pipeline := range []int{1, 2, 4} { // data ranks follow
		j := plainJob(t, "a100-80gb-sxm")
		j.Layout.Pipeline, j.Layout.Data = pipeline, 77
		err := j.Fill(map[string]bool{"tensor": true, "pipeline": true})
		if err != nil || j.Layout.Tensor != 2 || j.Layout.Data != 4/pipeline {
			t.Errorf("%d stages: %+v, %v", pipeline, j.Layout, err)
		}
	}
}

// A job that does not fit says what it needs, what that is beyond, and what takes most.
func TestWhatDoesNotFit(t *testing.T) {
	j := plainJob(t, "a100-80gb-sxm")
	testkit.OK(t, j.Fit())
	m := j.Memory()
	j.Machine.Accelerator.Memory = m.Total() - 1<<29
	largest := slices.MaxFunc(m.Lines, func(a, b Line) int { return int(a.Bytes - b.Bytes) })
	err := j.Fit()
	if err == nil || !strings.HasPrefix(err.Error(), fmt.Sprintf("the job needs %s on one "+
		"a100-80gb-sxm, 0.5 GiB more than the %s that it has, of which %s take %s; ",
		gib(m.Total()), gib(m.Total()-1<<29), largest.Name, gib(largest.Bytes))) {
		t.Errorf("%v", err)
	}
	j.Machine.Accelerator.Memory = outside
	if words := j.wouldFit(1e12); words != "the accelerator is too small for any program" {
		t.Error(words)
	}
	if err := j.Fit(); err == nil || !strings.Contains(err.Error(), "too small for any program") {
		t.Errorf("%v", err)
	}
	if _, err := j.Best(Search{}); err == nil || !strings.Contains(err.Error(),
		fmt.Sprintf("of the %s that a100-80gb-sxm has; ", gib(outside))) {
		t.Errorf("%v", err)
	}
}

// Where saving takes longer than twice the time between failures, the interval is that time; a
// LoRA saves what it trains.
func TestFailuresAtTheirLimits(t *testing.T) {
	j := plainJob(t, "a100-80gb-sxm")
	f := j.Failures()
	j.GPUs *= 10
	same(t, "MTBF", j.Failures().MTBF*10, f.MTBF)
	same(t, "checkpoint", j.Failures().Checkpoint*10, f.Checkpoint)
	j.GPUs = 8
	j.Method = LoRA
	same(t, "checkpoint of a LoRA", j.Failures().Checkpoint,
		(2+12)*float64(trained(j.Model, 16))/1e9)
	j.Method = Pretrain
	j.Optimizer.Master = 1e12
	if g := j.Failures(); g.Interval != g.MTBF || g.Checkpoint < 2*g.MTBF {
		t.Errorf("%+v", g)
	}
}

// Of equal stages, a zero bubble is the plain one less the gradients of weights that fill it, twice
// for each other stage, and not below 0; chunks divide the plain one.
func TestBubblesOfSchedules(t *testing.T) {
	j := plainJob(t, "a100-80gb-sxm")
	j.Model, j.Layout.Pipeline, j.Batch = gpt(512, 8, 8, 1), 4, 64
	plain := j.Step()
	j.Layout.Schedule = ZeroBubble
	less := 2 * 3 * j.work().Weights / 4
	same(t, "zero bubble", j.Step().Bubble, max(0, plain.Bubble-less))
	if less <= 0 {
		t.Error("no gradients of weights")
	}
	j.Layout.Schedule, j.Layout.Virtual = OneForwardOneBackward, 2
	x := j.exchanges().pipeline - j.exchanges().pipeline/2 // the chunks send twice as often
	same(t, "interleaved", j.Step().Bubble, (plain.Bubble+3*x)/2)
	// DPO computes a frozen copy forward.
	j = plainJob(t, "a100-80gb-sxm")
	base := j.Step()
	j.Method = DPO
	w, m := j.work(), float64(j.Layout.MicroBatches(j.Batch))
	same(t, "DPO", j.Step().Forward, base.Forward+m*(w.Forward+j.exchanges().tensor)/2)
	// A forward pass has its part of exchanges and of the bubble.
	for recompute, passes := range map[Recompute]float64{NoRecompute: 2, Full: 3} {
		j = plainJob(t, "a100-80gb-sxm")
		j.Layout.Recompute = recompute
		s := j.Step()
		same(t, "forward", j.Forward(), s.Forward*(1+s.Bubble/(s.Forward+s.Backward+s.Recompute))+
			s.Tensor/passes+s.Pipeline/2)
	}
}

// A loop of reinforcement learning is checked at its limits, by name.
func TestLimitsOfLoops(t *testing.T) {
	const most = 1 << 22
	for i, c := range []struct {
		change func(*RLLoop)
		want   string
	}{
		{func(*RLLoop) {}, ""}, {func(l *RLLoop) { l.Prompts = 0 }, "prompts: found 0"},
		{func(l *RLLoop) { l.Samples = 0 }, "samples: found 0"},
		{func(l *RLLoop) { l.PromptTokens = most }, ""},
		{func(l *RLLoop) { l.PromptTokens = most + 1 }, "prompt-tokens: found 4194305"},
		{func(l *RLLoop) { l.PromptTokens = 1 }, ""},
		{func(l *RLLoop) { l.Mean = 0 }, "answer: found 0"},
		{func(l *RLLoop) { l.Mean = l.Most }, ""},
		{func(l *RLLoop) { l.Mean = l.Most + 1 }, "answer: a mean of 4097 tokens"},
		{func(l *RLLoop) { l.Prompts, l.Samples = 1<<11, 1<<11 }, ""},
		{func(l *RLLoop) { l.Prompts, l.Samples = 1<<11, 1<<11+1 }, "prompts x samples: found 419"},
		{func(l *RLLoop) { l.CV = 0 }, "answer-cv: found 0"}, {func(l *RLLoop) { l.CV = 10 }, ""},
		{func(l *RLLoop) { l.CV = 10.5 }, "answer-cv: "},
		{func(l *RLLoop) { l.CV = math.NaN() }, "answer-cv: "},
		{func(l *RLLoop) { l.Tensor = 3 }, "rollout-tensor: 3 does not divide the 8"},
		{func(l *RLLoop) { l.Tensor = 4 }, ""}, {func(l *RLLoop) { l.GPUs = 0 }, "rollout-gpus: "},
	} {
		l := rlLoop(t)
		c.change(l)
		if err := l.Check(); (err != nil) != (c.want != "") || err != nil &&
			!strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%d: %v, want %q", i, err, c.want)
		}
	}
}

// The parts of a step of reinforcement learning are told with their shares of it, and the tail with
// its own; waiting is told where there is any.
func TestTextOfLoops(t *testing.T) {
	l := rlLoop(t)
	r := &RLResult{Generate: 5, Half: 3, Tenth: 2, Even: 4, Score: 1, Update: 3, Transfer: 1,
		Step: 10, Tokens: 800, Rate: 10, Warnings: []string{"mind"}}
	text := r.Text(l)
	for _, want := range []string{"Time of a step: 10 s\n", " 5 s  50.0 %\n", " 1 s  10.0 %\n",
		" 3 s  30.0 %\n", "last half of the answers takes 3 s, the last tenth 2 s",
		"take 4 s: the tail costs 1 s, 10.0 % of the step", "800 tokens a step, 10 a second",
		"warning: mind\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q lacks %q", text, want)
		}
	}
	if strings.Contains(text, "wait") || strings.Contains(text, "beside") {
		t.Errorf("%q has waits", text)
	}
	r.Idle, l.Mode = 0.25, OneStepOff
	if text = r.Text(l); !strings.Contains(text, "wait for each other 25.0 % of the time") ||
		!strings.Contains(text, "beside the other parts") {
		t.Errorf("%q has no waits", text)
	}
}
