package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/llmsim/llmsim/internal/planner/journal"
	"github.com/llmsim/llmsim/internal/planner/queue"
	"github.com/llmsim/llmsim/scenarios"

	"github.com/spf13/cobra"
)

// keep does work whose runs go through the queue that the flags ask for. Where there is a folder,
// out, a journal in it keeps what was run, and the same command goes on from there. Noun names what
// is kept, such as "simulations".
func (flags *queueFlags) keep(cmd *cobra.Command, out, noun string,
	work func(c queue.Config, j *journal.Journal) error) error {
	c, err := flags.config(cmd)
	if err != nil {
		return scenarios.BadInput(err)
	}
	if out == "" {
		return work(c, nil)
	}
	j, err := journal.Open(filepath.Join(out, "journal.jsonl"))
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
