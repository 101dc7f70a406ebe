package commands

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
)

// What lines of units of systemd and of Dockerfiles have.
var (
	// ofLine is what stands before a command.
	ofLine = regexp.MustCompile(`^(?:ExecStart=[-@:+!]*|(ENTRYPOINT|CMD|RUN|Exec=) *|[-*>] +)`)
	// setting sets a variable.
	setting = regexp.MustCompile(`^(?:export +|ENV +|Environment=)?("?[A-Za-z_]\w*=.*)$`)
	// imageOf names the image in which the commands below run.
	imageOf = regexp.MustCompile(`^(?:FROM +|Image=)(\S+)`)
)

// mostLines bounds the lines of a text that are read one by one.
const mostLines = 2000

// excerpts returns the commands of a text that is no script as a whole: a unit of systemd, a
// Dockerfile, output among commands. Each line that starts an engine is read alone, with the
// variables that lines before it set.
func excerpts(text string, set variables, starts func(words []string) bool) (list []Command) {
	if len(text) > mostScript {
		return nil
	}
	var assigned strings.Builder
	var around Place
	var entry []string
	lines := strings.Split(strings.ReplaceAll(forShell(text), "\\\n", " "), "\n")
	for _, line := range lines[:min(len(lines), mostLines)] {
		line = strings.TrimSpace(line)
		if found := imageOf.FindStringSubmatch(line); found != nil {
			around.Image, entry = found[1], nil
			continue
		}
		found := ofLine.FindStringSubmatch(line)
		if assign := setting.FindStringSubmatch(line); found == nil && assign != nil &&
			!strings.Contains(line, " -") {
			text := strings.Trim(assign[1], `"`) + "\n"
			own, _, err := shellCommands(text, set)
			if err == nil && len(own) == 1 && len(own[0].Words) == 0 {
				assigned.WriteString(text)
			}
			continue
		}
		var words []string
		if found != nil {
			line = line[len(found[0]):]
		}
		if found != nil && json.Unmarshal([]byte(line), &words) == nil {
			words = withMarks(words)
		} else if own, _, err := shellCommands(assigned.String()+line, set); err == nil {
			for _, c := range own {
				if c.Place = around; starts(c.Words) {
					list = append(list, c)
				} else {
					words = c.Words
				}
			}
		}
		if found == nil || len(words) == 0 || found[1] == "RUN" {
			continue
		}
		if found[1] == "ENTRYPOINT" {
			entry = words
			continue
		}
		words = Entered(around.Image, slices.Concat(entry, words))
		if entry = nil; starts(words) {
			list = append(list, Command{Words: words, Env: set.values, Place: around})
		}
	}
	if words := Entered(around.Image, entry); starts(words) && len(list) == 0 {
		list = append(list, Command{Words: words, Env: set.values, Place: around})
	}
	return list
}

// withMarks returns words with marks for the variables in them.
func withMarks(words []string) []string {
	for i, word := range words {
		words[i] = unnamed(word)
	}
	return words
}
