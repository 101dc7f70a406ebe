package main

import "strings"

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
