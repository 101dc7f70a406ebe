package training

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/llmsim/llmsim/hardware"
	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/models"
)

// gpt is a model of Korthikanti et al.: MLPs four times as wide, as many KV heads as heads.
func gpt(h, layers, a, v int) *models.Architecture {
	return &models.Architecture{Name: "gpt", Hidden: h, Vocab: v, TiedEmbeddings: true,
		NormBias: true, Groups: models.Uniform(layers, &models.Softmax{Heads: a, KVHeads: a,
			HeadDim: h / a}, &models.Dense{Intermediate: 4 * h})}
}

// machineNamed returns a machine of the catalogue.
func machineNamed(t testkit.Test, name string) Machine {
	catalog, err := hardware.Load()
	testkit.OK(t, err)
	a, err := catalog.Accelerator(name)
	testkit.OK(t, err)
	up, err := catalog.Link(a.ScaleUp)
	testkit.OK(t, err)
	net, err := catalog.Link(a.Network)
	testkit.OK(t, err)
	return NewMachine(&a, &up, &net)
}

// drawGPT draws a job of a GPT whose dimensions divide.
func drawGPT(t *rapid.T) *Job {
	tp := 1 << rapid.IntRange(0, 3).Draw(t, "log tensor")
	a := tp * rapid.IntRange(1, 16).Draw(t, "heads of a rank")
	h := a * 64
	p := rapid.IntRange(1, 8).Draw(t, "stages")
	layers := p * rapid.IntRange(1, 8).Draw(t, "layers of a stage")
	d := rapid.IntRange(1, 16).Draw(t, "data")
	micro := rapid.IntRange(1, 4).Draw(t, "micro-batch")
	m := p * rapid.IntRange(1, 5).Draw(t, "micro-batches of a stage")
	seq := 128 * rapid.IntRange(1, 32).Draw(t, "hundreds of tokens")
	adam, _ := FindOptimizer("adamw")
	return &Job{Model: gpt(h, layers, a, 51200), Machine: machineNamed(t, "a100-80gb-sxm"),
		GPUs: tp * p * d, Batch: m * d * micro, Seq: seq, Precision: hardware.BF16,
		Optimizer: adam, Method: Pretrain, Attention: Stored, Dropout: true,
		Layout: Layout{Tensor: tp, Context: 1, Pipeline: p, Data: d, Expert: 1, Micro: micro,
			Virtual: 1, ZeRO: 1, Recompute: NoRecompute}}
}

// Table 2 of Korthikanti et al., arXiv:2205.05198, of activations a layer, holds exactly.
func TestActivationsOfTheRecomputationPaper(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		j := drawGPT(t)
		testkit.OK(t, j.Check())
		s, b := float64(j.Seq), float64(j.Layout.Micro)
		h, tp := float64(j.Model.Hidden), float64(j.Layout.Tensor)
		a := float64(j.Model.Attends().Heads)
		sbh := s * b * h
		for _, c := range []struct {
			name      string
			sequence  bool
			recompute Recompute
			want      float64
		}{
			{"tensor", false, NoRecompute, sbh * (10 + 24/tp + 5*a*s/(h*tp))},
			{"tensor and sequence", true, NoRecompute, sbh * (34/tp + 5*a*s/(h*tp))},
			{"tensor, selective", false, Selective, sbh * (10 + 24/tp)},
			{"tensor and sequence, selective", true, Selective, sbh * 34 / tp},
			{"full", false, Full, 2 * sbh},
			{"tensor and sequence, full", true, Full, 2 * sbh / tp},
		} {
			j.Layout.Sequence = c.sequence
			if got := j.layerBytes(c.recompute); math.Abs(got/c.want-1) > 1e-12 {
				t.Errorf("%s: %g bytes a layer, want %g", c.name, got, c.want)
			}
		}
		// equation 5: the first stage holds as much as all layers, whatever the stages
		j.Layout.Sequence = true
		m := j.stageMemory("first", j.Model.Layers()/j.Layout.Pipeline, 0, j.inFlight(), false)
		want := sbh * (34/tp + 5*a*s/(h*tp)) * float64(j.Model.Layers())
		if got := m.Of("activations"); math.Abs(got/want-1) > 1e-12 {
			t.Errorf("first stage: %g bytes, want %g", got, want)
		}
	})
}

// Equation 7 of appendix A: 72·B·s·L·h²·(1 + s/(6h) + V/(12hL)) FLOP a step.
func TestFLOPsOfTheRecomputationPaper(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		j := drawGPT(t)
		s, h := float64(j.Seq), float64(j.Model.Hidden)
		l, v := float64(j.Model.Layers()), float64(j.Model.Vocab)
		want := 72 * l * h * h * (1 + s/(6*h) + v/(12*h*l))
		if got := j.ModelFLOPs(false); math.Abs(got/want-1) > 1e-12 {
			t.Errorf("%g FLOP a token, want %g", got, want)
		}
	})
}

