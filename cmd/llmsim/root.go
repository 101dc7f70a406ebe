package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/llmsim/llmsim/internal/nearest"
	"github.com/llmsim/llmsim/scenarios"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Exit codes.
const (
	exitDone      = 0
	exitFailed    = 1 // the run failed, or was interrupted
	exitBadInput  = 2 // scenario, flags or arguments are wrong
	exitSLOMissed = 3 // with --check-slo; with --fail-on, a limit is passed
)

var (
	errSLOMissed  = errors.New("the SLO is missed")
	errGateFailed = errors.New("a limit of --fail-on is broken")
)

// group is commands that serve the same end, as --help shows them.
type group struct {
	id, title string
	commands  []*cobra.Command
}

// groups lists the commands. To add one, write its file and name it here.
func groups() []group {
	return []group{
		{"simulate", "Simulate:", []*cobra.Command{scenarioCommand(), timelineCommand()}},
		{"decide", "Decide:", []*cobra.Command{
			compareCommand(), sweepCommand(), tuneCommand(), planCommand(), supportCommand(),
			workerCommand(), mergeCommand(),
		}},
		{"connect", "Connect to servers and clients:",
			[]*cobra.Command{serveCommand(), loadCommand()}},
		{"teach", "Understand:", []*cobra.Command{explainCommand(), rooflineCommand(),
			memoryCommand(), playgroundCommand()}},
		{"check", "Check the simulator:", []*cobra.Command{
			validateCommand(), crosscheckCommand(), calibrateCommand(), newGPT2Command(),
		}},
		{"keep", "Look up and keep:", []*cobra.Command{listCommand(), versionCommand(),
			manCommand()}},
	}
}

// newRoot makes the command line.
func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:   "llmsim",
		Short: "Simulate serving large language models",
		Long: "llmsim simulates the serving of large language models. It predicts latencies, " +
			"throughput,\nmemory and cost, and plans fleets.",
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	for _, g := range groups() {
		root.AddGroup(&cobra.Group{ID: g.id, Title: g.title})
		for _, c := range g.commands {
			c.GroupID, c.Long = g.id, reflow(c.Long)
		}
		root.AddCommand(g.commands...)
	}
	root.SetCompletionCommandGroupID("keep")
	root.SetHelpCommandGroupID("keep")
	root.SetFlagErrorFunc(flagError)
	wrapped := fmt.Sprintf(".FlagUsagesWrapped %d", columns)
	root.SetUsageTemplate(strings.ReplaceAll(root.UsageTemplate(), ".FlagUsages", wrapped))
	return root
}

// execute runs one command line and returns its exit code.
func execute(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	root := newRoot()
	out := &standardOutput{Writer: stdout}
	root.SetArgs(args)
	root.SetOut(out)
	root.SetErr(stderr)
	err := root.ExecuteContext(ctx)
	if out.err != nil { // of which the help, for one, says nothing
		err = runError{out.err}
	}
	switch {
	case errors.Is(err, context.Canceled):
		fmt.Fprintln(stderr, "llmsim: interrupted; nothing was written")
	case err != nil:
		fmt.Fprintln(stderr, "llmsim:", strings.TrimSpace(err.Error()))
	}
	return exitCode(err)
}

// standardOutput is standard output, with the first error of writing to it: a disk may be full.
type standardOutput struct {
	io.Writer
	err error
}

// Write writes on.
func (o *standardOutput) Write(p []byte) (int, error) {
	n, err := o.Writer.Write(p)
	if o.err == nil {
		o.err = err
	}
	return n, err
}

// Fd returns the number of the file, which says whether there is a terminal.
func (o *standardOutput) Fd() uintptr {
	if file, ok := o.Writer.(interface{ Fd() uintptr }); ok {
		return file.Fd()
	}
	return ^uintptr(0) // no file
}

// runError is an error that is not the fault of the input. Commands return it for what goes wrong
// once the input is read and checked; all other errors are about the input.
type runError struct{ error }

func (e runError) Unwrap() error { return e.error }

// failed marks an error as a failure of the run, unless it is nil or about the input after all.
func failed(err error) error {
	if err == nil || scenarios.IsInputError(err) {
		return err
	}
	return runError{err}
}

// exitCode returns the exit code for an error.
func exitCode(err error) int {
	var failure runError
	switch {
	case err == nil:
		return exitDone
	case errors.Is(err, errSLOMissed), errors.Is(err, errGateFailed):
		return exitSLOMissed
	case errors.As(err, &failure), errors.Is(err, context.Canceled):
		return exitFailed
	}
	return exitBadInput
}

// flagError adds the nearest flag to the message about an unknown one.
func flagError(cmd *cobra.Command, err error) error {
	var unknown *pflag.NotExistError
	if !errors.As(err, &unknown) {
		return err
	}
	var known []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) { known = append(known, "--"+f.Name) })
	return errors.New(nearest.Unknown("flag", "--"+unknown.GetSpecifiedName(), known))
}
