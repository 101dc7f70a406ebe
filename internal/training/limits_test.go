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
	"github.com/llmsim/llmsim/scenarios"
)

// methods are all ways in which weights learn.
func methods() []Method { return []Method{Pretrain, SFT, LoRA, DPO} }

// The reasons why the FLOP of a token differ from 6N add up to the difference, but for their digits
// and for reasons below a thousandth.
func TestReasonsAddUp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		j := drawJob(t)
		j.Model.TiedEmbeddings = rapid.Bool().Draw(t, "tied")
		j.Model.LearnedPositions = rapid.SampledFrom([]int{0, 1 << 16}).Draw(t, "positions")
		j.Method = rapid.SampledFrom(methods()).Draw(t, "method")
		c := j.Compute(scenarios.Price{})
		sum := 100.0
		for _, why := range c.Why {
			share := 0.0
			if _, err := fmt.Sscanf(why, "%f %%:", &share); err != nil &&
				!strings.HasPrefix(why, "N counts the parameters on the path of a token") {
				t.Errorf("%q has no share", why)
			}
			sum += share
		}
		if want := 100 * c.FLOPs / c.SixN; math.Abs(sum-want) > 0.4 {
			t.Errorf("%v make up %.1f %% of 6N, want %.1f", c.Why, sum, want)
		}
	})
}

// What a run costs is what its steps cost: tokens over tokens a second are the time without
// failures, accelerators times hours are paid, and the model's FLOP over the peak are the MFU.
func TestCostOfARun(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		j := drawJob(t)
		j.Method = rapid.SampledFrom(methods()).Draw(t, "method")
		j.Tokens = rapid.Float64Range(1e6, 1e13).Draw(t, "tokens")
		price := scenarios.Price{Amount: rapid.Float64Range(0.1, 10).Draw(t, "price")}
		c := j.Compute(price)
		near(t, "tokens of a step", c.TokensPerSecond*c.StepSeconds, float64(j.Batch*j.Seq))
		near(t, "tokens of all steps", c.Steps*float64(j.Batch*j.Seq), j.Tokens)
		near(t, "working time", c.Days*86400*c.Failures.Goodput, j.Tokens/c.TokensPerSecond)
		hours := c.Days * 24 * float64(j.GPUs)
		near(t, "dollars", c.Dollars, hours*price.Amount)
		near(t, "kWh", 1000*c.KWh, hours*j.Machine.Accelerator.PeakPower)
		rate := j.Machine.Accelerator.Peak[j.Precision] * float64(j.GPUs)
		near(t, "MFU", c.MFU*rate, c.FLOPs*c.TokensPerSecond)
		matrices, attention := j.forwardFLOPs(true)
		again := map[Recompute]float64{NoRecompute: 0, Selective: attention,
			Full: matrices +
				attention - 2*float64(j.Model.Vocab*j.Model.Hidden)}[j.Layout.Recompute]
		near(t, "HFU", (c.HFU-c.MFU)*rate+1, again*c.TokensPerSecond+1)
		if c.MFU > c.HFU || c.HFU > 1 {
			t.Errorf("MFU %g, HFU %g", c.MFU, c.HFU)
		}
	})
}

// The text has parts that make up the step, and lines that make up the memory, but for their
// digits.
func TestTextAddsUp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		j := drawJob(t)
		j.Tokens = rapid.SampledFrom([]float64{0, 1e12}).Draw(t, "tokens")
		c := j.Compute(scenarios.Price{Amount: 2})
		text := c.Text(j)
		memory, _, _ := strings.Cut(text, "\n  total ")
		var gibs, shares float64
		for line := range strings.Lines(memory) {
			if before, _, is := strings.Cut(line, " GiB "); is {
				gibs += number(t, before)
			}
		}
		for line := range strings.Lines(text) {
			if before, is := strings.CutSuffix(line, " %\n"); is && line[0] == ' ' {
				shares += number(t, before)
			}
		}
		if want := c.Memory.Total() / (1 << 30); math.Abs(gibs-want) > 1 || want < 1 {
			t.Errorf("lines of %.1f GiB, want %.1f:\n%s", gibs, want, text)
		}
		if math.Abs(shares-100) > 0.5 {
			t.Errorf("parts of %.1f %% of the step:\n%s", shares, text)
		}
		for words, want := range map[string]bool{"\nFailures: ": j.Tokens > 0,
			"No published run": !c.Fitted, "kWh": j.Tokens > 0, "$": j.Tokens > 0} {
			if strings.Contains(text, words) != want {
				t.Errorf("%q is said: %v, want %v:\n%s", words, !want, want, text)
			}
		}
	})
}

