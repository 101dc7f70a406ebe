package commands

import (
	"maps"
	"regexp"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// services returns the services of a file of Docker Compose; nil for another document.
func services(document map[string]any) map[string]any {
	all, _ := document["services"].(map[string]any)
	for _, service := range all {
		if At(service, "image") != nil || At(service, "build") != nil {
			return all
		}
	}
	return nil
}

// ofCompose finds the commands of the services in a file of Docker Compose
// (https://github.com/compose-spec/compose-spec, spec.md): each is read as the container of a
// manifest. The role of a service is said by the label llm-d.ai/role, or by its name, as the role
// of an arm in a script is.
func ofCompose(document map[string]any, given map[string]string,
	starts func([]string) bool) *Programs {
	m := readContainers(nil, given, starts)
	document, _ = interpolated(document, m.set).(map[string]any)
	all := services(document)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		service, _ := all[name].(map[string]any)
		around := Place{Name: name, Role: ofArm(name)}
		if n, ok := At(service, "deploy", "replicas").(int); ok {
			around.Replicas, around.Stopped = min(max(0, n), MostReplicas), n == 0
		}
		if role, ok := At(service, "labels", "llm-d.ai/role").(string); ok {
			around.Role = labelled(role)
		}
		if At(service, "labels", "app.kubernetes.io/component") != nil {
			around.Name = "" // replicas of one group are services of their own
		}
		around.Mounted = append(around.Mounted, composeFiles(document, service)...)
		m.container(map[string]any{
			"name": name, "image": service["image"], "env": composeVariables(service),
			"command": m.wordsOf(service["entrypoint"]), "args": m.wordsOf(service["command"]),
		}, around)
	}
	return &Programs{Commands: m.commands, Skipped: m.skipped}
}

// wordsOf returns the words of a command that is a list or a line for a shell.
func (m *manifest) wordsOf(value any) any {
	line, ok := value.(string)
	if words := stringsOf(value); !ok && words != nil {
		var list []any
		for _, word := range words {
			list = append(list, word)
		}
		return list
	}
	if !ok {
		return value
	}
	list, _, err := shellCommands(line, m.set)
	if err != nil || len(list) != 1 {
		return []any{"sh", "-c", line}
	}
	var words []any
	for _, word := range list[0].Words {
		words = append(words, word)
	}
	return words
}

// interpolated returns a value of a file with the variables in its texts replaced, as Compose does
// it (https://docs.docker.com/reference/compose-file/interpolation): $NAME, ${NAME}, and with
// defaults as in a shell; $$ stands for $. A variable without a value stays, as ${NAME}.
func interpolated(value any, set variables) any {
	switch v := value.(type) {
	case string:
		return set.interpolate(v)
	case []any:
		list := make([]any, len(v))
		for i, item := range v {
			list[i] = interpolated(item, set)
		}
		return list
	case map[string]any:
		object := map[string]any{}
		for name, item := range v {
			object[name] = interpolated(item, set)
		}
		return object
	}
	return value
}

// plain is what stands for itself in a text of Compose, and not in one of a shell: a dollar sign
// that begins no variable, and $$ for one.
var plain = regexp.MustCompile("\\$(?:[^A-Za-z_{]|$)|[\\\\`]")

// interpolate returns a text with its variables replaced.
func (v variables) interpolate(text string) string {
	if !strings.Contains(text, "$") || parseable(text) != nil {
		return text
	}
	escaped := plain.ReplaceAllStringFunc(text, func(found string) string {
		if rest, is := strings.CutPrefix(found, "$"); is {
			return `\$` + strings.NewReplacer("$", "", `\`, `\\`, "`", "\\`").Replace(rest)
		}
		return `\` + found
	})
	word, err := syntax.NewParser().Document(strings.NewReader(escaped))
	if err != nil {
		return text
	}
	var b strings.Builder
	v.write(&b, word.Parts, true)
	return reopened(b.String())
}

// composeVariables returns the variables of a service as a container has them.
func composeVariables(service map[string]any) (list []any) {
	set := func(name string, value any) {
		if text, ok := value.(string); ok {
			list = append(list, map[string]any{"name": name, "value": text})
		}
	}
	switch variables := service["environment"].(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(variables)) {
			set(name, variables[name])
		}
	case []any:
		for _, item := range variables {
			text, _ := item.(string)
			if name, value, given := strings.Cut(text, "="); given {
				set(name, value)
			}
		}
	}
	return list
}

// composeFiles returns the configs with text of their own that a service has, by the names of the
// files.
func composeFiles(document, service map[string]any) (list []map[string]string) {
	items, _ := service["configs"].([]any)
	for _, item := range items {
		text := textAt(document["configs"], textAt(item, "source"), "content")
		if text != "" {
			list = append(list, map[string]string{Base(textAt(item, "target")): text})
		}
	}
	return list
}
