package hardware

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"
)

// node is a value of a YAML file and the line on which it starts: either a text, or a list of
// items, or a table of entries.
type node struct {
	line    int
	text    string
	items   []node
	entries []entry
	shape   shape
}

// shape says which of its fields a node uses.
type shape string

const (
	isText  shape = "a text"
	isList  shape = "a list"
	isTable shape = "a table of keys"
)

// describe returns what was found, in words for people.
func (n node) describe() string {
	if n.shape == isText {
		return strconv.Quote(n.text)
	}
	return string(n.shape)
}

// entry is a key of a table and its value.
type entry struct {
	key   string
	line  int
	value node
}

// get returns the value of a key.
func (n node) get(key string) (node, bool) {
	for _, e := range n.entries {
		if e.key == key {
			return e.value, true
		}
	}
	return node{}, false
}

// mostText is the largest size of a file in bytes, about twenty times the whole catalogue of the
// program.
const mostText = 1 << 20

// parseYAML reads the one document of a YAML file. Errors start with FILE:LINE.
func parseYAML(file string, data []byte) (node, error) {
	if len(data) > mostText {
		return node{}, fmt.Errorf("%s: the file has more than %d bytes, the most that is read",
			file, mostText)
	}
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	var document, second yaml.Node
	if err := decoder.Decode(&document); errors.Is(err, io.EOF) {
		return node{}, fmt.Errorf("%s: the file is empty", file)
	} else if err != nil {
		return node{}, syntaxError(file, err)
	}
	if err := decoder.Decode(&second); err == nil {
		return node{}, fmt.Errorf("%s:%d: a second YAML document starts here; a file holds one",
			file, second.Line)
	} else if !errors.Is(err, io.EOF) {
		return node{}, syntaxError(file, err)
	}
	return convert(file, document.Content[0])
}

// syntaxError turns the library's "yaml: line 3: …" into "FILE:3: …".
func syntaxError(file string, err error) error {
	message := strings.TrimPrefix(err.Error(), "yaml: ")
	if rest, ok := strings.CutPrefix(message, "line "); ok {
		return fmt.Errorf("%s:%s", file, rest)
	}
	return fmt.Errorf("%s: %s", file, message)
}

// convert copies the library's tree, and refuses constructs that could be read in two ways.
func convert(file string, y *yaml.Node) (node, error) {
	n := node{line: y.Line}
	switch y.Kind {
	case yaml.ScalarNode:
		n.shape, n.text = isText, y.Value
	case yaml.SequenceNode:
		n.shape = isList
		for _, child := range y.Content {
			item, err := convert(file, child)
			if err != nil {
				return node{}, err
			}
			n.items = append(n.items, item)
		}
	case yaml.MappingNode:
		n.shape = isTable
		return n, n.fill(file, y)
	default:
		return node{}, fmt.Errorf(
			"%s:%d: YAML anchors and aliases are not supported here; write the value out", file,
			y.Line)
	}
	return n, nil
}

// fill copies the entries of a mapping into n.
func (n *node) fill(file string, y *yaml.Node) error {
	lines := map[string]int{}
	for i := 0; i < len(y.Content); i += 2 {
		key := y.Content[i]
		if key.Kind != yaml.ScalarNode {
			return fmt.Errorf("%s:%d: a key must be a plain word", file, key.Line)
		}
		if first, ok := lines[key.Value]; ok {
			return fmt.Errorf("%s:%d: key %q is already on line %d", file, key.Line, key.Value,
				first)
		}
		lines[key.Value] = key.Line
		value, err := convert(file, y.Content[i+1])
		if err != nil {
			return err
		}
		n.entries = append(n.entries, entry{key: key.Value, line: key.Line, value: value})
	}
	return nil
}