// number returns the last number of a text.
func number(t *rapid.T, text string) (x float64) {
	fields := strings.Fields(text)
	if _, err := fmt.Sscan(fields[len(fields)-1], &x); err != nil {
		t.Fatalf("%q ends with no number", text)
	}
	return x
}

// Dropout reads and writes five bytes of each element after the mixer and after the MLP, in either
// pass. An eager program moves 0.7 times more in element-wise kernels, of which the backward pass
// has twice as much.
func TestElementwiseByClosedForm(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		j := drawJob(t)
		j.Dropout, j.Eager = false, false
		dropout, eager := *j, *j
		dropout.Dropout, eager.Eager = true, true
		w, d, e := j.work(), dropout.work(), eager.work()
		ranks := 1.0
		if j.Layout.Sequence {
			ranks = float64(j.Layout.Tensor)
		}
		moved := j.Machine.Accelerator.Bandwidth * j.Machine.Constants.Elementwise.Memory
		masks := j.rows() * float64(2*j.Model.Layers()*j.Model.Hidden) * 5 / moved / ranks
		near(t, "dropout, forward", d.Forward, w.Forward+masks)
		near(t, "dropout, backward", d.Backward, w.Backward+masks)
		elements := 0.0
		for _, k := range j.Model.ElementwiseKernels(j.Layout.Tensor) {
			n := float64(int64(k.Count) * int64(k.Elements))
			switch k.Name {
			case "norm", "embedding", "streams":
				n /= ranks
			case models.ExpertActivation, models.ExpertCombine:
				n /= float64(j.Layout.Tensor)
			}
			elements += n
		}
		more := 0.7 * 2 * j.rows() * elements / moved
		near(t, "eager, forward", e.Forward, w.Forward+more)
		near(t, "eager, backward", e.Backward, w.Backward+2*more)
	})
}

// Where memory takes no time, the routed experts of a token compute 2·2·h·i FLOP each in a pass, at
// the share of the rate that grouped products reach. Frozen weights have no gradients.
func TestExpertsByClosedForm(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		j := drawJob(t)
		moe := j.Model.Experts()
		if moe == nil {
			t.Skip("no experts")
		}
		j.Machine.Accelerator.Bandwidth = 1e40
		j.Method = rapid.SampledFrom(methods()).Draw(t, "method")
		r, w := j.rates(), work{}
		r.addExperts(&w)
		h, i := float64(j.Model.Hidden), float64(moe.Intermediate)
		visits := j.rows() / float64(j.Layout.Tensor) * float64(j.Model.Layers()*moe.Active)
		want := visits * 4 * h * i / r.wide / expertShare
		near(t, "forward", w.Forward, want)
		near(t, "gradients of weights", w.Weights, want)
		if j.Method != LoRA {
			want *= 2
		}
		near(t, "backward", w.Backward, want)
	})
}

// ZeRO's last stage gathers the weights of all layers and of a stage's part of the ends for each
// pass, 2 bytes each, and sums as many bytes of gradients unless the weights are frozen.
func TestWeightsByClosedForm(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		j := drawGPT(t)
		l, p := &j.Layout, j.Model.Parameters()
		l.ZeRO, j.Method = 3, rapid.SampledFrom(methods()).Draw(t, "method")
		ends := float64(p.Embedding)
		if l.Pipeline > 1 {
			ends *= 2
		}
		bytes := 2 * (float64(p.Attention+p.MLP)/float64(l.Tensor) + float64(p.Norms+p.Biases) +
			ends/float64(l.Tensor*l.Pipeline))
		times := 3.0
		if j.Method == LoRA {
			times = 2
		}
		near(t, "seconds", j.exchanges().weights,
			times*j.Machine.gather(bytes, group{l.Data, l.Tensor}))
	})
}

