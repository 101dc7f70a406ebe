package main

import (
	"github.com/llmsim/llmsim/internal/report"
	"github.com/llmsim/llmsim/scenarios"
	"github.com/llmsim/llmsim/workload/reuse"
	"github.com/llmsim/llmsim/workload/trace"

	"github.com/spf13/cobra"
)

func reuseCommand() *cobra.Command {
	var flags struct {
		blocks []int `flag:"blocks" least:"1" usage:"sizes of caches in blocks of the trace (default: parts of the number of different blocks)"`
		formatFlag
	}
	return declare(&cobra.Command{
		Use:   "reuse TRACE",
		Short: "Show which share of a trace's prompts prefix caches of any size find again",
		Long: "The requests of the trace come one at a time, in order. A cache that keeps the " +
			"blocks that were used last is beside the bound: one that knows which are used next. " +
			"Blocks are those that the trace names, and of recorded sessions 16 tokens; answers " +
			"count where a later prompt repeats them.",
		Example: "  llmsim reuse conversation_trace.jsonl --blocks 1000,5859,100000",
		Args:    arguments(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := reuse.Read(args[0], trace.Options{})
			if err != nil {
				return scenarios.BadInput(err)
			}
			r := report.NewReuse(c, flags.blocks)
			return write(cmd, flags.format, r, nil, (*report.Reuse).WriteText)
		},
	}, &flags)
}
