package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/llmsim/llmsim/internal/engine"
	"github.com/llmsim/llmsim/internal/engine/gpt2"
	"github.com/llmsim/llmsim/internal/engine/kernels"
	"github.com/llmsim/llmsim/internal/files"
	"github.com/llmsim/llmsim/internal/twin/probe"
	"github.com/llmsim/llmsim/internal/units"
	"github.com/llmsim/llmsim/internal/validation/calibration"
	"github.com/llmsim/llmsim/scenarios"
)

// calibrateFlags are the flags of the calibrate command.
type calibrateFlags struct {
	out      string `flag:"out" default:"host.yaml" usage:"the hardware file to write; the measurements go into a CSV file beside it"`
	name     string `flag:"name" default:"host" usage:"the name of the accelerator in scenarios"`
	shape    string
	rounds   int      `flag:"rounds" least:"1" default:"5" usage:"how often each step is measured"`
	threads  []int    `flag:"threads" usage:"numbers of computing threads; more than one needs an idle machine. Each number makes an accelerator of its own: host, host-2, …"`
	url      string   `flag:"url" usage:"address of an OpenAI server whose host is measured, in place of this computer: it serves a small model, such as Qwen2.5-0.5B, to nobody else"`
	model    string   `flag:"model" usage:"the model that the server of --url has, such as qwen2.5-0.5b"`
	hardware string   `flag:"hardware" usage:"the accelerator of the server of --url, such as h100-sxm"`
	engine   string   `flag:"engine" usage:"the engine of the server of --url, such as vllm"`
	set      []string `flag:"set" usage:"override a field of the scenario of --url: key.path=value, such as engine.version=0.19.0 (repeatable)"`

	config gpt2.Config
}

func calibrateCommand() *cobra.Command {
	flags := calibrateFlags{threads: []int{1}}
	cmd := declare(&cobra.Command{
		Use:   "calibrate",
		Short: "Measure this computer, or the host of a GPU server, for scenarios to name",
		Long: "Measures this computer's processors with a real GPT-2, and writes them as an " +
			"accelerator to a hardware file.\n\nWith --url, measures the host of a GPU server, " +
			"which decides the steps of small models there: for less than a minute, sends " +
			"requests to an idle server of one, and finds the hardware.host with which the time " +
			"a token is predicted as it was measured. Scenarios of other models on that machine " +
			"take it. Ends with code 3 where the measurements tell no host, such as when the " +
			"accelerator decides the step. The API key for the server is taken from " +
			apiKeyVariable + ".",
		Example: `  llmsim calibrate --out host.yaml
  llmsim calibrate --threads 1,2 --out host.yaml
  llmsim crosscheck v1-light --hardware host.yaml
  llmsim calibrate --url http://server:8000/v1 --model qwen2.5-0.5b --hardware h100-sxm`,
		Args:    arguments(0, 0),
		PreRunE: func(cmd *cobra.Command, _ []string) error { return flags.check(cmd) },
		RunE: func(cmd *cobra.Command, _ []string) error {
			if flags.url != "" {
				return failed(flags.probe(cmd))
			}
			return failed(flags.run(cmd))
		},
	}, &flags)
	cmd.Flags().StringVar(&flags.shape, "shape", "124M", "the GPT-2 that is measured: "+
		strings.Join(gpt2.Shapes(), ", ")+", or a config.json")
	return cmd
}

func (flags *calibrateFlags) check(cmd *cobra.Command) (err error) {
	for _, name := range []string{"out", "name", "shape", "rounds", "threads"} {
		if flags.url != "" && cmd.Flags().Changed(name) {
			return fmt.Errorf("--%s is about this computer, and --url measures a server", name)
		}
	}
	if server := flags.model + flags.hardware + flags.engine; flags.url == "" &&
		(server != "" || len(flags.set) > 0) {
		return errors.New("--model, --hardware, --engine and --set are about the server of --url")
	}
	if flags.url != "" {
		if flags.model == "" || flags.hardware == "" {
			return errors.New("--url needs --model and --hardware: what the server has")
		}
		return nil
	}
	if flags.rounds < 3 {
		return errors.New("--rounds must be at least 3, or outliers cannot be recognised")
	}
	for _, n := range flags.threads {
		if most := runtime.GOMAXPROCS(0); n < 1 || n > most {
			return fmt.Errorf("--threads: found %d; allowed: 1 to %d, the processors here", n, most)
		}
	}
	flags.config, err = gpt2.ShapeConfig(flags.shape)
	return err
}

