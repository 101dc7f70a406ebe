package training

import (
	"context"
	"fmt"
	"math"
	"strings"

	"github.com/llmsim/llmsim/policies"
	"github.com/llmsim/llmsim/scenarios"
	"github.com/llmsim/llmsim/sim"
)

// RLAlgorithm says which models take part.
type RLAlgorithm string

const (
	// GRPO compares the answers to one prompt with each other, and with a frozen reference (Shao et
	// al., arXiv:2402.03300, section 4.1). Rewards are computed by rules.
	GRPO RLAlgorithm = "grpo"
	// PPO has a critic and a reward model of the policy's size besides (Ouyang et al.,
	// arXiv:2203.02155, section 3.5).
	PPO RLAlgorithm = "ppo"
)

// RLMode says which accelerators do what, and when.
type RLMode string

const (
	// Colocated uses all accelerators for one part after another.
	Colocated RLMode = "colocated"
	// Apart has accelerators of their own for answers, which wait while the others learn.
	Apart RLMode = "apart"
	// OneStepOff has them too, and they answer with the weights of the step before meanwhile
	// (Noukhovitch et al., arXiv:2410.18252, section 3).
	OneStepOff RLMode = "one-step-off"
)

// RLLoop is a step of reinforcement learning.
type RLLoop struct {
	Algorithm RLAlgorithm
	Mode      RLMode
	// Job is the training step, on the accelerators that learn: its Batch is Prompts·Samples.
	Job *Job
	// Prompts are the different prompts of a step, Samples the answers to each.
	Prompts, Samples int
	// PromptTokens is the length of prompts, Mean and CV describe the lengths of answers, which are
	// drawn from a lognormal distribution and cut off at Most tokens.
	PromptTokens, Mean, Most int
	CV                       float64
	// Model and Hardware are the names of the scenario that answers; Set are its settings.
	Model, Hardware string
	Set             []string
	// GPUs is the number of accelerators that answer, Tensor the number of a replica.
	GPUs, Tensor int
}

// RLResult is where the time of a step goes, in seconds.
type RLResult struct {
	// Generate is the time until the last answer is complete. Half and Tenth are its parts after
	// half and nine tenths of the answers are complete.
	Generate float64 `json:"generate_s"`
	Half     float64 `json:"last_half_s"`
	Tenth    float64 `json:"last_tenth_s"`
	// Even is the time of the same number of tokens if all answers are equally long, so that
	// Generate − Even is the cost of the tail.
	Even float64 `json:"generate_even_s"`
	// Score is the forward passes of policy and reference, and with PPO of reward and value models;
	// Update is learning; Transfer brings the new weights to where answers are made.
	Score    float64 `json:"score_s"`
	Update   float64 `json:"update_s"`
	Transfer float64 `json:"transfer_s"`
	Step     float64 `json:"step_s"`
	// Tokens counts prompts and answers of a step, and Rate is tokens a second and accelerator over
	// the whole step.
	Tokens float64 `json:"tokens"`
	Rate   float64 `json:"tokens_per_s_per_gpu"`
	// Idle is the share of the accelerators' time in which one part's accelerators wait for
	// another.
	Idle     float64  `json:"idle"`
	Warnings []string `json:"warnings,omitempty"`
}

// transferSlowdown is the time to send new weights over that of the link alone: published reshards
// of NeMo-RL with NCCL on H100 take 2.5 to 5 times as long (NVIDIA-NeMo/RL,
// docs/design-docs/nccl-reshard-refit.md); this is their middle.
const transferSlowdown = 3.5

// Check returns the first thing that is wrong with the loop.
func (l *RLLoop) Check() error {
	for _, c := range []struct {
		name string
		n    int
	}{{"prompts", l.Prompts}, {"samples", l.Samples}, {"prompt-tokens", l.PromptTokens},
		{"answer", l.Mean}, {"answer-max", l.Most}, {"rollout-gpus", l.GPUs},
		{"rollout-tensor", l.Tensor}} {
		if c.n < 1 || c.n > 1<<22 {
			return fmt.Errorf("%s: found %d, want 1 to %d", c.name, c.n, 1<<22)
		}
	}
	switch {
	case l.Prompts*l.Samples > 1<<22:
		return fmt.Errorf("prompts x samples: found %d answers, want at most %d",
			l.Prompts*l.Samples, 1<<22)
	case l.Mean > l.Most:
		return fmt.Errorf("answer: a mean of %d tokens is above answer-max, %d", l.Mean, l.Most)
	case !(l.CV > 0 && l.CV <= 10):
		return fmt.Errorf("answer-cv: found %g, want above 0 and at most 10", l.CV)
	case l.GPUs%l.Tensor != 0:
		return fmt.Errorf("rollout-tensor: %d does not divide the %d accelerators that answer",
			l.Tensor, l.GPUs)
	}
	return nil
}

