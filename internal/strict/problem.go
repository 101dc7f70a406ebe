package strict

import (
	"fmt"
	"strings"
)

// Problem is one thing that is wrong with the input.
type Problem struct {
	// Where is "FILE:LINE", "FILE" where no line applies, "--set KEY" for a value from the command
	// line, or empty.
	Where string
	// Path is the field, such as "workload.rate"; empty for the file as a whole.
	Path string
	// Message says what was found and what is allowed.
	Message string
}

// Error returns "WHERE: PATH: MESSAGE".
func (p Problem) Error() string {
	text := p.Message
	if p.Path != "" && p.Where != overrideName(p.Path) {
		text = p.Path + ": " + text
	}
	if p.Where != "" {
		text = p.Where + ": " + text
	}
	return text
}

// Problems lists all problems of the input, in the order of the file.
type Problems []Problem

// mostProblems is the largest number of problems to list. Nobody corrects more at once.
const mostProblems = 20

// Error returns one problem a line, the first of them where there are many.
func (ps Problems) Error() string {
	var lines []string
	for i, p := range ps {
		if i == mostProblems {
			lines = append(lines, "there may be more; mend these first")
			break
		}
		lines = append(lines, p.Error())
	}
	return strings.Join(lines, "\n")
}

// orNil returns the problems as an error, nil without problems.
func (ps Problems) orNil() error {
	if len(ps) == 0 {
		return nil
	}
	return ps
}

func overrideName(path string) string { return "--set " + path }

// quote shows a value as the user wrote it, cut short where it is long.
func quote(text string) string {
	const longest = 60
	if r := []rune(text); len(r) > longest {
		text = string(r[:longest]) + "…"
	}
	return fmt.Sprintf("%q", text)
}
