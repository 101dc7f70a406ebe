// Package commands finds the commands in a text: a line for a shell, a shell script, Kubernetes
// manifests, or a file of Docker Compose.
package commands

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// Read finds the commands in a text, where variables of a shell have certain values. The function
// reports whether a command starts an engine: of a text that is both, it tells a script from YAML.
func Read(text string, given map[string]string, starts func(words []string) bool) (*Programs,
	error) {
	text = strings.TrimPrefix(text, "\ufeff") // some editors begin files with it
	if i := strings.IndexAny(text, open+closed); i >= 0 {
		return nil, fmt.Errorf("line %d has the byte %#x, which no command has",
			1+strings.Count(text[:i], "\n"), text[i])
	}
	if strings.Contains(text, "LLMConfig(") {
		return ofPython(text, given)
	}
	documents, notYAML := Decode(text)
	if notYAML == nil && ofKubernetes(documents) {
		return ofManifest(documents, given, starts), nil
	}
	if notYAML == nil && len(documents) == 1 && services(documents[0]) != nil {
		return ofCompose(documents[0], given, starts), nil
	}
	if notYAML == nil {
		if m := readContainers(documents, given, starts); m.engines > 0 {
			return m.programs(documents), nil
		}
	}
	set, job := newVariables(given), slurm(text)
	job.tell(set)
	list, written, err := shellCommands(text, set)
	if own := quoted(list, set, starts); len(own) > 0 {
		list = own
	}
	for i := range list {
		list[i].Product = job.product
	}
	switch {
	case err == nil && slices.ContainsFunc(list, func(c Command) bool { return starts(c.Words) }):
		return &Programs{Commands: list, Written: written}, nil
	case err == nil && len(manifests(written)) > 0:
		return ofManifest(manifests(written), given, starts), nil
	case notYAML != nil && (strings.Contains(text, "\nkind:") || strings.HasPrefix(text, "kind:")):
		return nil, unreadable(text, notYAML)
	}
	if own := excerpts(text, newVariables(given), starts); len(own) > 0 {
		return &Programs{Commands: own, Skipped: []string{"lines that start no engine were left " +
			"out: the text is no script as a whole"}}, nil
	}
	if programs, found := ofPython(text, given); found != nil || programs != nil {
		return programs, found
	}
	if notYAML == nil {
		return ofManifest(documents, given, starts), nil
	}
	if err != nil {
		if programs := ofTexts(text, given, starts); programs != nil {
			return programs, nil
		}
		return nil, fmt.Errorf(
			"this is neither a command for a shell nor a Kubernetes manifest: %w", err)
	}
	return &Programs{Commands: list, Written: written}, nil
}

// quoted returns the commands that the words of others quote, where no command starts an engine by
// itself: submit 'vllm serve MODEL'.
func quoted(list []Command, set variables, starts func([]string) bool) (own []Command) {
	if slices.ContainsFunc(list, func(c Command) bool { return starts(c.Words) }) {
		return nil
	}
	for _, c := range list {
		for i, word := range c.Words {
			if i == 0 || !strings.Contains(word, " ") || Mentions(c.Words[0]) {
				continue
			}
			inner, _, err := shellCommands(reopened(word), set)
			if err == nil && slices.ContainsFunc(inner, func(c Command) bool {
				return starts(c.Words)
			}) {
				own = append(own, inner...)
			}
		}
	}
	return own
}

// manifests returns the documents of the files that a script writes, or gives to kubectl, which are
// manifests.
func manifests(written map[string]string) (list []map[string]any) {
	for _, name := range slices.Sorted(maps.Keys(written)) {
		if documents, err := Decode(written[name]); err == nil && ofKubernetes(documents) {
			list = append(list, documents...)
		}
	}
	return list
}

// ofKubernetes reports whether some document says which kind of object it is.
func ofKubernetes(documents []map[string]any) bool {
	return slices.ContainsFunc(documents, func(document map[string]any) bool {
		kind, ok := document["kind"].(string)
		return ok && kind != ""
	})
}

func ofManifest(documents []map[string]any, given map[string]string,
	starts func([]string) bool) *Programs {
	return readContainers(documents, given, starts).programs(documents)
}

func (m *manifest) programs(documents []map[string]any) *Programs {
	return &Programs{Commands: m.commands, Documents: documents, Skipped: m.skipped}
}

// unreadable returns why a manifest is no YAML.
func unreadable(text string, err error) error {
	if before, _, found := strings.Cut(text, "{{"); found {
		return fmt.Errorf("line %d of the manifest has a template, {{ … }}: give what the "+
			"template makes, such as the output of helm template", 1+strings.Count(before, "\n"))
	}
	return fmt.Errorf("the manifest cannot be read: %w", err)
}

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
