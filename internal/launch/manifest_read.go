package launch

import (
	"errors"
	"fmt"
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
	// left is what variables have left of their bound.
	left *int
	// commands are those that were found, engines counts the ones that start an engine.
	commands []command
	engines  int
}

// mostKeys bounds the keys of a mapping, each of which the decoder compares with all others.
const mostKeys = 1000

// decode returns the documents of a text that is YAML, all of them mappings.
func decode(text string) (list []map[string]any, err error) {
	decoder := yaml.NewDecoder(strings.NewReader(text))
	for range mostDocuments {
		var node yaml.Node
		if err := decoder.Decode(&node); errors.Is(err, io.EOF) {
			return list, nil
		} else if err != nil {
			return nil, err
		}
		var document map[string]any
		if err := decodeNode(&node, &document); err != nil {
			return nil, err
		}
		list = append(list, document)
	}
	return nil, fmt.Errorf("found more than %d documents", mostDocuments)
}

// unmarshal reads the first document of a text into a value.
func unmarshal(text string, value any) error {
	var node yaml.Node
	if err := yaml.Unmarshal([]byte(text), &node); err != nil {
		return err
	}
	return decodeNode(&node, value)
}

// decodeNode decodes a document into a value.
func decodeNode(node *yaml.Node, value any) error {
	if line := tooWide(node); line > 0 {
		return fmt.Errorf("line %d begins a mapping of more than %d keys", line, mostKeys)
	}
	return node.Decode(value)
}

// tooWide returns the line of a mapping with too many keys, 0 where there is none.
func tooWide(node *yaml.Node) int {
	if node.Kind == yaml.MappingNode && len(node.Content) > 2*mostKeys {
		return node.Line
	}
	for _, inner := range node.Content {
		if line := tooWide(inner); line > 0 {
			return line
		}
	}
	return 0
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
	m := manifest{configs: map[string]map[string]string{}, scalers: map[string]map[string]any{},
		left: noVariables().left}
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
	for _, document := range documents {
		name, _ := at(document, "metadata", "name").(string)
		around := place{name: name, scaler: m.scalers[name]}
		for _, config := range m.named(document, nil) {
			around.mounted = append(around.mounted, m.configs[config])
		}
		m.collect(document, around)
	}
	return m.commands
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

// named appends the names of the ConfigMaps that a value names at any depth, each once.
func (m *manifest) named(value any, names []string) []string {
	switch v := value.(type) {
	case []any:
		for _, item := range v {
			names = m.named(item, names)
		}
	case map[string]any:
		name, _ := at(v, "configMap", "name").(string)
		if m.configs[name] != nil && !slices.Contains(names, name) {
			names = append(names, name)
		}
		for _, key := range slices.Sorted(maps.Keys(v)) {
			names = m.named(v[key], names)
		}
	}
	return names
}

// collect adds the commands that a value holds at any depth: lists of words under the keys command
// and args.
func (m *manifest) collect(value any, around place) {
	switch v := value.(type) {
	case []any:
		for _, item := range v {
			m.collect(item, around)
		}
	case map[string]any:
		around = around.within(v)
		m.container(v, around)
		set := m.environment(v["envs"]).values
		if mode, ok := set["DYN_ROUTER_MODE"]; ok { // which Dynamo reads, too
			m.add([]string{"python3", "-m", "dynamo.frontend", "--router-mode", mode}, around)
		}
		leader := false
		for _, key := range inOrder(v) {
			if key == "workerTemplate" && leader {
				continue // workers are parts of the engine that the leader starts
			}
			before := m.engines
			m.collect(v[key], around)
			leader = leader || key == "leaderTemplate" && m.engines > before
		}
	}
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

// container adds the commands of a container, and to what is around them the files that its script
// writes.
func (m *manifest) container(container map[string]any, around place) {
	words := append(stringsOf(container["command"]), stringsOf(container["args"])...)
	if image, ok := container["image"].(string); ok {
		words = entered(image, words)
	}
	set := m.environment(container["env"])
	if around.size > 0 {
		set.values["LWS_GROUP_SIZE"] = strconv.Itoa(around.size)
	}
	words = set.expand(words)
	script, ok := shellScript(words)
	if !ok && len(words) > 0 {
		m.add(words, around)
		return
	}
	inner, written, err := shellCommands(script, set)
	if err != nil {
		return
	}
	around.mounted = append(slices.Clip(around.mounted), written)
	for _, c := range inner {
		m.add(c.words, around)
	}
}

func (m *manifest) add(words []string, around place) {
	c := command{words, around}
	m.commands = append(m.commands, c)
	m.engines += len(starting([]command{c}))
}

// environment returns the variables of a container that a manifest gives the values of.
func (m *manifest) environment(value any) variables {
	set := variables{map[string]string{}, m.left}
	items, _ := value.([]any)
	for _, item := range items {
		variable, _ := item.(map[string]any)
		name, named := variable["name"].(string)
		if text, ok := variable["value"].(string); ok && named {
			set.values[name] = text
		}
	}
	return set
}

// expand returns words with the variables that Kubernetes puts into commands and arguments, as
// $(NAME).
func (v variables) expand(words []string) []string {
	var pairs []string
	longest := 0
	for _, name := range slices.Sorted(maps.Keys(v.values)) {
		value := v.values[name]
		pairs, longest = append(pairs, "$("+name+")", value), max(longest, len(value))
	}
	replace := strings.NewReplacer(pairs...)
	for i, word := range words {
		if uses := strings.Count(word, "$("); uses > 0 && uses*longest <= *v.left {
			words[i] = replace.Replace(word)
			*v.left -= len(words[i])
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
