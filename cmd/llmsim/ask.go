package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"

	"github.com/spf13/cobra"

	"github.com/llmsim/llmsim/internal/ask"
	"github.com/llmsim/llmsim/internal/files"
)

// askFlags are the flags of the ask command.
type askFlags struct {
	server string   `flag:"server" usage:"the command that starts the server, in place of the text's"`
	gpu    string   `flag:"gpu" usage:"the accelerator, in place of the text's (llmsim list hardware)"`
	load   string   `flag:"load" usage:"the load, in place of the text's: a load generator's command, or such as concurrency=64,input=1000,output=200 (rate, requests, input-std, output-std, prefix, groups, burstiness, duration, seed)"`
	vars   []string `flag:"var" usage:"the value of a variable of the commands: NAME=VALUE (repeatable)"`
	set    []string `flag:"set" usage:"override a field of the scenario: key.path=value (repeatable)"`
	formatFlag
	emit string `flag:"emit" usage:"file for the scenario that was simulated, the last of several"`
}

func askCommand() *cobra.Command {
	var flags askFlags
	return declare(&cobra.Command{
		Use:   "ask [FILE…]",
		Short: "Answer a pasted thread: its command, GPU, load and figures, beside predictions",
		Long: "Reads a thread from standard input or files: the command that starts a server, " +
			"the GPU, a load generator's command, the table or JSON of its result, log lines. It " +
			"says what it understood and assumed, shows predicted beside reported figures, says " +
			"what binds, which setting would help, and which figure does not fit the physics. It " +
			"uses no network and no model.",
		Example: `  llmsim ask < thread.txt
  llmsim ask thread.txt result.json --gpu h100-sxm
  llmsim ask thread.txt --emit scenario.yaml`,
		Args: arguments(0, noLimit),
		RunE: flags.run,
	}, &flags)
}

func (flags *askFlags) run(cmd *cobra.Command, args []string) error {
	text, err := read(cmd.InOrStdin(), args)
	if err != nil {
		return err
	}
	if err := files.Replaceable(flags.emit, ask.Head); err != nil {
		return fmt.Errorf("--emit: %w", err)
	}
	answer, err := ask.Ask(cmd.Context(), text, ask.Options{Server: flags.server, GPU: flags.gpu,
		Load: flags.load, Vars: flags.vars, Set: flags.set})
	switch {
	case err != nil || flags.emit == "":
	case answer.Scenario() == nil:
		err = errors.New("--emit: the server does not start, so that there is no scenario of it")
	default:
		err = files.WriteBytes(flags.emit, answer.Scenario(), 0o666)
	}
	return show(cmd, flags.format, answer, err, (*ask.Answer).Blocks)
}

// read returns the text of the files, or of standard input without any.
func read(input io.Reader, names []string) (string, error) {
	var parts []string
	for _, name := range names {
		data, err := files.Read(files.Disk{}, name, ask.MostBytes)
		if errors.Is(err, fs.ErrNotExist) {
			return "", fmt.Errorf("there is no file %s", name)
		}
		if err != nil {
			return "", err
		}
		parts = append(parts, string(data))
	}
	if len(names) == 0 {
		data, err := io.ReadAll(files.Limit(input, "standard input", ask.MostBytes))
		return string(data), err
	}
	return strings.Join(parts, "\n\n"), nil
}
