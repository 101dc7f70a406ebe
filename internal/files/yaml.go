package files

import (
	"bytes"
	"io"

	"gopkg.in/yaml.v3"
)

// DecodeYAML reads one document; a key that into has no field for is an error with its line.
func DecodeYAML(data []byte, into any) error {
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	decoder.KnownFields(true)
	return decoder.Decode(into)
}

// EncodeYAML writes a value with its inner tables in a line each. What is zero is left out,
// since Decode gives the same for what is not there.
func EncodeYAML(content any) ([]byte, error) {
	var document yaml.Node
	if err := document.Encode(content); err != nil {
		return nil, err
	}
	prune(&document)
	inline(&document)
	var b bytes.Buffer
	encoder := yaml.NewEncoder(&b)
	encoder.SetIndent(2)
	err := encoder.Encode(&document)
	return b.Bytes(), err
}

// AsYAML returns what writes a value as EncodeYAML does.
func AsYAML(content any) func(io.Writer) error {
	return func(w io.Writer) error {
		text, err := EncodeYAML(content)
		if err == nil {
			_, err = w.Write(text)
		}
		return err
	}
}

// prune drops entries whose value is the zero of its type, which is what reading gives where
// nothing is written.
func prune(n *yaml.Node) {
	var kept []*yaml.Node
	for i, child := range n.Content {
		prune(child)
		if n.Kind != yaml.MappingNode {
			kept = append(kept, child)
		} else if i%2 == 1 && !isZero(child) {
			kept = append(kept, n.Content[i-1], child)
		}
	}
	n.Content = kept
}

func isZero(n *yaml.Node) bool {
	switch n.Kind {
	case yaml.ScalarNode:
		return n.Value == "" || n.Value == "0" || n.Value == "0 s" || n.Value == "false" ||
			n.Value == "null"
	case yaml.MappingNode:
		return len(n.Content) == 0
	}
	return false
}

// inline puts tables of numbers into a line.
func inline(n *yaml.Node) {
	for i, child := range n.Content {
		inline(child)
		if n.Kind == yaml.MappingNode && i%2 == 1 && child.Kind == yaml.MappingNode &&
			n.Content[i-1].Value != "fit" {
			child.Style = yaml.FlowStyle
		}
	}
}
