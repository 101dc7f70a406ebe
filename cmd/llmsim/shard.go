package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/llmsim/llmsim/internal/planner"
	"github.com/llmsim/llmsim/scenarios"
)

// shardFlag is the flag that chooses the part of the work to do. It implements pflag.Value.
type shardFlag struct{ planner.Shard }

func (s *shardFlag) add(cmd *cobra.Command) {
	cmd.Flags().Var(s, "shard",
		"do only part i/n of the work, where i starts at 0, and write it to --out; llmsim merge "+
			"joins the parts")
}

func (s *shardFlag) String() string {
	if s.Of == 0 {
		return ""
	}
	return s.Shard.String()
}

func (s *shardFlag) Type() string { return "i/n" }

// Set stores the part, or refuses it.
func (s *shardFlag) Set(text string) (err error) {
	s.Shard, err = planner.ParseShard(text)
	return err
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