// The stages of a model hold it: each tensor rank its part of what is split, and all of the norms
// and biases; a tied embedding is held twice where its ends are apart. Stages differ by one layer.
func TestStagesHoldTheModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		j := drawJob(t)
		j.Model.TiedEmbeddings = rapid.Bool().Draw(t, "tied")
		l, p := &j.Layout, j.Model.Parameters()
		whole := j.spread().stage(j.Model.Layers(), j.spread().embedding()+j.spread().head())
		want := p.Total() + int64(l.Tensor-1)*(p.Router+p.Norms+p.Biases)
		if l.Pipeline > 1 && j.Model.TiedEmbeddings {
			want += p.Embedding
		}
		near(t, "parameters", whole.Dense*float64(l.Tensor)+whole.Expert*float64(l.Expert),
			float64(want))
		first, inner, last := j.spread().stageLayers()
		half := j.spread().stage(first, 0)
		near(t, "of a stage", half.total()*float64(j.Model.Layers()),
			j.spread().stage(j.Model.Layers(), 0).total()*float64(first))
		n, stages := j.Model.Layers(), l.Pipeline
		if stages == 1 {
			last, inner = 0, 0
		}
		held := first + max(0, stages-2)*inner + last
		if held < n || held >= n+stages || stages > 1 && n%stages == 0 && held != n {
			t.Errorf("%d stages of %d, %d and %d layers hold %d", stages, first, inner, last, n)
		}
	})
}

// An accelerator reaches what was fitted to it, else what was fitted to one of its generation, in
// each number format; where none was, 0.65.
func TestRelativesReachAsMuch(t *testing.T) {
	catalog, err := hardware.Load()
	testkit.OK(t, err)
	for _, a := range catalog.Accelerators {
		for _, format := range Precisions() {
			share, own := productEfficiencyOf(&a, format)
			of := map[string]float64{}
			for _, r := range reaches() {
				fitted, err := catalog.Accelerator(r.accelerator)
				testkit.OK(t, err)
				if r.of[format] > 0 && fitted.Generation == a.Generation {
					of[r.accelerator] = r.of[format]
				}
			}
			_, named := of[a.Name]
			ok := len(of) == 0 && share == 0.65
			for name, s := range of {
				ok = ok || s == share && (!named || name == a.Name)
			}
			if !ok || own != (named && a.Name != "tpu-v4") {
				t.Errorf("%s in %s reaches %g, its own %v; of its generation: %v", a.Name, format,
					share, own, of)
			}
		}
	}
}

// A job on other numbers of accelerators is on each number from an eighth to eight times its own on
// which a layout fits, with a layout that is accepted and the time that it takes there. The parts
// of their steps add up to accelerators times seconds, and a part of its own has a hundredth of
// one.
func TestScaling(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		j := drawGPT(t)
		j.GPUs = rapid.SampledFrom([]int{1, 4, 6, 8}).Draw(t, "accelerators")
		j.Batch, j.Model = 64, gpt(1024, 4, 16, 51200)
		j.Machine.Accelerator.Memory *= rapid.Float64Range(0.03, 0.2).Draw(t, "memory")
		scaling := j.Scaling(nil)
		var numbers, want []int
		for n := 1; n <= 64; n *= 2 {
			own := *j
			own.GPUs = n * j.GPUs / 8
			if n*j.GPUs%8 == 0 && own.Fill(nil) == nil {
				want = append(want, own.GPUs)
			}
		}
		names, shares := Shares(scaling)
		large := make([]bool, len(shares)-1)
		for i, s := range scaling {
			numbers = append(numbers, s.GPUs)
			own := *j
			own.GPUs, own.Layout = s.GPUs, s.Layout
			testkit.OK(t, own.Check())
			memory, step := own.Memory(), own.Step()
			if !memory.Fits() || step.Total() != s.Total {
				t.Fatalf("%+v fits: %v, and a step takes %g s, want %g", s.Layout, memory.Fits(),
					s.Total, step.Total())
			}
			sum := 0.0
			for k, share := range shares {
				sum += share.Y[i]
				if k < len(large) {
					large[k] = large[k] || share.Y[i] >= 0.01*s.Total*float64(s.GPUs)
				}
			}
			near(t, "accelerators times seconds", sum, s.Total*float64(s.GPUs))
			if !strings.HasPrefix(names[i], fmt.Sprintf("%d\n", s.GPUs)) {
				t.Errorf("%q names %d accelerators", names[i], s.GPUs)
			}
		}
		if !slices.Equal(numbers, want) || slices.Contains(large, false) {
			t.Errorf("%d accelerators are listed, want %d; parts are large: %v", numbers, want,
				large)
		}
	})
}

