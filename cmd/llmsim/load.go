package main

import (
	"context"
	"errors"
	"io"
	"os"
	"time"

	"github.com/llmsim/llmsim/internal/files"
	"github.com/llmsim/llmsim/internal/load"
	"github.com/llmsim/llmsim/internal/report"
	"github.com/llmsim/llmsim/scenarios"
	"github.com/llmsim/llmsim/workload"

	"github.com/spf13/cobra"
)

// apiKeyVariable is the environment variable from which load and serve take their key.
const apiKeyVariable = "LLMSIM_API_KEY"

// loadFlags are the flags of the load command.
type loadFlags struct {
	load.Config
	scenario string   `flag:"scenario" usage:"scenario whose workload is sent, and whose SLO is judged"`
	set      []string `flag:"set" usage:"override a field of the scenario: key.path=value (repeatable)"`
	trace    string   `flag:"trace" usage:"a file of recorded requests to send at their own times, in place of a scenario"`
	endpoint string   `flag:"endpoint" choice:"completions,chat" usage:"the endpoint to call: completions (prompts as tokens) or chat (prompts as text)"`
	formatFlag
	requests string `flag:"requests" usage:"CSV file for each request and its latencies, which llmsim twin observe reads"`
}

func loadCommand() *cobra.Command {
	var flags loadFlags
	cmd := declare(&cobra.Command{
		Use:   "load URL --scenario FILE|NAME | --trace FILE",
		Short: "Send a workload to an OpenAI endpoint and measure what its users see",
		Long: "Send the workload of a scenario, or a recorded workload, to an OpenAI endpoint. " +
			"TTFT, ITL and E2E latency are measured as vLLM's serving benchmark defines them. " +
			"--format json prints the keys of llmsim scenario. Times count from the moment at " +
			"which the workload sends a request, so that they include the delays of a slow " +
			"server. The API key for the server is taken from " + apiKeyVariable + ".",
		Example: `  llmsim load http://127.0.0.1:8000 --scenario chat
  llmsim load http://127.0.0.1:8000 --scenario chat --set workload.rate=4/s \
      --set workload.duration=1m --format json
  llmsim load http://127.0.0.1:8000 --trace requests.jsonl --endpoint chat`,
		Args: arguments(1, 1),
		RunE: flags.run,
	}, &flags)
	f := cmd.Flags()
	f.StringVar(&flags.Model, "model", "",
		"the model to request; without it, the first model that the server lists")
	f.Float64Var(&flags.Speed, "speed", 1,
		"seconds of the workload in one second of wall-clock time, as in llmsim serve")
	f.IntVar(&flags.Concurrency, "concurrency", 0, "the most requests in flight; 0 means no limit")
	f.DurationVar(&flags.Timeout, "timeout", 10*time.Minute, "the longest time that a request "+
		"may take")
	return cmd
}

func (flags *loadFlags) run(cmd *cobra.Command, args []string) error {
	source, err := flags.open()
	if err != nil {
		return err
	}
	defer source.Close()
	flags.URL, flags.Source, flags.Chat = args[0], source, flags.endpoint == "chat"
	flags.APIKey = os.Getenv(apiKeyVariable)
	result, err := flags.send(cmd.Context())
	return write(cmd, flags.format, result, err, (*load.Result).WriteText)
}

// send sends the workload, and writes its requests into a file if one is wanted.
func (flags *loadFlags) send(ctx context.Context) (result *load.Result, err error) {
	if flags.requests == "" {
		return load.Run(ctx, flags.Config)
	}
	err = files.Write(flags.requests, func(w io.Writer) error {
		table := report.NewRequests(w)
		flags.Requests = table
		if result, err = load.Run(ctx, flags.Config); err != nil {
			return err
		}
		return table.Close()
	})
	return result, err
}

// open starts the workload that the flags name.
func (flags *loadFlags) open() (workload.Source, error) {
	if (flags.scenario == "") == (flags.trace == "") {
		return nil, errors.New("give either --scenario or --trace")
	}
	if flags.trace != "" {
		if len(flags.set) > 0 {
			return nil, errors.New("--set changes a scenario; a trace has none")
		}
		return workload.Open(workload.Config{Trace: &workload.Trace{Path: flags.trace}})
	}
	simulation, err := build(scenarios.Load(flags.scenario, flags.set...))
	if err != nil {
		return nil, err
	}
	flags.Metrics = simulation.Metrics()
	return simulation.Source, nil
}
