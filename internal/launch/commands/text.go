package commands

import (
	"regexp"
	"strings"
)

// What copies of commands have that no shell takes.
var (
	// goesOn is behind a line that goes on: blanks or a comment behind the backslash, or the sign
	// of another shell, ` of PowerShell and ^ of Windows.
	goesOn = regexp.MustCompile("(?m)(?:\\\\[ \\t]+(?:#.*)?| [`^])[ \\t]*$")
	// prompt is that of a shell before a command.
	prompt = regexp.MustCompile(`(?m)^[ \t]*(?:\([\w.-]+\) *)?(?:[\w.-]+@[\w.~:/-]* ?[$#]|\$|` +
		`(?:PS )?[A-Z]:\\[^>\n]*>) +`)
	// windowsPath is a path with a drive.
	windowsPath = regexp.MustCompile(`\b[A-Z]:(?:\\[\w.-]+)+`)
	// place is a placeholder: <ip>, {{ host }}.
	place = regexp.MustCompile(`(^|[^<\w])<([A-Za-z][\w .:/'-]{0,60}[\w.])>|` +
		`\{\{-? *([^{}\n]{1,60}?) *-?\}\}`)
)

// letters may stand in the names of variables.
const letters = "_0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

// forShell returns a text as a shell takes it: without what copies add, and with a variable for
// each placeholder. Lines keep their numbers.
func forShell(text string) string {
	text = prompt.ReplaceAllString(strings.ReplaceAll(text, "\r\n", "\n"), "")
	text = windowsPath.ReplaceAllStringFunc(text, func(path string) string {
		return strings.ReplaceAll(path, `\`, "/")
	})
	var b strings.Builder
	last := 0
	text = withoutBlanks(text)
	for _, at := range place.FindAllStringSubmatchIndex(text, -1) {
		group, before := 4, at[0]
		if at[group] < 0 {
			group = 6
		} else {
			before = at[3]
		}
		name := placeholder(text[at[group]:at[group+1]])
		if joined := group == 4 && at[1] < len(text) &&
			strings.IndexByte(letters, text[at[1]]) >= 0; joined || name == "" {
			continue // <in>out is a redirection
		}
		b.WriteString(text[last:before] + "${" + name + "}")
		last = at[1]
	}
	return b.String() + text[last:]
}

// mostQuoted bounds how many words in quotes that look like the end of a line are passed over: for
// each of them, its line is read again.
const mostQuoted = 1000

// withoutBlanks returns a text whose lines go on behind a backslash alone.
func withoutBlanks(text string) string {
	var b strings.Builder
	last, quoted := 0, 0
	for from := 0; quoted < mostQuoted; {
		at := goesOn.FindStringIndex(text[from:])
		if at == nil {
			break
		}
		begin, end := from+at[0], from+at[1]
		line := text[strings.LastIndexByte(text[:begin], '\n')+1 : begin]
		if q := openQuote(line); q != 0 && strings.IndexByte(text[begin:end], q) >= 0 {
			quoted, from = quoted+1, begin+1 // the quotes end behind it
			continue
		}
		b.WriteString(text[last:begin] + ` \`)
		last, from = end, end
	}
	return b.String() + text[last:]
}

// openQuote returns the quote that is open at the end of a part of a line; 0 where there is no such
// quote.
func openQuote(text string) (open byte) {
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '\\' && open != '\'':
			i++
		case open == 0 && (c == '\'' || c == '"'):
			open = c
		case c == open:
			open = 0
		}
	}
	return open
}

// placeholder returns the name of the variable that stands for a placeholder, "" without a letter.
func placeholder(text string) string {
	name := strings.Trim(strings.Map(func(r rune) rune {
		if strings.ContainsRune(letters, r) {
			return r
		}
		return '_'
	}, text), "_")
	if !IsName(name) {
		return ""
	}
	return name
}

// Placeholders returns words with marks for the placeholders that are whole words or values:
// --model=<MODEL>.
func Placeholders(words []string) []string {
	list := make([]string, len(words))
	for i, word := range words {
		before, text, found := strings.Cut(word, "<")
		name := placeholder(strings.TrimSuffix(text, ">"))
		if list[i] = word; found && strings.HasSuffix(text, ">") && name != "" &&
			(before == "" || strings.HasSuffix(before, "=")) {
			list[i] = before + mark(1, name)
		}
	}
	return list
}