// A job is accepted exactly where its dimensions divide what they have to, and each is in its
// range.
func TestCheckIsExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		j := drawGPT(t)
		j.Model = gpt(512, 6, 8, 51200)
		experts := rapid.SampledFrom([]int{1, 12}).Draw(t, "experts")
		if experts > 1 {
			j.Model.Groups = models.Uniform(6, j.Model.Attends(),
				&models.MoE{Experts: experts, Active: 2, Intermediate: 64})
		}
		draw := func(name string, most int) int {
			n := rapid.IntRange(-2*most, most).Draw(t, name)
			if n < 0 {
				return 1
			}
			return n
		}
		l := &j.Layout
		*l = Layout{Tensor: draw("tensor", 4), Context: draw("context", 2),
			Pipeline: draw("pipeline", 7), Data: draw("data", 4), Expert: draw("expert", 4),
			Micro: draw("micro", 3), Virtual: draw("virtual", 3), ZeRO: draw("zero", 5) - 1,
			Shard: draw("shard", 4), Recompute: NoRecompute}
		if rapid.Bool().Draw(t, "zero-bubble") {
			l.Schedule = ZeroBubble
		}
		j.Seq = draw("seq", 4)
		j.GPUs = l.Tensor * l.Context * l.Pipeline * l.Data
		j.Batch = draw("batch", 40)
		ok := j.Seq > 0 && j.GPUs > 0 && j.Batch > 0 && l.Expert > 0 && l.Micro > 0 &&
			l.Virtual > 0 && l.ZeRO >= 0 && l.ZeRO <= 3
		ok = ok && 8%l.Tensor == 0 && l.Pipeline <= 6 && l.Pipeline*l.Virtual <= 8 &&
			(l.Virtual == 1 || l.Pipeline > 1 && l.Schedule != ZeroBubble) &&
			j.Seq%l.Context == 0 && (l.Shard == 0 || l.Data*l.Context%l.Shard == 0) &&
			(l.Expert == 1 || experts%l.Expert == 0 && l.Tensor*l.Context*l.Data%l.Expert == 0)
		ok = ok && j.Batch%(l.Data*l.Micro) == 0 && j.Batch/(l.Data*l.Micro) >= l.Pipeline &&
			(l.Virtual == 1 || j.Batch/(l.Data*l.Micro)%l.Pipeline == 0)
		if err := j.Check(); (err == nil) != ok {
			t.Errorf("%+v, %d sequences of %d tokens: %v, want accepted %v", *l, j.Batch, j.Seq,
				err,
				ok)
		}
	})
	j := Job{Machine: machineNamed(t, "a100-80gb-sxm"), Precision: hardware.BF16, Model: gpt(8, 1,
		1, 1), GPUs: 1, Batch: 1, Seq: 1, Layout: Layout{Tensor: 1, Context: 1, Pipeline: 1,
		Data:   1,
		Expert: 1, Micro: 1, Virtual: 1}}
	for _, n := range []struct {
		value *int
		name  string
		least int
	}{{&j.Seq, "seq", 1}, {&j.Layout.Shard, "shard", 0}, {&j.GPUs, "gpus", 1}} {
		before := *n.value
		for value, ok := range map[int]bool{n.least - 1: false, n.least: true, 1 << 24: true,
			1<<24 + 1: false} {
			*n.value = value
			if err := j.checkNumbers(); (err == nil) != ok || err != nil &&
				!strings.HasPrefix(err.Error(), n.name+": found ") {
				t.Errorf("%s %d: %v, want accepted %v", n.name, value, err, ok)
			}
		}
		*n.value = before
	}
	for tokens, ok := range map[float64]bool{0: true, -1: false, 1e18: true, 1.1e18: false} {
		if j.Tokens = tokens; (j.checkNumbers() == nil) != ok {
			t.Errorf("%g tokens are accepted: %v", tokens, !ok)
		}
	}
	j.Tokens, j.Precision = 0, hardware.FP8
	if err := j.checkNumbers(); err == nil || !strings.HasSuffix(err.Error(), "bf16, fp16") {
		t.Errorf("FP8 on an A100: %v", err)
	}
}

// A count of tokens is its digits times the unit; sums are up to 1e18 tokens, and above 0.
func TestTokens(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := float64(rapid.IntRange(1, 1000).Draw(t, "n"))
		for unit, scale := range map[string]float64{"": 1, "K": 1e3, "M": 1e6, "B": 1e9,
			"T": 1e12} {
			if got, err := ParseTokens(fmt.Sprint(n, unit)); err != nil || got != n*scale {
				t.Errorf("%g%s is %g (%v)", n, unit, got, err)
			}
		}
	})
	for text, ok := range map[string]bool{"1e18": true, "1000000T": true, "1000001T": false,
		"0": false, "-1B": false, "NaN": false, "B": false, "1 B": false} {
		if _, err := ParseTokens(text); (err == nil) != ok {
			t.Errorf("%q: %v, want accepted %v", text, err, ok)
		}
	}
}

