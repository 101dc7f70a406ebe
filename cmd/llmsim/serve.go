package main

import (
	"errors"
	"fmt"
	"log/slog"
	"os"

	"github.com/llmsim/llmsim/internal/serve"
	"github.com/llmsim/llmsim/internal/telemetry"
	"github.com/llmsim/llmsim/scenarios"

	"github.com/spf13/cobra"
)

// serveFlags are the flags of the serve command.
type serveFlags struct {
	serve.Options
	set        []string `flag:"set" usage:"override a field: key.path=value (repeatable)"`
	listen     string   `flag:"listen" default:"127.0.0.1:8000" usage:"address to listen at; port 0 takes a free one"`
	perReplica bool     `flag:"per-replica-ports" usage:"also listen at the next ports, one for each replica"`
	record     string   `flag:"record" usage:"file to record the requests in, which --set workload.trace.file=FILE replays"`
	otlp       string   `flag:"otlp" usage:"address of an OpenTelemetry collector for spans, such as http://127.0.0.1:4318"`
	name       string   `flag:"served-model-name" usage:"name of the model in the API; without it, the scenario's name for it"`
	engine     string   `flag:"engine" choice:"simulated,gpt2" usage:"what computes the answers: simulated (texts are made up), or gpt2 (a real model)"`
	weights    string   `flag:"weights" usage:"folder of the model of --engine gpt2"`
	sequences  int      `flag:"max-num-seqs" least:"1" default:"8" usage:"the most sequences in a batch of --engine gpt2"`
	threads    int      `flag:"threads" usage:"threads of --engine gpt2; 0 means one a processor"`
	quiet      bool     `flag:"quiet" usage:"do not log requests"`
}

func serveCommand() *cobra.Command {
	var flags serveFlags
	cmd := declare(&cobra.Command{
		Use:   "serve FILE|NAME | --engine gpt2 --weights DIR",
		Short: "Serve OpenAI's API as a scenario's fleet would, with the same latencies",
		Long: "Serve OpenAI's API as a scenario's fleet would. Each request is simulated in " +
			"wall-clock time, with the policies and the step times of llmsim scenario; the texts " +
			"of the answers are made up. Metrics have the names of vLLM or SGLang. The API key " +
			"that clients must send is taken from " + apiKeyVariable + ".",
		Example: `  llmsim serve chat
  llmsim serve my.yaml --listen 127.0.0.1:8000 --speed 10 --record requests.jsonl
  llmsim load http://127.0.0.1:8000 --scenario chat --set workload.duration=1m
  llmsim serve --engine gpt2 --weights weights`,
		Args: arguments(0, 1),
		RunE: flags.run,
	}, &flags)
	f := cmd.Flags()
	f.Float64Var(&flags.Speed, "speed", 1, "simulated seconds in one second of wall-clock time")
	f.Uint64Var(&flags.Seed, "seed", 0, "the seed of the made-up texts")
	f.StringVar(&flags.APIKey, "api-key", "", "key that clients must send, if not from "+
		apiKeyVariable)
	f.Var(choice(&flags.Dialect, telemetry.Dialects()...), "metrics",
		"names of the metrics: vllm or sglang")
	return cmd
}

func (flags *serveFlags) run(cmd *cobra.Command, args []string) error {
	switch {
	case !(flags.Speed >= 0.001 && flags.Speed <= 1000):
		return fmt.Errorf("--speed is %v, want 0.001 to 1000", flags.Speed)
	case flags.engine == "gpt2" && (len(args) > 0 || flags.weights == "" || flags.Speed != 1 ||
		len(flags.set) > 0):
		return errors.New("--engine gpt2 takes --weights, and neither a scenario nor --set nor " +
			"--speed")
	case flags.engine != "gpt2" && (len(args) == 0 || flags.weights != ""):
		return errors.New("give a scenario, or --engine gpt2 and --weights")
	case flags.engine == "gpt2":
		return flags.compute(cmd)
	}
	return flags.simulate(cmd, args[0])
}

// compute serves a real model.
func (flags *serveFlags) compute(cmd *cobra.Command) (err error) {
	collectGarbage(growthOfWeights)
	executor, err := serve.OpenExecutor(flags.weights, flags.sequences, flags.threads)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, executor.Close()) }()
	flags.Executor, flags.Models, flags.Lengths = executor, []string{"gpt2"}, []int{1}
	if flags.Simulation, err = executor.Simulation(); err != nil {
		return err
	}
	return flags.open(cmd)
}

// simulate serves the fleet of a scenario.
func (flags *serveFlags) simulate(cmd *cobra.Command, name string) error {
	simulation, err := build(scenarios.Load(name, flags.set...))
	if err != nil {
		return err
	}
	defer simulation.Source.Close()
	flags.Simulation, flags.Models = simulation.Config(), simulation.Models()
	flags.Lengths, flags.Tenants = serve.Lengths(simulation.Source), simulation.Metrics().Tenants
	return flags.open(cmd)
}

// open completes the options, and serves.
func (flags *serveFlags) open(cmd *cobra.Command) error {
	if err := flags.fill(cmd); err != nil {
		return err
	}
	if flags.otlp != "" {
		flags.Spans = serve.NewSpans(flags.otlp)
		defer flags.Spans.Close()
	}
	err := flags.answer(cmd)
	if flags.Recorder != nil {
		err = errors.Join(err, flags.Recorder.Close())
	}
	return failed(err)
}

// fill completes the options.
func (flags *serveFlags) fill(cmd *cobra.Command) error {
	if cmd.Flags().Changed("api-key") && flags.APIKey == "" { // a variable that is not set, say
		return errors.New("--api-key is empty: give a key, or leave the flag out to serve everyone")
	}
	flags.Version = scenarios.Version()
	if flags.name != "" {
		if len(flags.Models) != 1 {
			return fmt.Errorf("--served-model-name names one model; the scenario serves %d",
				len(flags.Models))
		}
		flags.Models = []string{flags.name}
	}
	if flags.APIKey == "" {
		flags.APIKey = os.Getenv(apiKeyVariable)
	}
	flags.Warn = func(message string) {
		fmt.Fprintln(cmd.ErrOrStderr(), "llmsim: WARNING:", message)
	}
	if !flags.quiet {
		flags.Log = slog.New(slog.NewJSONHandler(cmd.ErrOrStderr(), nil))
	}
	if flags.record == "" {
		return nil
	}
	var err error
	flags.Recorder, err = serve.NewRecorder(flags.record)
	return err
}

// answer serves until the command is interrupted.
func (flags *serveFlags) answer(cmd *cobra.Command) error {
	replicas := 0
	if flags.perReplica {
		replicas = len(flags.Simulation.Replicas)
	}
	// Clients may connect from here on, so answers must be given their time before.
	takeLeave(cmd.Context(), serve.DefaultLimits(0).DrainTime)
	listeners, err := serve.Listen(flags.listen, replicas)
	if err != nil {
		return err
	}
	service, err := serve.Open(flags.Options)
	if err != nil {
		return err
	}
	out := cmd.OutOrStdout()
	fmt.Fprintf(out, "%s at http://%s\n", flags.Models[0], listeners[0].Addr())
	for i, l := range listeners[1:] {
		fmt.Fprintf(out, "replica %d at http://%s\n", i, l.Addr())
	}
	if !serve.Loopback(listeners[0].Addr()) && flags.APIKey == "" {
		fmt.Fprintf(cmd.ErrOrStderr(),
			"llmsim: WARNING: everyone who can reach %s can use this server; set --api-key\n",
			listeners[0].Addr())
	}
	return service.Run(cmd.Context(), listeners)
}
