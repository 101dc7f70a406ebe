package main

import (
	"errors"
	"runtime"
	"time"

	"github.com/llmsim/llmsim/internal/engine/bench"
	"github.com/llmsim/llmsim/internal/engine/gpt2"
	"github.com/llmsim/llmsim/internal/engine/kernels"
	"github.com/llmsim/llmsim/internal/report"
	"github.com/spf13/cobra"
)

// gpt2BenchFlags are the flags of gpt2 bench.
type gpt2BenchFlags struct {
	weights, dtype, format              string
	threads, batches, contexts, prompts []int
	least                               time.Duration
	kvHeads                             int
	naive                               bool

	model *gpt2.Model
	cases []bench.Case
}

func newGPT2BenchCommand() *cobra.Command {
	var flags gpt2BenchFlags
	cmd := &cobra.Command{
		Use: "bench --weights DIR",
		Short: "Time prefill and decode, and compare with the bandwidth and FLOP rate of this " +
			"machine",
		Args:    arguments(0, 0),
		PreRunE: func(*cobra.Command, []string) error { return flags.open() },
		RunE:    func(cmd *cobra.Command, _ []string) error { return flags.run(cmd) },
	}
	f := cmd.Flags()
	f.StringVar(&flags.weights, "weights", "", "folder with config.json and model.safetensors")
	f.StringVar(&flags.dtype, "dtype", "fp32", "number format of the weights in memory: fp32, "+
		"bf16 or int8")
	f.IntSliceVar(&flags.threads, "threads", []int{1, runtime.GOMAXPROCS(0)}, "numbers of threads")
	f.IntSliceVar(&flags.batches, "batch", []int{1, 8, 16}, "sizes of decode batches")
	f.IntSliceVar(&flags.contexts, "context", []int{32, 1024},
		"contexts of each sequence that decodes, in tokens")
	f.IntSliceVar(&flags.prompts, "prompt", []int{512}, "lengths of prompts, in tokens")
	f.DurationVar(&flags.least, "time", time.Second, "time spent in steps of each kind")
	f.IntVar(&flags.kvHeads, "kv-heads", 0,
		"merge key and value heads into this many; 1 gives multi-query attention")
	f.BoolVar(&flags.naive, "naive-attention", false, "compute attention without tiling")
	f.Var(choice(&flags.format, "table", "json"), "format", "what to print: table or json")
	return cmd
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
	flags.cases, err = bench.Cases(flags.model, flags.threads, flags.batches, flags.contexts,
		flags.prompts)
	return err
}

func (flags *gpt2BenchFlags) run(cmd *cobra.Command) (err error) {
	defer func() { err = errors.Join(err, flags.model.Close()) }()
	results := make([]bench.Result, len(flags.cases))
	for i, c := range flags.cases {
		results[i], err = bench.Run(flags.model, c,
			bench.Options{Least: flags.least, NaiveAttention: flags.naive})
		if err := errors.Join(err, cmd.Context().Err()); err != nil {
			return err
		}
	}
	if flags.format == "json" {
		return report.JSON(cmd.OutOrStdout(), results)
	}
	return bench.WriteTable(cmd.OutOrStdout(), results)
}
