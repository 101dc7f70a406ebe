package main

import (
	"errors"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/llmsim/llmsim/internal/planner/capacity/judge"
	"github.com/llmsim/llmsim/internal/planner/queue"
	"github.com/llmsim/llmsim/internal/planner/sweep"
)

func workerCommand() *cobra.Command {
	var flags queueFlags
	cmd := &cobra.Command{
		Use:   "worker --nats URL",
		Short: "Run simulations for sweeps and plans on other machines",
		Long: "Run simulations for sweeps and plans on other machines. --nats is the server that " +
			"these also name, or the --listen address of one of them. The worker stops when it " +
			"is interrupted, and gives its unfinished runs back to the queue. It takes only " +
			"tasks that are signed with the key of --queue-key.",
		Example: `  llmsim worker --nats nats://planner.example.com:4222
  llmsim worker --nats tls://host:4222 --nats-ca ca.pem --nats-creds worker.creds`,
		Args: arguments(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error { return flags.work(cmd) },
	}
	flags.Workers = runtime.GOMAXPROCS(0)
	cmd.Flags().Var(countFrom(1, &flags.Workers), "workers", "runs at the same time")
	flags.addServer(cmd)
	return cmd
}

func (flags *queueFlags) work(cmd *cobra.Command) error {
	if flags.URL == "" {
		return errors.New("--nats is missing: give the URL of a NATS server, or of a sweep or " +
			"plan with --listen")
	}
	c, err := flags.config(cmd)
	if err != nil {
		return err
	}
	return failed(queue.Work(cmd.Context(), c,
		queue.Handlers{sweep.Kind: sweep.Simulate, judge.Kind: judge.Simulate}))
}
