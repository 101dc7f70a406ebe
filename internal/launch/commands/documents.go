package commands

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"gopkg.in/yaml.v3"
)

// mostDocuments bounds the documents of a manifest: a deployment has some ten.
const mostDocuments = 1000

// mostKeys bounds the keys of a mapping, since the decoder compares each with all others.
const mostKeys = 1000

// Decode returns the documents of a text that is YAML, all of them mappings.
func Decode(text string) (list []map[string]any, err error) {
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
		list = append(list, items(document)...)
	}
	return nil, fmt.Errorf("found more than %d documents", mostDocuments)
}

// items returns the objects of a List, as kubectl get writes it, and any other document as it is.
func items(document map[string]any) []map[string]any {
	values, ok := document["items"].([]any)
	if !ok || document["kind"] != "List" {
		return []map[string]any{document}
	}
	var list []map[string]any
	for _, value := range values {
		if object, ok := value.(map[string]any); ok {
			list = append(list, object)
		}
	}
	return list
}

// Unmarshal reads the first document of a text into a value.
func Unmarshal(text string, value any) error {
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
	keepTexts(node, map[*yaml.Node]bool{})
	return node.Decode(value)
}

// keepTexts makes texts of the numbers and booleans of a document among the words of commands and
// the values of environment variables, as they are written: 0.90, 1e3, True. Programs get texts.
func keepTexts(node *yaml.Node, done map[*yaml.Node]bool) {
	for i, inner := range node.Content {
		if node.Kind == yaml.MappingNode && i%2 == 1 {
			switch node.Content[i-1].Value {
			case "command", "args", "entrypoint", "extraArgs", "env", "envs", "environment":
				asTexts(inner, done)
			}
		}
		keepTexts(inner, done)
	}
}

// asTexts makes texts of the scalars of a list, of the values of a mapping, and of the values of
// variables in a list, {name: …, value: …}. A null stays one. No node is done twice: aliases may
// lead back to it.
func asTexts(node *yaml.Node, done map[*yaml.Node]bool) {
	if node.Kind == yaml.AliasNode {
		node = node.Alias
	}
	if done[node] {
		return
	}
	done[node] = true
	for i, inner := range node.Content {
		key := ""
		if node.Kind == yaml.MappingNode {
			if i%2 == 0 {
				continue
			}
			key = node.Content[i-1].Value
		}
		switch {
		case inner.Kind == yaml.ScalarNode && inner.Tag != "!!null":
			inner.Tag = "!!str"
		case inner.Kind != yaml.ScalarNode && (node.Kind == yaml.SequenceNode || key == "<<"):
			asTexts(inner, done)
		}
	}
}

// tooWide returns the line of a mapping with too many keys, 0 without one.
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
