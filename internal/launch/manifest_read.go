package launch

import (
	"errors"
	"io"
	"maps"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"
)

// mostDocuments bounds the documents of a manifest: a deployment has some ten.
const mostDocuments = 1000

// manifestCommands returns the commands of all containers in Kubernetes manifests, the files of
// their ConfigMaps, and whether the text is such manifests.
func manifestCommands(text string) ([][]string, map[string]string, bool) {
	var list [][]string
	mounted := map[string]string{}
	decoder := yaml.NewDecoder(strings.NewReader(text))
	for range mostDocuments {
		var document map[string]any
		switch err := decoder.Decode(&document); {
		case errors.Is(err, io.EOF):
			return list, mounted, true
		case err != nil:
			return nil, nil, false
		}
		if data, ok := document["data"].(map[string]any); ok && document["kind"] == "ConfigMap" {
			for name, value := range data {
				if file, ok := value.(string); ok {
					mounted[name] = file
				}
			}
		}
		list = containerCommands(document, list)
	}
	return nil, nil, false
}

// containerCommands appends the commands that a value holds at any depth: lists of words under the
// keys command and args.
func containerCommands(value any, list [][]string) [][]string {
	switch v := value.(type) {
	case []any:
		for _, item := range v {
			list = containerCommands(item, list)
		}
	case map[string]any:
		command := append(stringsOf(v["command"]), stringsOf(v["args"])...)
		if image, ok := v["image"].(string); ok {
			command = entered(image, command)
		}
		command = expanded(command, environment(v["env"]))
		if script, ok := shellScript(command); ok {
			inner, _, err := shellCommands(script)
			if err == nil {
				list = append(list, inner...)
			}
		} else if len(command) > 0 {
			list = append(list, command)
		}
		leader := containerCommands(v["leaderTemplate"], nil)
		for _, key := range slices.Sorted(maps.Keys(v)) {
			if key == "workerTemplate" && len(starting(leader)) > 0 {
				continue // workers are parts of the engine that the leader starts
			}
			list = containerCommands(v[key], list)
		}
	}
	return list
}

// environment returns the variables of a container that a manifest gives the values of, as
// "$(NAME)" followed by its value, in turn.
func environment(value any) (list []string) {
	items, _ := value.([]any)
	for _, item := range items {
		variable, _ := item.(map[string]any)
		name, named := variable["name"].(string)
		if text, ok := variable["value"].(string); ok && named {
			list = append(list, "$("+name+")", text)
		}
	}
	return list
}

// expanded returns words with the variables that Kubernetes puts into commands and arguments.
func expanded(words, variables []string) []string {
	replace := strings.NewReplacer(variables...)
	for i, word := range words {
		words[i] = replace.Replace(word)
	}
	return words
}

// stringsOf returns a list of words, nil for anything else.
func stringsOf(value any) []string {
	items, ok := value.([]any)
	if !ok {
		return nil
	}
	words := make([]string, 0, len(items))
	for _, item := range items {
		word, ok := item.(string)
		if !ok {
			return nil
		}
		words = append(words, word)
	}
	return words
}

// shellScript returns the script of a command such as sh -c "…".
func shellScript(command []string) (string, bool) {
	if len(command) < 3 {
		return "", false
	}
	switch base(command[0]) {
	case "sh", "bash", "ash", "dash":
		if strings.HasPrefix(command[1], "-") && strings.HasSuffix(command[1], "c") {
			return command[2], true
		}
	}
	return "", false
}
