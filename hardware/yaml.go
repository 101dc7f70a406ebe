package hardware

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"
)

// describe returns what was found, in words for people.
func describe(n *yaml.Node) string {
	switch n.Kind {
	case yaml.SequenceNode:
		return "a list"
	case yaml.MappingNode:
		return "a table of keys"
	}
	return strconv.Quote(n.Value)
}

// entries yields the keys of a table with their values; nothing of other nodes.
func entries(n *yaml.Node) iter.Seq2[*yaml.Node, *yaml.Node] {
	return func(yield func(key, value *yaml.Node) bool) {
		for i := 0; n.Kind == yaml.MappingNode && i+1 < len(n.Content); i += 2 {
			if !yield(n.Content[i], n.Content[i+1]) {
				return
			}
		}
	}
}

// get returns the value of a key of a table, or nil.
func get(n *yaml.Node, key string) *yaml.Node {
	for k, value := range entries(n) {
		if k.Value == key {
			return value
		}
	}
	return nil
}

// mostText is the largest size of a file in bytes, about twenty times the whole catalogue of the
// program.
const mostText = 1 << 20

// parseYAML reads the one document of a YAML file. Errors start with FILE:LINE.
func parseYAML(file string, data []byte) (*yaml.Node, error) {
	if len(data) > mostText {
		return nil, fmt.Errorf("%s: the file has more than %d bytes, the most that is read", file,
			mostText)
	}
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	var document, second yaml.Node
	if err := decoder.Decode(&document); errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%s: the file is empty", file)
	} else if err != nil {
		return nil, syntaxError(file, err)
	}
	if err := decoder.Decode(&second); err == nil {
		return nil, fmt.Errorf("%s:%d: a second YAML document starts here; a file holds one",
			file, second.Line)
	} else if !errors.Is(err, io.EOF) {
		return nil, syntaxError(file, err)
	}
	return document.Content[0], checkNode(file, document.Content[0])
}

// syntaxError turns the library's "yaml: line 3: …" into "FILE:3: …".
func syntaxError(file string, err error) error {
	message := strings.TrimPrefix(err.Error(), "yaml: ")
	if rest, ok := strings.CutPrefix(message, "line "); ok {
		return fmt.Errorf("%s:%s", file, rest)
	}
	return fmt.Errorf("%s: %s", file, message)
}

// checkNode refuses constructs that could be read in two ways.
func checkNode(file string, n *yaml.Node) error {
	if n.Kind == yaml.AliasNode {
		return fmt.Errorf(
			"%s:%d: YAML anchors and aliases are not supported here; write the value out", file,
			n.Line)
	}
	lines := map[string]int{}
	for key := range entries(n) {
		if key.Kind != yaml.ScalarNode {
			return fmt.Errorf("%s:%d: a key must be a plain word", file, key.Line)
		}
		if first, ok := lines[key.Value]; ok {
			return fmt.Errorf("%s:%d: key %q is already on line %d", file, key.Line, key.Value,
				first)
		}
		lines[key.Value] = key.Line
	}
	for _, child := range n.Content {
		if err := checkNode(file, child); err != nil {
			return err
		}
	}
	return nil
}
