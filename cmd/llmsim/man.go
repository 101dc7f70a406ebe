package main

import (
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"

	"github.com/llmsim/llmsim/scenarios"
)

func manCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "man DIR",
		Short:   "Write a man page for each command into a folder",
		Example: "  llmsim man /usr/local/share/man/man1",
		Args:    arguments(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := os.MkdirAll(args[0], 0o777); err != nil {
				return err
			}
			// pages hold no date, so that builds can be repeated
			cmd.Root().DisableAutoGenTag = true
			header := &doc.GenManHeader{Section: "1", Source: "llmsim " + scenarios.Version(),
				Manual: "llmsim"}
			return failed(doc.GenManTree(cmd.Root(), header, args[0]))
		},
	}
}

// columns is the width of --help.
const columns = 100

// reflow breaks the lines of a text anew so that they fit. Lines that follow each other are a
// paragraph; a line that is indented is a paragraph, and keeps its indentation where it is broken.
func reflow(text string) string {
	var out []string
	paragraph := false // the last line can go on
	for line := range strings.SplitSeq(text, "\n") {
		words := strings.TrimLeft(line, " ")
		indent := line[:len(line)-len(words)]
		if paragraph && indent == "" && words != "" {
			words = out[len(out)-1] + " " + words
			out = out[:len(out)-1]
		}
		for len(indent)+len(words) > columns {
			at := strings.LastIndexByte(words[:columns-len(indent)+1], ' ')
			if at < 0 {
				break
			}
			out = append(out, indent+words[:at])
			words = words[at+1:]
		}
		out = append(out, indent+words)
		paragraph = indent == "" && words != ""
	}
	return strings.Join(out, "\n")
}
