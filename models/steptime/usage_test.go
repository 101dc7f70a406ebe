package steptime

import (
	"math"
	"reflect"
	"testing"

	"github.com/llmsim/llmsim/hardware"
	"github.com/llmsim/llmsim/sim"

	"pgregory.net/rapid"
)

// No step moves more than the memory can or computes for longer than it takes.
func TestUsageIsAShare(t *testing.T) {
	machines, known := catalogues(t)
	rapid.Check(t, func(t *rapid.T) {
		c, s := mustClock(t, deployed(t, machines, known)), anyStep(t)
		u := c.Usage(s)
		if u.Bandwidth < 0 || u.Bandwidth > 1.001 || u.Computing < 0 || u.Computing > 1 ||
			u.Arithmetic < 0 {
			t.Fatalf("%+v", u)
		}
	})
}

// A prompt keeps the arithmetic of an H100 busy, and one sequence that decodes its memory.
func TestUsageSaysWhatBinds(t *testing.T) {
	c := mustClock(t, Config{Model: llama8B(), Accelerator: h100()})
	prompt := c.Usage(&sim.Step{Prefill: []sim.Chunk{{New: 8192, Last: true}}})
	decode := c.Usage(&sim.Step{Decodes: 1, DecodeTokens: 1, Context: 1000})
	if prompt.Computing < 0.7 || prompt.Arithmetic < 0.4 || decode.Computing > 0.1 ||
		decode.Bandwidth < 0.6 {
		t.Errorf("a prompt %+v, decoding %+v", prompt, decode)
	}
	half := hardware.Usage{Bandwidth: decode.Bandwidth / 2}
	if m := decode.Mixed(0.5, hardware.Usage{}); m.Bandwidth != half.Bandwidth {
		t.Errorf("half of %+v is %+v", decode, m)
	}
}

// The work of steps that are counted is the sum of their work, also where windows fill, experts are
// chosen or drafts are verified. A leap counts exactly what its steps count, in any order.
func TestCountsGiveTheWorkOfSteps(t *testing.T) {
	machines, known := catalogues(t)
	rapid.Check(t, func(t *rapid.T) {
		c := mustClock(t, deployed(t, machines, known))
		var leaps, steps WorkCounts
		var want Work
		var singles []sim.Leap
		for range rapid.IntRange(1, 5).Draw(t, "leaps") {
			s := anyStep(t)
			l := sim.Leap{Steps: 1, Decodes: s.Decodes, Context: s.Context, Prefill: s.Prefill}
			if len(s.Prefill) == 0 {
				l.Steps = rapid.Int64Range(1, 9).Draw(t, "steps")
			}
			if l.Steps > 1 || rapid.Bool().Draw(t, "plain") {
				s.DecodeTokens = s.Decodes
			}
			l.DecodeTokens = s.DecodeTokens
			c.Count(&leaps, &l)
			for range l.Steps {
				w := c.Work(s)
				want.add(1, w.FLOPs, w.Bytes)
				singles = append(singles, sim.Leap{Steps: 1, Decodes: s.Decodes,
					DecodeTokens: s.DecodeTokens, Context: s.Context, Prefill: s.Prefill})
				s.Context += int64(s.Decodes)
			}
		}
		for i := range singles {
			c.Count(&steps, &singles[len(singles)-1-i])
		}
		if !reflect.DeepEqual(leaps, steps) || c.WorkOf(&leaps) != c.WorkOf(&steps) {
			t.Fatalf("leaps count %+v, their steps %+v", leaps, steps)
		}
		if got := c.WorkOf(&leaps); math.Abs(got.FLOPs-want.FLOPs) > 1e-9*want.FLOPs ||
			math.Abs(got.Bytes-want.Bytes) > 1e-9*want.Bytes {
			t.Fatalf("found %+v, want %+v", got, want)
		}
	})
}