// Seconds of accelerators are of answers, of learning, or idle, in each mode; the rate is what all
// of them make of the tokens.
func TestAcceleratorsOfAStep(t *testing.T) {
	l := rlLoop(t)
	rapid.Check(t, func(t *rapid.T) {
		draw := func(name string) float64 { return rapid.Float64Range(0.1, 100).Draw(t, name) }
		l.Mode = rapid.SampledFrom([]RLMode{Colocated, Apart, OneStepOff}).Draw(t, "mode")
		l.GPUs = rapid.IntRange(1, 100).Draw(t, "answering")
		r := &RLResult{Generate: draw("answers"), Score: draw("passes"), Update: draw("learning"),
			Transfer: draw("weights"), Tokens: draw("tokens")}
		l.addUp(r)
		all, learning := float64(l.Job.GPUs), r.Score+r.Update
		busy := all * (r.Generate + learning)
		if l.Mode != Colocated {
			busy = float64(l.GPUs)*r.Generate + all*learning
			all += float64(l.GPUs)
		}
		near(t, "seconds of accelerators", (1-r.Idle)*all*(r.Step-r.Transfer), busy)
		near(t, "rate", r.Rate*all*r.Step, r.Tokens)
		weights := 2 * float64(l.Job.Model.Parameters().Total()) / float64(l.Tensor)
		score, update := 2*l.Job.Forward(), l.Job.Step()
		l.timeLearning(r, l.Job)
		near(t, "weights", r.Transfer, 3.5*l.Job.Machine.Send(weights, l.Mode != Colocated))
		near(t, "forward passes", r.Score, score)
		near(t, "learning", r.Update, update.Total())
	})
}

// The error of a job that fits nowhere names the least multiple of its accelerators whose memory
// its states fit into.
func TestEnoughAccelerators(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		j := drawGPT(t)
		states := rapid.Float64Range(1e11, 1e13).Draw(t, "bytes")
		words, n := j.wouldFit(states+outside), 0
		_, err := fmt.Sscanf(words, "about %d accelerators would do", &n)
		testkit.OK(t, err)
		room := j.Machine.Accelerator.Memory - outside
		needed := float64(j.GPUs) * states / room
		if float64(n) < needed || float64(n) >= 2*needed || n%j.GPUs != 0 {
			t.Errorf("%s, and %g are needed", words, needed)
		}
	})
}

// Sequences of a step are a multiple of the accelerators, and some four million tokens where that
// many accelerators can have them.
func TestUsualBatch(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		j := &Job{GPUs: rapid.IntRange(1, 1<<14).Draw(t, "gpus"),
			Seq: rapid.IntRange(1, 1<<17).Draw(t, "seq")}
		n := j.UsualBatch()
		if n%j.GPUs != 0 || n < j.GPUs || n > j.GPUs && n*j.Seq > 4<<20 ||
			(n+j.GPUs)*j.Seq <= 4<<20 {
			t.Errorf("%d sequences of %d tokens on %d accelerators", n, j.Seq, j.GPUs)
		}
	})
}

// Optimizers keep what AdamW keeps, in 32 bits each, but for what they do without, or keep in fewer
// bits: 18 bytes of a parameter with its 16-bit weight, or 16 with the gradients of Rajbhandari et
// al., arXiv:1910.02054.
func TestOptimizersKeepWhatTheyNeed(t *testing.T) {
	adam := Optimizer{Master: 4, First: 4, Second: 4, Gradient: 4}
	of := func(change func(o *Optimizer)) Optimizer {
		o := adam
		change(&o)
		return o
	}
	oneMean := of(func(o *Optimizer) { o.Second = 0 })
	half := of(func(o *Optimizer) { o.Master, o.First, o.Second, o.Gradient = 0, 2, 2, 2 })
	want := map[string]Optimizer{"adamw": adam, "muon": oneMean, "lion": oneMean, "sgd": oneMean,
		"adafactor":             of(func(o *Optimizer) { o.First, o.Second = 0, 0 }),
		"adamw-16bit-gradients": of(func(o *Optimizer) { o.Gradient = 2 }),
		"adamw-8bit":            of(func(o *Optimizer) { o.First, o.Second = 1, 1 }),
		"adamw-pure-16bit":      half, "adamw-8bit-pure-16bit": {First: 1, Second: 1, Gradient: 2}}
	for _, o := range Optimizers() {
		found, err := FindOptimizer(o.Name)
		testkit.OK(t, err)
		found.Name, found.Source = "", ""
		if found != want[o.Name] || o.Source == "" {
			t.Errorf("%s keeps %+v, want %+v", o.Name, found, want[o.Name])
		}
	}
	if _, err := FindOptimizer("adam"); err == nil || !strings.Contains(err.Error(), "adamw") {
		t.Errorf("adam: %v", err)
	}
}

