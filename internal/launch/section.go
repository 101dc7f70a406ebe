package launch

import (
	"strings"

	"gopkg.in/yaml.v3"
)

// section is a mapping of a scenario, on one line: its keys and values in turn.
type section []*yaml.Node

// set appends a key with a value that is written as it is, but where YAML asks for quotes.
func (s *section) set(key, value string) {
	s.add(key, &yaml.Node{Kind: yaml.ScalarNode, Value: value})
}

// name appends a key with a value that is text whatever it looks like.
func (s *section) name(key, value string) {
	s.add(key, &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: value})
}

// nest appends a key with a section, unless that is empty.
func (s *section) nest(key string, inner section) {
	if len(inner) > 0 {
		s.add(key, inner.node())
	}
}

func (s *section) add(key string, value *yaml.Node) {
	*s = append(*s, &yaml.Node{Kind: yaml.ScalarNode, Value: key}, value)
}

func (s section) node() *yaml.Node {
	return &yaml.Node{Kind: yaml.MappingNode, Style: yaml.FlowStyle, Content: s}
}

// flow returns sections as a list on one line.
func flow(list []section) (string, error) {
	all := &yaml.Node{Kind: yaml.SequenceNode, Style: yaml.FlowStyle}
	for _, s := range list {
		all.Content = append(all.Content, s.node())
	}
	text, err := yaml.Marshal(all)
	return strings.TrimSpace(string(text)), err
}
