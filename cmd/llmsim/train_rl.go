package main

import (
	"cmp"
	"io"

	"github.com/spf13/cobra"

	"github.com/llmsim/llmsim/internal/report/doc"
	"github.com/llmsim/llmsim/internal/training"
)

// rlFlags are the flags of the train rl command.
type rlFlags struct {
	train     learnFlags
	loop      training.RLLoop
	algorithm training.RLAlgorithm `flag:"algorithm" choice:"grpo,ppo" usage:"grpo (rewards by rules, and a reference), or ppo (reward and value models too)"`
	mode      training.RLMode      `flag:"mode" choice:"colocated,apart,one-step-off" usage:"colocated, apart, or one-step-off (answers of the next step meanwhile)"`
	serve     []string             `flag:"serve" usage:"override a field of the scenario that answers: key.path=value (repeatable)"`
}

func trainRLCommand() *cobra.Command {
	var flags rlFlags
	cmd := declare(&cobra.Command{
		Use:   "rl MODEL HARDWARE",
		Short: "Compute a step of reinforcement learning, whose answers are simulated",
		Long: `Compute where the time of a step of GRPO or PPO goes: answers, which the simulator of
serving makes, forward passes, learning, and new weights. It says what the longest
answers cost. The flags of llmsim train set what learns.`,
		Example: `  llmsim train rl llama-3.1-8b h100 --gpus 16 --prompts 64 --samples 32 --answer 1000`,
		Args:    arguments(2, 2),
		RunE:    flags.run,
	}, &flags, &flags.train)
	f := cmd.Flags()
	l := &flags.loop
	f.IntVar(&l.Prompts, "prompts", 64, "different prompts of a step")
	f.IntVar(&l.Samples, "samples", 8, "answers to each prompt")
	f.IntVar(&l.PromptTokens, "prompt-tokens", 256, "the tokens of a prompt")
	f.IntVar(&l.Mean, "answer", 1024, "the mean tokens of an answer")
	f.Float64Var(&l.CV, "answer-cv", 0.8, "the standard deviation of answers divided by the mean")
	f.IntVar(&l.Most, "answer-max", 4096, "the most tokens of an answer")
	f.IntVar(&l.GPUs, "rollout-gpus", 0, "accelerators that answer (default: as many as learn)")
	f.IntVar(&l.Tensor, "rollout-tensor", 1, "accelerators of a replica that answers")
	return cmd
}

func (flags *rlFlags) run(cmd *cobra.Command, args []string) error {
	l := &flags.loop
	l.Algorithm, l.Mode = flags.algorithm, flags.mode
	l.Model, l.Hardware, l.Set = args[0], args[1], append(flags.train.set, flags.serve...)
	l.GPUs = cmp.Or(l.GPUs, flags.train.gpus)
	if err := l.Check(); err != nil {
		return err
	}
	flags.train.batch = l.Prompts * l.Samples
	flags.train.seq = l.PromptTokens + l.Mean
	job, _, err := flags.train.job(cmd, args)
	if err != nil {
		return err
	}
	if err := job.Fill(flags.train.given(cmd)); err != nil {
		return err
	}
	l.Job = job
	result, err := l.Run(cmd.Context())
	if err != nil {
		return failed(err)
	}
	kept := rlResult{job.Model.Name, job.Machine.Accelerator.Name, job.Layout, result}
	if err := flags.train.keepRun(cmd, args, cmd.Name()+" "+job.Model.Name, kept); err != nil {
		return err
	}
	return write(cmd, flags.train.format, kept, nil, func(_ rlResult, w io.Writer) error {
		_, err := io.WriteString(w, doc.Narrow(result.Text(l)))
		return err
	})
}

// rlResult is the JSON output of train rl.
type rlResult struct {
	Model       string          `json:"model"`
	Accelerator string          `json:"accelerator"`
	Layout      training.Layout `json:"layout"`
	*training.RLResult
}
