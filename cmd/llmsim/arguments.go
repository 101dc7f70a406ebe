package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

// noLimit is the most arguments of a command that takes any number.
const noLimit = -1

// arguments refuses fewer arguments than the least and more than the most, and says what the
// command takes, with its first example.
func arguments(least, most int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch n := len(args); {
		case n < least:
			name := strings.TrimSuffix(strings.Fields(cmd.Use)[1+n], "…")
			return fmt.Errorf("%s is missing: %s", name, usage(cmd))
		case most != noLimit && n > most:
			return fmt.Errorf("%q is one argument too many: %s", args[most], usage(cmd))
		}
		return nil
	}
}

// usage returns how a command is called, with its first example.
func usage(cmd *cobra.Command) string {
	_, takes, _ := strings.Cut(cmd.Use, " ")
	text := strings.TrimSpace("want " + cmd.CommandPath() + " " + takes)
	if example, _, _ := strings.Cut(cmd.Example, "\n"); example != "" {
		text += ", such as " + strings.TrimSuffix(strings.TrimSpace(example), ` \`)
	}
	return text
}

// strictFlag is the flag --strict, with which nothing may be lost between a fleet and the files
// that start it.
type strictFlag struct {
	on    bool
	reads string // the flag that reads such files
}

func (s *strictFlag) add(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&s.on, "strict", false, "exit with code 2 where "+s.reads+
		" leaves out a flag, or --emit a part of the fleet")
}

// refuse returns an error that names what is lost, if something is.
func (s strictFlag) refuse(words string, lost []string) error {
	if !s.on || len(lost) == 0 {
		return nil
	}
	return fmt.Errorf("--strict: %s %s", words, strings.Join(lost, "; "))
}
