package main

import (
	"fmt"

	"github.com/spf13/cobra"
)

// twinCommand is the group of commands around a deployment of one's own.
func twinCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "twin",
		Short: "Fit the simulator to a deployment of your own",
		Long: "Reads what a deployment has written or exposes, fits a few factors to it, and " +
			"keeps " +
			"watch over both. docs/twin.md shows it from an own `vllm bench serve` to a plan.",
		Args: arguments(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	for _, c := range []*cobra.Command{twinObserveCommand(), twinAdaptCommand(),
		twinDriftCommand(), twinReplayCommand()} {
		c.Long = reflow(c.Long)
		cmd.AddCommand(c)
	}
	return cmd
}

// sourceFlags say how sources are read.
type sourceFlags struct {
	format string   `flag:"format" usage:"the format of the sources. Default: found by itself"`
	fields []string `flag:"map" usage:"the column of a CSV file that has a field, as field=column (repeatable)"`
}

// day refuses what is no date.
func day(text string) error {
	var y, m, d int
	if n, err := fmt.Sscanf(text, "%4d-%2d-%2d", &y, &m, &d); n != 3 || err != nil ||
		len(text) != 10 {
		return fmt.Errorf("--date: found %q, want a day such as 2026-11-23", text)
	}
	return nil
}
