package main

import (
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/llmsim/llmsim/internal/engine"
	"github.com/llmsim/llmsim/internal/engine/generate"
	"github.com/llmsim/llmsim/internal/engine/gpt2"
	"github.com/llmsim/llmsim/internal/engine/kernels"
	"github.com/llmsim/llmsim/internal/files"
)

// newGPT2Command groups what the engine does by itself.
func newGPT2Command() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "gpt2",
		Short: "Run a real GPT-2 on this machine",
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },

		PersistentPreRun: func(*cobra.Command, []string) { collectGarbage(growthOfWeights) },
	}
	cmd.AddCommand(newGPT2InitCommand(), newGPT2GenerateCommand(), newGPT2BenchCommand())
	return cmd
}

func newGPT2InitCommand() *cobra.Command {
	var shape string
	var seed uint64
	var config gpt2.Config
	cmd := &cobra.Command{
		Use:     "init DIR",
		Short:   "Write a GPT-2 with random weights: as fast as a trained one, but without sense",
		Example: "  llmsim gpt2 init --shape 124M --seed 42 weights",
		Args:    arguments(1, 1),
		PreRunE: func(*cobra.Command, []string) (err error) {
			config, err = gpt2.ShapeConfig(shape)
			return err
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := gpt2.WriteRandom(cmd.Context(), args[0], config, seed); err != nil {
				return err
			}
			_, err := fmt.Fprintf(cmd.ErrOrStderr(), "%s: %d parameters\n", args[0],
				config.Parameters())
			return err
		},
	}
	f := cmd.Flags()
	f.StringVar(&shape, "shape", gpt2.Shapes()[0], "published size ("+
		strings.Join(gpt2.Shapes(), ", ")+") or the path of a config.json")
	f.Uint64Var(&seed, "seed", 42, "seed of the weights")
	return cmd
}

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

// gpt2GenerateFlags are the flags of gpt2 generate.
type gpt2GenerateFlags struct {
	settings    generate.Settings
	format      string   `flag:"dtype" default:"fp32" usage:"number format of the weights in memory: fp32, bf16 or int8"`
	algorithm   string   `flag:"algorithm" default:"leviathan" usage:"how drafts are verified: leviathan or chen"`
	prompt      string   `flag:"prompt" usage:"text to continue"`
	tokens      string   `flag:"tokens" usage:"token numbers to continue, instead of a text"`
	acceptances string   `flag:"acceptance" usage:"file for the measured acceptance table (JSON)"`
	most        int      `flag:"max-tokens" default:"50" usage:"most tokens to generate"`
	stop        []string `flag:"stop" usage:"text at which to stop (repeatable)"`

	session *generate.Session
	begin   []int32 // the tokens of the prompt
}

func newGPT2GenerateCommand() *cobra.Command {
	var flags gpt2GenerateFlags
	cmd := declare(&cobra.Command{
		Use:   "generate --weights DIR --prompt TEXT",
		Short: "Continue a text, with or without speculative decoding",
		Example: `  llmsim gpt2 generate --weights weights --prompt "Once upon a time" --temperature 0.8 --top-k 40
  llmsim gpt2 generate --weights weights --prompt "Once upon a time" \
      --draft-layers 0,1,2 --acceptance table.json`,
		Args:    arguments(0, 0),
		PreRunE: func(*cobra.Command, []string) error { return flags.open() },
		RunE:    func(cmd *cobra.Command, _ []string) error { return flags.run(cmd) },
	}, &flags)
	f, s := cmd.Flags(), &flags.settings
	f.StringVar(&s.Weights, "weights", "", "folder with config.json and model.safetensors")
	f.Float64Var(&s.Sampling.Temperature, "temperature", 1,
		"divides the logits; 0 takes the most likely token")
	f.IntVar(&s.Sampling.TopK, "top-k", 0, "keep the k most likely tokens; 0 keeps all")
	f.Float64Var(&s.Sampling.TopP, "top-p", 1,
		"keep the most likely tokens whose probabilities add up to this")
	f.Uint64Var(&s.Seed, "seed", 42, "seed of the choices")
	f.IntVar(&s.Threads, "threads", 0, "threads; 0 means one a processor")
	f.IntVar(&s.KVHeads, "kv-heads", 0,
		"merge key and value heads into this many; 1 gives multi-query attention")
	f.BoolVar(&s.NoCache, "no-kv-cache", false, "compute the whole text again for every token")
	f.BoolVar(&s.NaiveAttention, "naive-attention", false, "compute attention without tiling")
	f.StringVar(&s.Draft.Weights, "draft", "", "folder of a smaller model that drafts tokens")
	f.IntSliceVar(&s.Draft.Layers, "draft-layers", nil,
		"layers of the model itself that draft tokens")
	f.IntVar(&s.Draft.NGram, "draft-ngram", 0,
		"draft by looking up the last tokens in the text so far; this is the most tokens to look "+
			"up")
	f.IntVar(&s.Draft.Gamma, "gamma", 4, "drafted tokens a step")
	f.IntVar(&s.Streams, "streams", 1,
		"how many times to continue the prompt at once for the acceptance table; one text is "+
			"printed")
	return cmd
}

