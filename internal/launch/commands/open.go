package commands

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// A word that needs a shell to be evaluated has a mark for each part that is not known: its line,
// and the name of the variable without a value, if it is one.
const (
	open   = "\x00"
	closed = "\x01"
)

// mark returns the mark of a part that is not known.
func mark(line uint, name string) string {
	return open + strconv.FormatUint(uint64(line), 10) + ":" + name + closed
}

// Closed returns an error for a word that needs a shell to be evaluated, an *Open.
func Closed(word string) error {
	_, rest, found := strings.Cut(word, open)
	if !found {
		return nil
	}
	o := &Open{}
	for found {
		var said string
		said, rest, _ = strings.Cut(rest, closed)
		line, name, _ := strings.Cut(said, ":")
		o.line = cmp.Or(o.line, line)
		if name != "" && !slices.Contains(o.Names, name) {
			o.Names = append(o.Names, name)
		}
		_, rest, found = strings.Cut(rest, open)
	}
	return o
}

// Open is the error of a word that needs a shell to be evaluated.
type Open struct {
	// Names are the variables without a value; empty where something else is not known.
	Names []string
	line  string
}

// Error says what is not known, and where.
func (o *Open) Error() string {
	if len(o.Names) == 0 {
		return fmt.Sprintf("line %s has a variable or a substitution; write its value", o.line)
	}
	return fmt.Sprintf("line %s: %s has no value; give it with --var %s=…", o.line,
		strings.Join(o.Names, ", "), o.Names[0])
}

// named returns a value in which the parts that no variable stands for are named like the variable
// that has the value: a user can give that one.
func named(value, name string) string {
	return strings.ReplaceAll(value, ":"+closed, ":"+name+closed)
}

// withoutMarks returns a text without what is not known.
func withoutMarks(text string) string {
	return replaceMarks(text, func(string) string { return "" })
}

// reopened returns a text with variables in place of its marks.
func reopened(text string) string {
	return replaceMarks(text, func(name string) string { return "${" + cmp.Or(name, "_") + "}" })
}

// replaceMarks returns a text with others in place of its marks, by the names of these.
func replaceMarks(text string, by func(name string) string) string {
	for {
		before, rest, found := strings.Cut(text, open)
		if !found {
			return text
		}
		said, after, _ := strings.Cut(rest, closed)
		_, name, _ := strings.Cut(said, ":")
		text = before + by(name) + after
	}
}

// IsName reports whether a text can name a variable of a shell, or an argument of a script: 1 to 9.
func IsName(text string) bool {
	return syntax.ValidName(text) || len(text) == 1 && '1' <= text[0] && text[0] <= '9'
}

// unnamed returns a word with marks for the variables without a value, ${NAME}, and $(NAME) where
// that is all of a value: within one Kubernetes leaves it as it is. LeaderWorkerSet sets its own.
func unnamed(word string) string {
	_, value, joined := strings.Cut(word, "=")
	if !joined {
		value = word
	}
	if name := strings.TrimSuffix(strings.TrimPrefix(value, "$("), ")"); IsName(name) &&
		value == "$("+name+")" && !strings.HasPrefix(name, "LWS_") {
		return word[:len(word)-len(value)] + mark(1, name)
	}
	for {
		before, rest, found := strings.Cut(word, "${")
		name, after, ended := strings.Cut(rest, "}")
		if !found || !ended || !IsName(name) {
			return word
		}
		word = before + mark(1, name) + after
	}
}