// hostMemory is a calibrated host's memory for weights and KV cache. It is the same on every
// computer, so that scenarios have the same KV memory everywhere.
const hostMemory = 4 << 30

func (flags *calibrateFlags) run(cmd *cobra.Command) error {
	var fits []*calibration.Fit
	for _, threads := range flags.threads {
		fit, err := flags.calibrate(cmd, threads)
		if err != nil {
			return err
		}
		fits = append(fits, fit)
	}
	points := strings.TrimSuffix(flags.out, filepath.Ext(flags.out)) + ".csv"
	err := errors.Join(
		files.Write(flags.out, func(w io.Writer) error {
			return calibration.Write(w, fits, calibration.Processor())
		}),
		files.Write(points, func(w io.Writer) error { return calibration.WritePoints(w, fits) }),
	)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(cmd.OutOrStdout(), "written               %s, %s\n", flags.out, points)
	return err
}

// probe measures the host of a server.
func (flags *calibrateFlags) probe(cmd *cobra.Command) error {
	var engine []string
	if flags.engine != "" {
		engine = []string{"engine=" + flags.engine}
	}
	r, err := probe.Run(cmd.Context(), probe.Config{
		Load: func(sets ...string) (*scenarios.File, error) {
			return scenarios.Describe(flags.model, flags.hardware,
				slices.Concat(engine, flags.set, sets)...)
		},
		URL: flags.url, APIKey: os.Getenv(apiKeyVariable), Speed: 1,
		Tell: func(what string) { fmt.Fprintln(cmd.ErrOrStderr(), what) },
	})
	if err != nil {
		return err
	}
	printNotes(cmd, r.Warnings)
	return r.WriteText(cmd.OutOrStdout())
}

// calibrate measures the computer with a number of threads.
func (flags *calibrateFlags) calibrate(cmd *cobra.Command, threads int) (fit *calibration.Fit,
	err error) {
	host, err := calibration.NewMachine(threads, engine.DefaultProbeBytes)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, host.Close()) }()
	tell := cmd.ErrOrStderr()
	fmt.Fprintf(tell, "threads: %d; writing and loading %d random parameters\n", threads,
		flags.config.Parameters())
	model, err := host.Model(cmd.Context(), flags.config, kernels.F32)
	if err != nil {
		return nil, err
	}
	measured, err := calibration.Measure(cmd.Context(), host, model, flags.rounds, func(round int) {
		fmt.Fprintf(tell, "round %d of %d\n", round, flags.rounds)
	})
	if err != nil {
		return nil, err
	}
	if err := measured.Quiet(threads); err != nil {
		return nil, err
	}
	name := flags.name
	if threads > 1 {
		name = fmt.Sprintf("%s-%d", name, threads)
	}
	architecture := calibration.Architecture("GPT-2 "+flags.shape, flags.config)
	fit, err = calibration.Calibrate(name, measured, architecture, threads, hostMemory, time.Now())
	if err != nil {
		return nil, err
	}
	return fit, flags.printFit(cmd.OutOrStdout(), measured, fit)
}

func (flags *calibrateFlags) printFit(out io.Writer, measured *calibration.Measurement,
	fit *calibration.Fit) error {
	_, err := fmt.Fprintf(out, `%s: %s, threads: %d
reads memory at       %s
multiplies at         %s
steps of the grid     %d, each measured %d times
noise                 ±%.1f %% a step, %.1f %% drift
error of the fit      %.1f %% (median), %.1f %% for steps left out
`, fit.Accelerator.Name, calibration.Processor(), fit.Accelerator.SMs,
		units.FormatByteRate(measured.Noise.Rates.Bandwidth),
		units.FormatFLOPRate(measured.Noise.Rates.FLOPRate),
		len(measured.Points), flags.rounds, 100*measured.Spread(), 100*measured.Noise.Drift(),
		100*fit.Error, 100*fit.LeftOutError)
	return err
}
