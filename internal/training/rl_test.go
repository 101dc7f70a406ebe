package training

import (
	"context"
	"math"
	"testing"

	"github.com/llmsim/llmsim/hardware"
	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/models"
)

// rlLoop is a small step of reinforcement learning.
func rlLoop(t *testing.T) *RLLoop {
	t.Helper()
	catalog, err := models.Load()
	testkit.OK(t, err)
	model, err := catalog.Lookup("llama-3.1-8b")
	testkit.OK(t, err)
	list, err := hardware.Load()
	testkit.OK(t, err)
	a, err := list.Accelerator("h100-sxm")
	testkit.OK(t, err)
	link, err := list.Link(a.ScaleUp)
	testkit.OK(t, err)
	adam, err := FindOptimizer("adamw")
	testkit.OK(t, err)
	job := &Job{Model: model, Machine: NewMachine(&a, &link, nil), GPUs: 8,
		Batch: 128, Seq: 768, Precision: hardware.BF16, Optimizer: adam,
		Attention: Flash, Layout: Layout{Tensor: 1, Context: 1, Pipeline: 1,
			Data: 8, Expert: 1, Micro: 1, Virtual: 1, ZeRO: 3}}
	return &RLLoop{Algorithm: GRPO, Mode: Colocated, Job: job, Prompts: 16, Samples: 8,
		PromptTokens: 256, Mean: 512, Most: 4096, CV: 0.8, Model: "llama-3.1-8b",
		Hardware: "h100-sxm", GPUs: 8, Tensor: 1}
}

// The parts add up in each mode; a wider spread of lengths costs time, and PPO more than GRPO.
func TestStepOfReinforcementLearning(t *testing.T) {
	run := func(change func(*RLLoop)) *RLResult {
		l := rlLoop(t)
		change(l)
		r, err := l.Run(context.Background())
		testkit.OK(t, err)
		return r
	}
	base := run(func(*RLLoop) {})
	sum := base.Generate + base.Score + base.Update + base.Transfer
	if math.Abs(base.Step/sum-1) > 1e-12 || base.Idle != 0 {
		t.Errorf("colocated: a step of %g s, and parts of %g s", base.Step, sum)
	}
	if !(base.Half > base.Tenth && base.Tenth > 0 && base.Even < base.Generate) {
		t.Errorf("tail: %+v", base)
	}
	alike := run(func(l *RLLoop) { l.Most, l.CV = l.Mean, 10 })
	if !(alike.Half >= alike.Tenth && alike.Tenth >= 0 && alike.Half <= alike.Generate) {
		t.Errorf("answers that are cut off at their mean: %+v", alike)
	}
	late := rlLoop(t)
	late.Set = []string{"workload.arrivals=poisson", "workload.rate=1/s"}
	if r, err := late.Run(context.Background()); err == nil {
		t.Errorf("answers that begin one by one have a last tenth: %+v", r)
	}
	off := run(func(l *RLLoop) { l.Mode = OneStepOff })
	if want := max(off.Generate, off.Score+off.Update) + off.Transfer; off.Step != want {
		t.Errorf("one step off: %g s, want %g", off.Step, want)
	}
	apart := run(func(l *RLLoop) { l.Mode = Apart })
	if apart.Step <= off.Step || apart.Idle <= off.Idle {
		t.Errorf("apart %+v, one step off %+v", apart, off)
	}
	if wide := run(func(l *RLLoop) { l.CV = 2 }); wide.Generate <= base.Generate {
		t.Errorf("a wider spread takes %g s, and the base %g", wide.Generate, base.Generate)
	}
	ppo := run(func(l *RLLoop) { l.Algorithm = PPO })
	if math.Abs(ppo.Update/base.Update-2) > 1e-12 || math.Abs(ppo.Score/base.Score-2) > 1e-12 {
		t.Errorf("PPO %+v, GRPO %+v", ppo, base)
	}
}
