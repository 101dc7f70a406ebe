package launch

import (
	"errors"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"
)

// mostDocuments bounds the documents of a manifest: a deployment has some ten.
const mostDocuments = 1000

// manifest is what Kubernetes manifests say beside the commands of containers.
type manifest struct {
	// configs are the files of ConfigMaps, by the names of these.
	configs map[string]map[string]string
	// scalers are the autoscalers, by the names of the objects that they scale.
	scalers map[string]map[string]any
}

// decode returns the documents of a text that is YAML, and whether all of them are mappings.
func decode(text string) ([]map[string]any, bool) {
	var list []map[string]any
	decoder := yaml.NewDecoder(strings.NewReader(text))
	for range mostDocuments {
		var document map[string]any
		switch err := decoder.Decode(&document); {
		case errors.Is(err, io.EOF):
			return list, true
		case err != nil:
			return nil, false
		}
		list = append(list, document)
	}
	return nil, false
}

// ofKubernetes reports whether some document says which kind of object it is.
func ofKubernetes(documents []map[string]any) bool {
	return slices.ContainsFunc(documents, func(document map[string]any) bool {
		kind, ok := document["kind"].(string)
		return ok && kind != ""
	})
}

// manifestCommands returns the commands of all containers in the documents of a manifest.
func manifestCommands(documents []map[string]any) []command {
	m := manifest{map[string]map[string]string{}, map[string]map[string]any{}}
	for _, document := range documents {
		switch document["kind"] {
		case "ConfigMap":
			if name, ok := at(document, "metadata", "name").(string); ok {
				m.configs[name] = texts(document["data"])
			}
		case "HorizontalPodAutoscaler":
			target, _ := at(document, "spec", "scaleTargetRef", "name").(string)
			m.scalers[target] = document
		}
	}
	var list []command
	for _, document := range documents {
		name, _ := at(document, "metadata", "name").(string)
		around := place{name: name, scaler: m.scalers[name], mounted: map[string]string{}}
		m.mount(document, around.mounted)
		list = collect(document, around, list)
	}
	return list
}

// texts returns the values of a mapping that are text.
func texts(value any) map[string]string {
	list := map[string]string{}
	object, _ := value.(map[string]any)
	for name, value := range object {
		if text, ok := value.(string); ok {
			list[name] = text
		}
	}
	return list
}

// mount adds the files of the ConfigMaps that a value names at any depth.
func (m *manifest) mount(value any, mounted map[string]string) {
	switch v := value.(type) {
	case []any:
		for _, item := range v {
			m.mount(item, mounted)
		}
	case map[string]any:
		if name, ok := at(v, "configMap", "name").(string); ok {
			maps.Copy(mounted, m.configs[name])
		}
		for _, key := range slices.Sorted(maps.Keys(v)) {
			m.mount(v[key], mounted)
		}
	}
}

// collect appends the commands that a value holds at any depth: lists of words under the keys
// command and args.
func collect(value any, around place, list []command) []command {
	switch v := value.(type) {
	case []any:
		for _, item := range v {
			list = collect(item, around, list)
		}
	case map[string]any:
		around = around.within(v)
		list = containerCommands(v, around, list)
		if mode, ok := environment(v["envs"])["DYN_ROUTER_MODE"]; ok { // which Dynamo reads, too
			list = append(list, command{
				[]string{"python3", "-m", "dynamo.frontend", "--router-mode", mode}, around})
		}
		leader := false
		for _, key := range inOrder(v) {
			if key == "workerTemplate" && leader {
				continue // workers are parts of the engine that the leader starts
			}
			before := len(list)
			list = collect(v[key], around, list)
			leader = leader || key == "leaderTemplate" && len(starting(list[before:])) > 0
		}
	}
	return list
}

// inOrder returns the keys of a mapping in their order, but those of Dynamo's decode workers last:
// prefill comes before decode.
func inOrder(object map[string]any) []string {
	keys := slices.Sorted(maps.Keys(object))
	decodes := func(key string) int {
		if at(object[key], "subComponentType") == "decode" {
			return 1
		}
		return 0
	}
	slices.SortStableFunc(keys, func(a, b string) int { return decodes(a) - decodes(b) })
	return keys
}

// containerCommands appends the commands of a container.
func containerCommands(container map[string]any, around place, list []command) []command {
	words := append(stringsOf(container["command"]), stringsOf(container["args"])...)
	if image, ok := container["image"].(string); ok {
		words = entered(image, words)
	}
	set := environment(container["env"])
	if around.size > 0 {
		set["LWS_GROUP_SIZE"] = strconv.Itoa(around.size)
	}
	words = set.expand(words)
	script, ok := shellScript(words)
	if !ok && len(words) > 0 {
		return append(list, command{words, around})
	}
	inner, _, err := shellCommands(script, set)
	if err != nil {
		return list
	}
	for _, c := range inner {
		list = append(list, command{c.words, around})
	}
	return list
}

// environment returns the variables of a container that a manifest gives the values of.
func environment(value any) variables {
	set := variables{}
	items, _ := value.([]any)
	for _, item := range items {
		variable, _ := item.(map[string]any)
		name, named := variable["name"].(string)
		if text, ok := variable["value"].(string); ok && named {
			set[name] = text
		}
	}
	return set
}

// expand returns words with the variables that Kubernetes puts into commands and arguments, as
// $(NAME).
func (v variables) expand(words []string) []string {
	var pairs []string
	longest := 0
	for _, name := range slices.Sorted(maps.Keys(v)) {
		pairs, longest = append(pairs, "$("+name+")", v[name]), max(longest, len(v[name]))
	}
	replace := strings.NewReplacer(pairs...)
	for i, word := range words {
		if strings.Count(word, "$(")*longest <= mostText {
			words[i] = replace.Replace(word)
		}
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
