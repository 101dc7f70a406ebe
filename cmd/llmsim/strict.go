package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

// strictFlag is the flag --strict, with which nothing may be lost between a fleet and the files
// that start it.
type strictFlag bool

func (s *strictFlag) add(cmd *cobra.Command, reads string) {
	cmd.Flags().BoolVar((*bool)(s), "strict", false, "exit with code 2 where "+reads+
		" leaves out a flag, or --emit a part of the fleet")
}

// refuse returns an error that names what is lost, if something is.
func (s strictFlag) refuse(words string, lost []string) error {
	if !s || len(lost) == 0 {
		return nil
	}
	return fmt.Errorf("--strict: %s %s", words, strings.Join(lost, "; "))
}
