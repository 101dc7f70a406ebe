package main

import (
	"cmp"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/llmsim/llmsim/hardware"
	"github.com/llmsim/llmsim/internal/report/doc"
	"github.com/llmsim/llmsim/internal/report/plots"
	"github.com/llmsim/llmsim/internal/training"
	"github.com/llmsim/llmsim/scenarios"
)

// trainFlags are the flags of the train command.
type trainFlags struct {
	learns learnFlags
	out    string      `flag:"out" usage:"folder for training.svg and training.png, the time of a step by part on an eighth to eight times the accelerators"`
	style  plots.Style `flag:"style" choice:"print,slide" usage:"what pictures are for: print, or slide (16:9, larger letters)"`
}

// learnFlags are the flags of the train commands that describe what learns.
type learnFlags struct {
	set       []string `flag:"set" usage:"override a scenario field of model or hardware, such as hardware.network=infiniband-hdr (repeatable)"`
	gpus      int      `flag:"gpus" default:"8" usage:"the number of accelerators"`
	tokens    string   `flag:"tokens" usage:"the tokens of the whole run, such as 300B or 15T"`
	batch     int      `flag:"global-batch" usage:"the sequences of a step (default: about 4M tokens, for which layouts divide)"`
	seq       int      `flag:"seq" default:"4096" usage:"the tokens of a sequence"`
	layout    training.Layout
	recompute training.Recompute `flag:"recompute" choice:"none,selective,full" usage:"what the backward pass computes again: none, selective or full (default: chosen)"`
	schedule  training.Schedule  `flag:"schedule" choice:"1f1b,zero-bubble" usage:"order of the stages: 1f1b (interleaved with --virtual) or zero-bubble (ZB-H1)"`
	precision hardware.DType     `flag:"precision" choice:"bf16,fp16,fp8,fp4" usage:"number format of the products: bf16, fp16, fp8 or fp4"`
	optimizer string             `flag:"optimizer" default:"adamw" usage:"adamw, adamw-8bit, muon, …"`
	method    training.Method    `flag:"method" choice:"pretrain,sft,lora,dpo" usage:"pretrain, sft, lora (rank 16 on all matrices) or dpo"`
	attention training.Attention `flag:"attention" choice:"flash,flash-2,flash-1,stored" usage:"kernel of attention: flash (the newest of the accelerator), flash-2, flash-1, stored"`
	eager     bool               `flag:"eager" usage:"element-wise kernels run one by one"`
	overlap   bool               `flag:"tensor-overlap" usage:"exchanges of tensor ranks run beside products"`
	dropout   bool               `flag:"dropout" usage:"masks of dropout are kept"`
	chunked   bool               `flag:"chunked-loss" usage:"the loss is computed in parts"`
	formatFlag
	keep recordFlag
}

func trainCommand() *cobra.Command {
	var flags trainFlags
	cmd := declare(&cobra.Command{
		Use:   "train MODEL HARDWARE",
		Short: "Compute what training costs: memory, time of a step by part, days, dollars",
		Long: "Compute the memory of each accelerator line by line, the time of a step by part, " +
			"and the days, dollars and energy of a training run. Dimensions of the layout that " +
			"are not given are chosen: the layout with the shortest step among those that fit. " +
			"docs/training.md says how, and how far published runs are met.",
		Example: `  llmsim train llama-3-70b h100 --gpus 512 --tokens 15T
  llmsim train gpt-3-175b a100-80gb --gpus 1024 --global-batch 1536 --tensor 8 --pipeline 8`,
		Args: arguments(2, 2),
		RunE: flags.run,
	}, &flags, &flags.learns)
	cmd.AddCommand(trainRLCommand())
	return cmd
}