// The examples of Rajbhandari et al., arXiv:1910.02054, figure 1: 7.5 billion parameters on 64
// accelerators take 120, 31.4, 16.6 and 1.9 GB.
func TestStatesOfZeRO(t *testing.T) {
	o, err := FindOptimizer("adamw-16bit-gradients")
	testkit.OK(t, err)
	for zero, want := range []float64{120, 31.4, 16.6, 1.9} {
		j := &Job{Optimizer: o, Model: gpt(64, 1, 1, 64),
			Layout: Layout{Tensor: 1, Context: 1, Pipeline: 1, Data: 64, Expert: 1, ZeRO: zero}}
		sum := 0.0
		j.addStates(heldParameters{Dense: 7.5e9}, 1, func(_ string, bytes float64, _ string) {
			sum += bytes / 1e9
		})
		if math.Abs(sum-want) > 0.05 {
			t.Errorf("stage %d: %.2f GB, want %.1f", zero, sum, want)
		}
	}
}

// The bubble of equal stages is (p−1)/(m·v) of the rest (Narayanan et al., arXiv:2104.04473,
// section 2.2), and the parts add up to the step.
func TestBubbleAndParts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		j := drawGPT(t)
		j.Model.Vocab = 1 // so that the last stage is as long as the others
		s := j.Step()
		sum := 0.0
		for _, part := range s.Parts() {
			if !(part.Seconds >= 0) {
				t.Errorf("%s takes %g s", part.Name, part.Seconds)
			}
			sum += part.Seconds
		}
		if math.Abs(sum/s.Total()-1) > 1e-9 {
			t.Errorf("the parts are %g s together, and the step %g", sum, s.Total())
		}
		work := s.Total() - s.Bubble - s.Data - s.Optimizer
		p, m := float64(j.Layout.Pipeline), float64(j.Layout.MicroBatches(j.Batch))
		w := j.work()
		head := p * (w.HeadForward + w.HeadBackward) // of one word, which is not quite nothing
		if want := work * (p - 1) / m; math.Abs(s.Bubble-want) > head {
			t.Errorf("the bubble is %g s, want %g", s.Bubble, want)
		}
	})
}

// Best finds what trying everything finds.
func TestBestIsExhaustive(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		j := drawGPT(t)
		j.GPUs = 1 << rapid.IntRange(0, 7).Draw(t, "log gpus")
		j.Batch = j.GPUs * rapid.IntRange(1, 16).Draw(t, "sequences of a rank")
		j.Machine.Accelerator.Memory *= rapid.Float64Range(0.05, 2).Draw(t, "memory")
		fixed := map[string]bool{"context": true}
		a, errA := j.Best(Search{fixed})
		b, errB := (&Search{fixed}).choose(j, false)
		if (errA == nil) != (errB == nil) || a != b {
			t.Errorf("chose %+v (%v), want %+v (%v)", a, errA, b, errB)
		}
		if errA == nil {
			j.Layout = a.Layout
			if err := j.Check(); err != nil {
				t.Errorf("the best layout is refused: %v", err)
			}
			if err := j.Fit(); err != nil {
				t.Errorf("the best layout does not fit: %v", err)
			}
		}
	})
}

// Saving less or more often than Failures says loses more, within what a higher order changes.
func TestIntervalOfCheckpoints(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		j := drawGPT(t)
		j.GPUs = 1 << rapid.IntRange(3, 16).Draw(t, "log gpus")
		f := j.Failures()
		at := func(interval float64) float64 {
			return interval / (f.MTBF * math.Exp(f.Restart/f.MTBF) *
				math.Expm1((interval+f.Checkpoint)/f.MTBF))
		}
		bytes := float64(j.Model.Parameters().Total()) * (2 + 12)
		near(t, "checkpoint", f.Checkpoint, bytes/(1e9*max(1, float64(j.GPUs)/8)))
		near(t, "goodput", at(f.Interval), f.Goodput)
		if !(f.Goodput > 0 && f.Goodput < 1) {
			t.Fatalf("goodput %g", f.Goodput)
		}
		for _, factor := range []float64{0.5, 0.8, 1.25, 2} {
			if other := at(f.Interval * factor); other > f.Goodput*(1+1e-4) {
				t.Errorf("%g times the interval has goodput %g, and the best %g", factor, other,
					f.Goodput)
			}
		}
	})
}