// Adapters of rank 16 have 16·(N+K) parameters for each product of a layer, which are trained with
// the optimizer's states; the frozen weights have gradients no more.
func TestAdapters(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		j := drawGPT(t)
		j.Method = LoRA
		l, h := j.Layout, float64(j.Model.Hidden)
		products := (3*h + h) + (h + h) + 2*(h+4*h)
		m := j.stageMemory("first", j.Model.Layers()/l.Pipeline, 0, 1, false)
		near(t, "adapters", m.Of("adapters"), 16*products*float64(j.Model.Layers())*(2+4+12)/
			float64(l.Pipeline*l.Tensor))
		if m.Of("gradients") != 0 || m.Of("master weights") != 0 {
			t.Errorf("frozen weights have %+v", m.Lines)
		}
	})
}

// Data ranks sum the gradients of what is trained, and gather new weights of 2 bytes where they
// share them; what computing is longer than hides, but for the share by which it slows down.
func TestSumsOfGradients(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		j := drawGPT(t)
		j.Eager = rapid.Bool().Draw(t, "eager")
		j.Method = rapid.SampledFrom(methods()).Draw(t, "method")
		l, h := &j.Layout, float64(j.Model.Hidden)
		l.ZeRO = rapid.IntRange(0, 3).Draw(t, "zero")
		step := &Step{Forward: rapid.Float64Range(0, 0.1).Draw(t, "forward"),
			Backward: rapid.Float64Range(0, 0.1).Draw(t, "backward")}
		trains := j.spread().stage(j.Model.Layers()/l.Pipeline, j.spread().embedding()).Dense
		if j.Method == LoRA {
			trains = 16 * (4*h + 2*h +
				10*h) * float64(j.Model.Layers()) / float64(l.Pipeline*l.Tensor)
		}
		share := 0.2
		if j.Eager {
			share = 0.48
		}
		exposed := func(exchange, computing float64) float64 {
			return max(exchange+(share-1)*computing, share*exchange)
		}
		gather := func(bytes float64) float64 {
			return j.Machine.gather(bytes*trains, group{l.Data, l.Tensor})
		}
		sums, spread, times := gather(j.Optimizer.Gradient), gather(2), 1.0
		switch l.ZeRO {
		case 0:
			spread = sums
		case 2:
			times = float64(l.MicroBatches(j.Batch))
		}
		want := exposed(times*sums, times*step.Backward) + exposed(spread, step.Forward)
		if l.ZeRO == 3 { // layer by layer
			want = 0
		}
		near(t, "seconds", j.synchronise(step), want)
	})
}

// What a job is equipped with is what it names, and each name or number that is wrong is named.
func TestEquipNamesWhatIsWrong(t *testing.T) {
	tokens, wrong := "15T", "many"
	j := Job{GPUs: 8, Seq: 4096}
	found, err := j.Equip("llama-3-70b", "h100", nil, "adamw", &tokens)
	if err != nil || j.Model != found.Model ||
		j.Machine.Accelerator.Name != found.Accelerator.Name ||
		j.Optimizer.Name != "adamw" || j.Tokens != 15e12 {
		t.Fatalf("found %+v, %v", j, err)
	}
	for want, equip := range map[string]func(*Job) error{
		"llama-3-70x": func(j *Job) error {
			_, err := j.Equip("llama-3-70x", "h100", nil, "adamw", nil)
			return err
		},
		"--optimizer": func(j *Job) error {
			_, err := j.Equip("llama-3-70b", "h100", nil, "adamx", nil)
			return err
		},
		"--tokens": func(j *Job) error {
			_, err := j.Equip("llama-3-70b", "h100", nil, "adamw", &wrong)
			return err
		},
		"--seq 0": func(j *Job) error {
			j.Seq = 0
			_, err := j.Equip("llama-3-70b", "h100", nil, "adamw", nil)
			return err
		},
	} {
		err := equip(&Job{GPUs: 1, Seq: 1})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("found %v, want an error that names %s", err, want)
		}
	}
}
