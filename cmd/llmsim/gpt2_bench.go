package main

import (
	"errors"
	"io"
	"runtime"
	"time"

	"github.com/spf13/cobra"

	"github.com/llmsim/llmsim/internal/engine"
	"github.com/llmsim/llmsim/internal/engine/gpt2"
	"github.com/llmsim/llmsim/internal/engine/kernels"
)

// gpt2BenchFlags are the flags of gpt2 bench.
type gpt2BenchFlags struct {
	weights string `flag:"weights" usage:"folder with config.json and model.safetensors"`
	dtype   string `flag:"dtype" default:"fp32" usage:"number format of the weights in memory: fp32, bf16 or int8"`
	formatFlag
	threads  []int         `flag:"threads" usage:"numbers of threads"`
	batches  []int         `flag:"batch" usage:"sizes of decode batches"`
	contexts []int         `flag:"context" usage:"contexts of each sequence that decodes, in tokens"`
	prompts  []int         `flag:"prompt" usage:"lengths of prompts, in tokens"`
	least    time.Duration `flag:"time" default:"1s" usage:"time spent in steps of each kind"`
	kvHeads  int           `flag:"kv-heads" usage:"merge key and value heads into this many; 1 gives multi-query attention"`
	naive    bool          `flag:"naive-attention" usage:"compute attention without tiling"`

	model *gpt2.Model
	cases []engine.BenchCase
}

func newGPT2BenchCommand() *cobra.Command {
	flags := gpt2BenchFlags{threads: []int{1, runtime.GOMAXPROCS(0)}, batches: []int{1, 8, 16},
		contexts: []int{32, 1024}, prompts: []int{512}}
	return declare(&cobra.Command{
		Use: "bench --weights DIR",
		Short: "Time prefill and decode, and compare with the bandwidth and FLOP rate of this " +
			"machine",
		Args:    arguments(0, 0),
		PreRunE: func(*cobra.Command, []string) error { return flags.open() },
		RunE:    func(cmd *cobra.Command, _ []string) error { return flags.run(cmd) },
	}, &flags)
}

// open checks the flags and loads the model, so that what is wrong with them counts as bad input.
func (flags *gpt2BenchFlags) open() error {
	if flags.weights == "" {
		return errors.New("--weights is missing: the folder of a model (llmsim gpt2 init " +
			"writes one)")
	}
	dtype, err := kernels.ParseFormat(flags.dtype)
	if err != nil {
		return err
	}
	if flags.model, err = gpt2.Load(flags.weights,
		gpt2.Options{Format: dtype, KVHeads: flags.kvHeads}); err != nil {
		return err
	}
	flags.cases, err = engine.BenchCases(flags.model, flags.threads, flags.batches, flags.contexts,
		flags.prompts)
	return err
}

func (flags *gpt2BenchFlags) run(cmd *cobra.Command) (err error) {
	defer func() { err = errors.Join(err, flags.model.Close()) }()
	results := make([]engine.BenchResult, len(flags.cases))
	for i, c := range flags.cases {
		results[i], err = engine.Bench(flags.model, c,
			engine.BenchOptions{Least: flags.least, NaiveAttention: flags.naive})
		if err := errors.Join(err, cmd.Context().Err()); err != nil {
			return err
		}
	}
	return write(cmd, flags.format, results, nil,
		func(list []engine.BenchResult, w io.Writer) error { return engine.WriteBench(w, list) })
}