// Run computes a step. It simulates its answers twice.
func (l *RLLoop) Run(ctx context.Context) (*RLResult, error) {
	if err := l.Check(); err != nil {
		return nil, err
	}
	answers, err := l.answer(ctx, fmt.Sprintf("{distribution: lognormal, mean: %d, cv: %g, "+
		"min: 1, max: %d}", l.Mean, l.CV, l.Most))
	if err != nil {
		return nil, err
	}
	n := float64(l.Prompts * l.Samples)
	mean := int(math.Round(float64(answers.TotalOutputTokens) / n))
	even, err := l.answer(ctx, fmt.Sprint(max(1, mean)))
	if err != nil {
		return nil, err
	}
	r := &RLResult{Generate: answers.Duration, Even: even.Duration, Warnings: answers.Warnings,
		Half: timeAfter(answers, answers.MedianE2EL), Tenth: timeAfter(answers, answers.P90E2EL),
		Tokens: n*float64(l.PromptTokens) + float64(answers.TotalOutputTokens)}
	job := *l.Job
	job.Seq = l.PromptTokens + max(1, mean)
	l.timeLearning(r, &job)
	l.addUp(r)
	return r, nil
}

// timeAfter returns the seconds from a quantile of the times of answers, in ms, to the last answer,
// to the tick. All answers begin at time 0, so that no quantile is later than the last.
func timeAfter(answers *scenarios.Result, ms float64) float64 {
	return (sim.Seconds(answers.Duration) - sim.Seconds(ms/1000)).Seconds()
}

// answer simulates the answers to all prompts of a step, which are given at once.
func (l *RLLoop) answer(ctx context.Context, length string) (*scenarios.Result, error) {
	set := append([]string{
		fmt.Sprintf("parallelism.tensor=%d", l.Tensor),
		fmt.Sprintf("replicas=%d", l.GPUs/l.Tensor),
		"workload.arrivals=at-once",
		fmt.Sprintf("workload.requests=%d", l.Prompts*l.Samples),
		fmt.Sprintf("workload.distinct=%d", l.Prompts),
		fmt.Sprintf("workload.prompt=%d", l.PromptTokens),
		"workload.output=" + length,
		fmt.Sprintf("engine.max-model-len=%d", l.PromptTokens+l.Most),
	}, l.Set...)
	file, err := scenarios.Describe(l.Model, l.Hardware, set...)
	if err != nil {
		return nil, err
	}
	simulation, err := file.Build(policies.Default())
	if err != nil {
		return nil, err
	}
	if begin := simulation.Scenario.Workload.Arrivals.Process; begin != "at-once" {
		return nil, fmt.Errorf("workload.arrivals: found %s; allowed: at-once, since the answers "+
			"of a step begin together", begin)
	}
	return simulation.Run(ctx)
}

// timeLearning computes what follows the answers.
func (l *RLLoop) timeLearning(r *RLResult, job *Job) {
	forward, step := job.Forward(), job.Step()
	r.Score, r.Update = 2*forward, step.Total()
	if l.Algorithm == PPO { // values and rewards, and the critic learns too
		r.Score += 2 * forward
		r.Update *= 2
	}
	weights := 2 * float64(job.Model.Parameters().Total()) / float64(l.Tensor)
	r.Transfer = transferSlowdown * job.Machine.Send(weights, l.Mode != Colocated)
}

// addUp adds the parts up as they follow each other.
func (l *RLLoop) addUp(r *RLResult) {
	learning := r.Score + r.Update
	all := float64(l.Job.GPUs)
	span := r.Generate + learning
	if l.Mode == OneStepOff {
		span = max(r.Generate, learning)
	}
	r.Step = span + r.Transfer
	if l.Mode != Colocated {
		answering := float64(l.GPUs)
		idle := answering*(span-r.Generate) + all*(span-learning)
		all += answering
		r.Idle = idle / (all * span)
	}
	r.Rate = r.Tokens / r.Step / all
}

// partsOnly names what the prediction leaves out.
const partsOnly = "The parts only: NeMo-RL's published on-policy steps on H100 take 1.8 to 2.4 " +
	"times as long as computed (docs/training.md), for what lies between the parts is not " +
	"computed.\n"

// Text tells people about a step, in lines of any width.
func (r *RLResult) Text(l *RLLoop) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s of %s, %s: %d prompts with %d answers each, %d accelerators learn and %d "+
		"answer\n\n", l.Algorithm, l.Model, l.Mode, l.Prompts, l.Samples, l.Job.GPUs, l.GPUs)
	fmt.Fprintf(&b, "Time of a step: %.4g s\n", r.Step)
	for _, part := range []struct {
		name    string
		seconds float64
	}{{"answers (simulated)", r.Generate}, {"forward passes", r.Score}, {"learning", r.Update},
		{"new weights", r.Transfer}} {
		fmt.Fprintf(&b, "  %-20s %9.4g s %5.1f %%\n", part.name, part.seconds,
			100*part.seconds/r.Step)
	}
	if l.Mode == OneStepOff {
		b.WriteString("  Answers of the next step run beside the other parts.\n")
	}
	fmt.Fprintf(&b, "\nThe last half of the answers takes %.4g s, the last tenth %.4g s. If all "+
		"were equally long, answers would take %.4g s: the tail costs %.4g s, %.1f %% of the "+
		"step.\n", r.Half, r.Tenth, r.Even, r.Generate-r.Even, 100*(r.Generate-r.Even)/r.Step)
	fmt.Fprintf(&b, "%.4g tokens a step, %.4g a second and accelerator", r.Tokens, r.Rate)
	if r.Idle > 0 {
		fmt.Fprintf(&b, "; accelerators wait for each other %.1f %% of the time", 100*r.Idle)
	}
	b.WriteString("\n")
	b.WriteString(partsOnly)
	for _, warning := range r.Warnings {
		fmt.Fprintf(&b, "warning: %s\n", warning)
	}
	return b.String()
}
