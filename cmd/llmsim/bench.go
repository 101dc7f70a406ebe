package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/llmsim/llmsim/internal/bench"
	"github.com/llmsim/llmsim/internal/report"
	"github.com/llmsim/llmsim/internal/validation/calibration"
	"github.com/llmsim/llmsim/scenarios"
)

// benchFlags are the flags of the bench command.
type benchFlags struct {
	names    []string `flag:"case" usage:"a case to run beside the base (repeatable). Default: all"`
	against  string   `flag:"against" usage:"another build of llmsim, which runs in turns with this one; the table then has the ratio of their times (median over pairs) with an interval for it"`
	format   string   `flag:"format" choice:"table,markdown,json" usage:"what to print: table, markdown or json"`
	rounds   int      `flag:"rounds" least:"1" default:"3" usage:"how often each case runs"`
	requests int      `flag:"requests" usage:"the number of requests of each run. Default: that of the case"`
	growth   bool     `flag:"growth" usage:"run the cases that show how cost grows with the length of a run, replicas, the length of answers and the rate"`
	out      string   `flag:"out" usage:"folder for pictures of the growth: growth-time and growth-memory, as SVG and PNG; with --growth"`

	cases   []bench.Case
	program string // this build
}

// benchReport is the JSON output of bench.
type benchReport struct {
	Machine string         `json:"machine"`
	Cores   int            `json:"cores"`
	Version string         `json:"version"`
	Rounds  int            `json:"rounds"`
	Cases   []bench.Result `json:"cases"`
}

func benchCommand() *cobra.Command {
	var flags benchFlags
	return declare(&cobra.Command{
		Use:   "bench",
		Short: "Measure what simulations cost on this machine, or compare two builds",
		Long: "Run the scenario speed in variants, each in a process of its own, and show the " +
			"processor's time (user and system, median over rounds) and memory (MB at the most); " +
			"the ratio of a request's time to that of the base in the same round; and counts a " +
			"request that depend on no machine: steps formed, allocations and bytes allocated. " +
			"llmsim gpt2 bench measures the engine.",
		Example: `  llmsim bench
  llmsim bench --case base --case speculation --rounds 7
  llmsim bench --growth --out pictures
  llmsim bench --against ./llmsim-before --rounds 7 --format json`,
		Args:    arguments(0, 0),
		PreRunE: func(*cobra.Command, []string) error { return flags.check() },
		RunE:    func(cmd *cobra.Command, _ []string) error { return failed(flags.run(cmd)) },
	}, &flags)
}

// check looks at the flags, so that what is wrong with them counts as bad input.
func (flags *benchFlags) check() (err error) {
	if flags.program, err = os.Executable(); err != nil {
		return err
	}
	if flags.requests < 0 {
		return fmt.Errorf("--requests is %d, want 1 or more", flags.requests)
	}
	if flags.out != "" && !flags.growth {
		return errors.New("--out takes the pictures of --growth: add it, or leave --out out")
	}
	if flags.growth {
		if len(flags.names) > 0 {
			return errors.New("--growth and --case do not go together: leave one of them out")
		}
		flags.cases = bench.Growth()
	} else if flags.cases, err = bench.Choose(flags.names); err != nil {
		return fmt.Errorf("--case: %w", err)
	}
	if flags.against == "" {
		return nil
	}
	if flags.against, err = exec.LookPath(flags.against); err != nil {
		return fmt.Errorf("--against: %w", err)
	}
	if flags.against, err = filepath.Abs(flags.against); err != nil {
		return err
	}
	if flags.against == flags.program {
		return fmt.Errorf("--against: %s is this build", flags.against)
	}
	return nil
}

func (flags *benchFlags) run(cmd *cobra.Command) (err error) {
	r := benchReport{Machine: calibration.Processor(), Cores: runtime.NumCPU(),
		Version: scenarios.Version(), Rounds: flags.rounds}
	r.Cases, err = bench.Measure(cmd.Context(), flags.cases, bench.Options{
		Program: flags.program, Against: flags.against, Rounds: flags.rounds,
		Requests: flags.requests,
	}, func(step string) { fmt.Fprintln(cmd.ErrOrStderr(), step) })
	if err != nil {
		return err
	}
	if flags.out != "" {
		if err := bench.Draw(flags.out, flags.cases, r.Cases); err != nil {
			return err
		}
	}
	if flags.format == "json" {
		return report.JSON(cmd.OutOrStdout(), r)
	}
	if _, err := fmt.Fprintf(cmd.OutOrStdout(), "%s, %d cores, llmsim %s; rounds: %d\n\n",
		r.Machine, r.Cores, r.Version, r.Rounds); err != nil {
		return err
	}
	write := map[string]func(io.Writer, []bench.Result) error{
		"table": bench.WriteTable, "markdown": bench.WriteMarkdown}[flags.format]
	return write(cmd.OutOrStdout(), r.Cases)
}
