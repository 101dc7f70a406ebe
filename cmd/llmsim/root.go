package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/llmsim/llmsim/internal/nearest"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// group is commands that serve the same end, as --help shows them.
type group struct {
	id, title string
	commands  []*cobra.Command
}

// groups lists the commands. To add one, write its file and name it here.
func groups() []group {
	return []group{
		{"simulate", "Simulate:", []*cobra.Command{scenarioCommand(), timelineCommand(),
			askCommand()}},
		{"decide", "Decide:", []*cobra.Command{
			compareCommand(), sweepCommand(), tuneCommand(), planCommand(), supportCommand(),
			workerCommand(), mergeCommand(),
		}},
		{"connect", "Connect to servers and clients:",
			[]*cobra.Command{serveCommand(), loadCommand(), twinCommand()}},
		{"teach", "Understand:", []*cobra.Command{explainCommand(), rooflineCommand(),
			trainCommand(), memoryCommand(), reuseCommand(), playgroundCommand()}},
		{"check", "Check the simulator:", []*cobra.Command{
			validateCommand(), crosscheckCommand(), calibrateCommand(), newGPT2Command(),
			benchCommand(),
		}},
		{"keep", "Look up and keep:", []*cobra.Command{listCommand(), runsCommand(),
			registryCommand(), versionCommand(), manCommand()}},
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
	if out.err != nil { // which the help, for one, does not mention
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
