package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/llmsim/llmsim/internal/planner"
	"github.com/llmsim/llmsim/internal/planner/queue"
	"github.com/llmsim/llmsim/scenarios"
)

// queueFlags are the flags that say where simulations are queued and who runs them.
type queueFlags struct{ queue.Config }

// add defines the flags of a command that plans.
func (flags *queueFlags) add(cmd *cobra.Command) {
	f := cmd.Flags()
	flags.Workers = runtime.GOMAXPROCS(0)
	f.Var(countFrom(0, &flags.Workers), "workers",
		"runs at the same time in this process; with --nats or --listen, 0 leaves all runs to "+
			"llmsim worker")
	f.StringVar(&flags.Listen, "listen", "",
		"the address at which llmsim worker processes may join: a port for those on this "+
			"machine, or 0.0.0.0:4222 for all")
	f.DurationVar(&flags.Redeliver, "redeliver", queue.DefaultRedeliver,
		"how long a worker may be silent before its task is given to another")
	flags.addServer(cmd)
}

// addServer defines the flags that name a server.
func (flags *queueFlags) addServer(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&flags.URL, "nats", "",
		"a NATS server with JetStream that hands out the runs, such as "+
			"nats://user:password@host:4222")
	f.StringVar(&flags.KeyFile, "queue-key", "",
		"file with the key that planners and workers share; it is made if it is missing (default "+
			"llmsim/queue.key in your configuration folder)")
	f.StringVar(&flags.Credentials, "nats-creds", "", "file with the JWT and key of a NATS user")
	f.StringVar(&flags.CA, "nats-ca", "", "PEM file with the certificates to trust, for TLS")
	f.StringVar(&flags.Cert, "nats-cert", "", "PEM file with this side's certificate, for TLS")
	f.StringVar(&flags.Key, "nats-key", "", "PEM file with the key of --nats-cert")
}

// config returns the configuration, with messages to standard error.
func (flags *queueFlags) config(cmd *cobra.Command) (queue.Config, error) {
	c := flags.Config
	if c.Workers == 0 && c.URL == "" && c.Listen == "" {
		return c, fmt.Errorf("--workers 0 leaves all runs to other processes, which need --nats " +
			"or --listen to join: give one of the two")
	}
	c.Log = func(text string) { fmt.Fprintln(cmd.ErrOrStderr(), "llmsim:", text) }
	return c, c.Check()
}

// withJournal does work whose runs go through the queue that the flags ask for. Where there is a
// folder, out, a journal in it keeps what was run, and the same command goes on from there. Noun
// names what is kept, such as "simulations".
func (flags *queueFlags) withJournal(cmd *cobra.Command, out, noun string,
	work func(c queue.Config, j *planner.Journal) error) error {
	c, err := flags.config(cmd)
	if err != nil {
		return scenarios.BadInput(err)
	}
	if out == "" {
		return work(c, nil)
	}
	j, err := planner.OpenJournal(filepath.Join(out, "journal.jsonl"))
	if err != nil {
		return failed(err)
	}
	err = work(c, j)
	if errors.Is(err, context.Canceled) {
		err = fmt.Errorf("interrupted; %d %s are kept in %s, and the same command goes on from "+
			"there", j.Len(), noun, out)
	}
	return errors.Join(err, j.Close())
}

// shardFlag is the flag that chooses the part of the work to do.
type shardFlag struct{ planner.Shard }

func (s *shardFlag) add(cmd *cobra.Command) {
	text := func() string {
		if s.Of == 0 {
			return ""
		}
		return s.Shard.String()
	}
	cmd.Flags().Var(flagValue{"i/n", text, func(text string) (err error) {
		s.Shard, err = planner.ParseShard(text)
		return err
	}}, "shard", "do only part i/n of the work, where i starts at 0, and write it to --out; "+
		"llmsim merge joins the parts")
}

// begin notes in the folder which part of the question it is for. A shard of one, 0/1, is the
// whole.
func (s *shardFlag) begin(dir string, q planner.Question,
	read func(name string) ([]byte, error)) error {
	if s.Of == 0 {
		return nil
	}
	if dir == "" {
		return errors.New("--shard needs --out: a folder for this part, which llmsim merge joins " +
			"with the others")
	}
	text, err := read(q.Name)
	if err != nil {
		return err
	}
	q.Text, q.Version = string(text), scenarios.Version()
	return failed(planner.BeginShard(dir, q, s.Shard))
}

// printDone says that the part is done.
func (s *shardFlag) printDone(cmd *cobra.Command, dir string) error {
	_, err := fmt.Fprintf(cmd.OutOrStdout(),
		"Shard %v is done and kept in %s; llmsim merge joins the shards.\n", s.Shard, dir)
	return err
}
