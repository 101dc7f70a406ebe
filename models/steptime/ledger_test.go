package steptime

import (
	"math"
	"testing"

	"github.com/llmsim/llmsim/hardware"
	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/sim"

	"pgregory.net/rapid"
)

// The operators of a step sum to its time, and the parts of each operator to its own. Through all
// stages of a pipeline a step takes as long as in the slowest, once for each stage.
func TestPartsSumToTheStep(t *testing.T) {
	machines, known := catalogues(t)
	rapid.Check(t, func(t *rapid.T) {
		c, s := mustClock(t, deployed(t, machines, known)), anyStep(t)
		if s.Decodes+len(s.Prefill) == 0 {
			return
		}
		if got, want := c.Whole(s).Time(), sim.Time(c.Stages())*c.Duration(s); got != want {
			t.Fatalf("%d stages take %v, want %v", c.Stages(), got, want)
		}
		for _, l := range []Ledger{c.Breakdown(s), c.Whole(s)} {
			for i := range l {
				o := &l[i]
				if o.Parts.total() != o.Time {
					t.Fatalf("%s takes %v, its parts %v", o.Name, o.Time, o.Parts)
				}
				for p, part := range o.Parts {
					if part < 0 || o.Time < 0 {
						t.Fatalf("%s: %v of %s in %v", o.Name, part, Part(p), o.Time)
					}
				}
			}
			if sum := l.Sum(); sum.Parts.total() != l.Time() {
				t.Fatalf("a step takes %v, its parts %v", l.Time(), sum.Parts)
			}
		}
	})
}

// Weights stream in as fast in each step of a model, whether arithmetic goes on beside them or not:
// the same bytes take the same time within 25 %.
func TestWeightsTakeTheSameTimeInAllSteps(t *testing.T) {
	machines, known := catalogues(t)
	rapid.Check(t, func(t *rapid.T) {
		cfg := deployed(t, machines, known)
		if cfg.Model.Experts() != nil { // which experts are read depends on the tokens
			return
		}
		c := mustClock(t, cfg)
		var first float64
		for range 5 {
			s := anyStep(t)
			s.Prefill = append(s.Prefill, sim.Chunk{New: 1, Last: true})
			sum := c.Breakdown(s).Sum()
			rate := sum.Weights / sum.Parts[ReadingWeights].Seconds()
			if first == 0 {
				first = rate
			}
			if math.Abs(rate-first) > first/4 {
				t.Fatalf("%s on %s: weights are read at %g B/s in one step, at %g in %+v",
					cfg.Model.Name, cfg.Accelerator.Name, first, rate, s)
			}
		}
	})
}

// A pipeline reads each weight once while a step passes through it.
func TestStagesReadTheModelOnce(t *testing.T) {
	machines, known := catalogues(t)
	rapid.Check(t, func(t *rapid.T) {
		cfg, s := deployed(t, machines, known), anyStep(t)
		s.Prefill = append(s.Prefill, sim.Chunk{New: 100, Last: true})
		piped := mustClock(t, cfg).Whole(s).Sum()
		cfg.Parallel.Pipeline = 1
		alone := mustClock(t, cfg).Whole(s).Sum()
		if math.Abs(piped.Weights-alone.Weights) > 1e-9*alone.Weights ||
			math.Abs(piped.FLOPs-alone.FLOPs) > 1e-9*alone.FLOPs {
			t.Fatalf("%g B of weights and %g FLOP in stages, %g and %g in one", piped.Weights,
				piped.FLOPs, alone.Weights, alone.FLOPs)
		}
	})
}

// Of the stages of a pipeline whose layers do not divide, a clock prices the one that the other
// exceeds by less, over a decode step and a prompt.
func TestThePricedStageIsTheSlowest(t *testing.T) {
	_, known := catalogues(t)
	uneven := 0
	for _, m := range known {
		for stages := 2; stages <= min(7, m.Layers()); stages++ {
			cfg := Config{Model: m, Accelerator: h100(), Engine: Engines()[0],
				ScaleUp:  &hardware.Link{Name: "some", Bandwidth: 100e9},
				Parallel: Parallelism{Pipeline: stages}}
			c, err := New(cfg)
			if err != nil || m.Layers()%stages == 0 {
				continue
			}
			uneven++
			other, layers := *c, m.Layers()/stages
			if c.stage.last {
				layers++
			}
			testkit.OK(t, other.price(c.stage.products, layers, !c.stage.last))
			a, b := c.probe(), other.probe()
			if largestRatio(b, a) > largestRatio(a, b)*(1+1e-9) {
				t.Errorf("%s in %d stages: a step and a prompt take %v in the stage that is "+
					"priced and %v in another", m.Name, stages, a, b)
			}
		}
	}
	if uneven < 50 {
		t.Errorf("%d pipelines with uneven stages", uneven)
	}
}

// Attention reads the keys and values of all tokens of a context, writes those of the new ones, and
// moves the query and the output of each: closed forms of a model without windows.
func TestAttentionMovesWhatItWrites(t *testing.T) {
	const layers, hidden, wide, token = 32, 4096, 2, 131072 // Llama 3.1 8B; token is of KV in bytes
	cfg := named(t, "llama-3.1-8b", "h100-sxm", "vllm-v1")
	rapid.Check(t, func(t *rapid.T) {
		c := mustClock(t, cfg)
		n := rapid.IntRange(1, 300).Draw(t, "sequences")
		context := rapid.Int64Range(int64(n), 1e6).Draw(t, "context")
		fresh := rapid.IntRange(2, 5000).Draw(t, "new")
		cached := rapid.IntRange(0, 5000).Draw(t, "cached")
		s := sim.Step{Decodes: n, DecodeTokens: n, Context: context,
			Prefill: []sim.Chunk{{New: fresh, Cached: cached, Last: true}}}
		for _, o := range c.Breakdown(&s) {
			var kv, moved int
			switch o.Name {
			case "attention_decode":
				kv, moved = int(context)+n, n
			case "attention_prefill":
				kv, moved = cached+fresh+fresh, fresh
			default:
				continue
			}
			if o.KV != float64(token*kv) || o.Activations != float64(layers*2*hidden*wide*moved) {
				t.Fatalf("%s moves %g B of KV and %g B of activations, want %d tokens and %d "+
					"queries", o.Name, o.KV, o.Activations, kv, moved)
			}
		}
	})
}
