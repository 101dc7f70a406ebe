// Package commands finds the commands in a text: a line for a shell, a shell script, Kubernetes
// manifests, or a file of Docker Compose.
package commands

import (
	"fmt"
	"maps"
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