// add adds the flags of the layout.
func (flags *learnFlags) add(cmd *cobra.Command) {
	f := cmd.Flags()
	l := &flags.layout
	f.IntVar(&l.Tensor, "tensor", 1, "tensor-parallel ranks (default: chosen)")
	f.IntVar(&l.Pipeline, "pipeline", 1, "stages of the pipeline (default: chosen)")
	f.IntVar(&l.Context, "context", 1, "context-parallel ranks")
	f.IntVar(&l.Data, "data", 1, "data-parallel ranks (default: what is left)")
	f.IntVar(&l.Expert, "expert", 1, "accelerators over which experts are spread (default: chosen)")
	f.IntVar(&l.Micro, "micro-batch", 1, "sequences of a micro-batch (default: chosen)")
	f.IntVar(&l.Virtual, "virtual", 1, "chunks of layers of a stage: the interleaved schedule "+
		"(default: chosen)")
	f.IntVar(&l.ZeRO, "zero", 1, "what data ranks share: 0 nothing, 1 the optimizer's states, 2 "+
		"gradients too, 3 weights too (default: chosen)")
	f.IntVar(&l.Shard, "shard", 0, "the data ranks over which --zero shares; 0 is all")
	declare(cmd, &flags.keep)
}

func (flags *trainFlags) run(cmd *cobra.Command, args []string) error {
	learns := &flags.learns
	job, price, err := learns.job(cmd, args)
	if err != nil {
		return err
	}
	given := learns.given(cmd)
	if flags.out != "" {
		if err := flags.draw(job, given); err != nil {
			return err
		}
	}
	if err := job.Fill(given); err != nil {
		return err
	}
	cost := job.Compute(price)
	result := job.Result(cost)
	name := result.Model + " on " + result.Accelerator
	if err := learns.keepRun(cmd, args, name, result); err != nil {
		return err
	}
	return write(cmd, learns.format, result, nil, func(_ training.Result, w io.Writer) error {
		_, err := io.WriteString(w, doc.Narrow(cost.Text(job)))
		return err
	})
}

// keepRun records the run, if --record asks for it.
func (flags *learnFlags) keepRun(cmd *cobra.Command, args []string, name string, result any) error {
	file, err := scenarios.Describe(args[0], args[1], flags.set...)
	if err != nil {
		return err
	}
	return flags.keep.saveRun(cmd, args, recorded{name: name, inputs: file.Files(), result: result})
}

// job looks up what the arguments and flags name.
func (flags *learnFlags) job(cmd *cobra.Command, args []string) (*training.Job,
	scenarios.Price, error) {
	j := &training.Job{GPUs: flags.gpus, Batch: flags.batch, Seq: flags.seq, Layout: flags.layout,
		Precision: flags.precision, Method: flags.method, Attention: flags.attention,
		Eager: flags.eager, Overlap: flags.overlap, Dropout: flags.dropout,
		ChunkedLoss: flags.chunked}
	j.Layout.Schedule = flags.schedule
	j.Layout.Recompute = flags.recompute
	j.Layout.Sequence = true
	var tokens *string
	if cmd.Flag("tokens").Changed {
		tokens = &flags.tokens
	}
	found, err := j.Equip(args[0], args[1], flags.set, flags.optimizer, tokens)
	printNotes(cmd, found.Warnings)
	if err != nil {
		return nil, found.Price, err
	}
	if j.Batch == 0 && !cmd.Flag("global-batch").Changed {
		j.Batch = j.UsualBatch()
	}
	return j, found.Price, nil
}

// given returns the dimensions of the layout that flags give; the others are chosen.
func (flags *learnFlags) given(cmd *cobra.Command) map[string]bool {
	given := map[string]bool{}
	for _, name := range training.Dimensions() {
		given[name] = cmd.Flag(name).Changed
	}
	return given
}

// draw writes the picture of a step by part against the number of accelerators.
func (flags *trainFlags) draw(job *training.Job, given map[string]bool) error {
	scaling := job.Scaling(given)
	if len(scaling) == 0 {
		return nil // what is wrong with the job is said when it is filled
	}
	title := fmt.Sprintf("A step of %s on %s: %d sequences of %d tokens", job.Model.Name,
		job.Machine.Accelerator.Name, job.Batch, job.Seq)
	names, shares := training.Shares(scaling)
	stack := make([]plots.Series, len(shares))
	for i, share := range shares {
		stack[i] = plots.Series{Name: share.Name, Y: share.Y}
	}
	drawn, err := plots.Stacked(title, "accelerators, and the time of a step on them",
		"accelerators x time of a step (s)", names, stack)
	if err != nil {
		return err
	}
	return flags.style.Save(flags.out, "training", drawn)
}

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