// open checks the flags and loads what they name, so that what is wrong with them counts as bad
// input.
func (flags *gpt2GenerateFlags) open() (err error) {
	if err := flags.parse(); err != nil {
		return err
	}
	if flags.session, err = generate.Open(flags.settings); err != nil {
		return err
	}
	if flags.tokens != "" {
		flags.begin, err = generate.ParseTokens(flags.tokens)
	} else {
		flags.begin, err = flags.session.Encode(flags.prompt)
	}
	return err
}

func (flags *gpt2GenerateFlags) run(cmd *cobra.Command) (err error) {
	defer func() { err = errors.Join(err, flags.session.Close()) }()
	stats, err := flags.session.Generate(cmd.Context(), flags.begin, flags.most, flags.stop,
		cmd.OutOrStdout())
	if err != nil {
		return err
	}
	fmt.Fprintln(cmd.OutOrStdout())
	fmt.Fprintf(cmd.ErrOrStderr(),
		"%d prompt tokens, first token after %.1f ms; %d tokens, %.1f tokens/s\n",
		stats.Prompt, 1e3*stats.FirstToken.Seconds(), stats.Output, stats.TokensPerSecond())
	return flags.report(cmd)
}

// parse reads the flags that are names.
func (flags *gpt2GenerateFlags) parse() (err error) {
	switch {
	case flags.settings.Weights == "":
		return errors.New("--weights is missing: the folder of a model (llmsim gpt2 init " +
			"writes one)")
	case (flags.prompt == "") == (flags.tokens == ""):
		return errors.New("give either --prompt or --tokens")
	case flags.most < 1:
		return fmt.Errorf("--max-tokens is %d, want at least 1", flags.most)
	case flags.settings.Streams < 1:
		return fmt.Errorf("--streams is %d, want at least 1", flags.settings.Streams)
	case flags.acceptances != "" && !flags.settings.Draft.Active():
		return errors.New("--acceptance needs drafts: --draft, --draft-layers or --draft-ngram")
	}
	if flags.settings.Format, err = kernels.ParseFormat(flags.format); err != nil {
		return err
	}
	flags.settings.Draft.Algorithm, err = generate.ParseAlgorithm(flags.algorithm)
	return err
}

// report prints how many drafted tokens were accepted.
func (flags *gpt2GenerateFlags) report(cmd *cobra.Command) error {
	if !flags.settings.Draft.Active() {
		return nil
	}
	if flags.settings.Streams > 1 {
		if err := flags.session.Measure(cmd.Context(), flags.begin, flags.most); err != nil {
			return err
		}
	}
	table, _ := flags.session.Table()
	fmt.Fprintf(cmd.ErrOrStderr(), "%.2f tokens a step with %s\n", table.TokensPerStep,
		table.Drafter)
	if flags.acceptances == "" {
		return nil
	}
	return files.Write(flags.acceptances, table.Write)
}
