package strict

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/llmsim/llmsim/internal/nearest"
)

// Set overrides one value, given as "key.path=value" with a value in YAML. Items of lists are named
// by their number. shape is a pointer to the struct into which the document will be decoded; it
// says which keys exist. Decode checks the value itself.
func (d *Document) Set(assignment string, shape any) error {
	path, text, found := strings.Cut(assignment, "=")
	if !found || path == "" {
		return Problems{{Where: "--set " + quote(assignment),
			Message: "want key.path=value, such as workload.rate=2/s"}}
	}
	complain := func(format string, args ...any) error {
		return Problems{{Where: overrideName(path), Path: path,
			Message: fmt.Sprintf(format, args...)}}
	}
	value, err := parseValue(text)
	if err != nil {
		return complain("%v", err)
	}
	d.claim(value, path)
	parent, t := d.root, reflect.TypeOf(shape).Elem()
	keys := strings.Split(path, ".")
	for i, key := range keys {
		slot, inner, complaint := d.slot(parent, t, key, path)
		if complaint != "" {
			return complain("%s", complaint)
		}
		if i == len(keys)-1 {
			*slot = value
			return nil
		}
		d.open(slot, inner, path)
		parent, t = *slot, inner
	}
	return nil
}

// parseValue reads the right-hand side of an override.
func parseValue(text string) (*yaml.Node, error) {
	var node yaml.Node
	if err := yaml.Unmarshal([]byte(text), &node); err != nil {
		return nil, fmt.Errorf("%s is not YAML", quote(text))
	}
	if len(node.Content) == 0 {
		return nil, fmt.Errorf("has no value")
	}
	return node.Content[0], nil
}

// claim marks a node and all below as coming from the command line.
func (d *Document) claim(n *yaml.Node, path string) {
	d.overrides[n] = path
	for _, child := range n.Content {
		d.claim(child, path)
	}
}

// slot returns where the value of a key of parent is kept, making the key if needed, and the type
// that it has.
func (d *Document) slot(parent *yaml.Node, t reflect.Type, key, path string) (**yaml.Node,
	reflect.Type, string) {
	switch {
	case t.Kind() == reflect.Slice && parent.Kind == yaml.SequenceNode:
		i, err := strconv.Atoi(key)
		if err != nil || i < 0 || i >= len(parent.Content) {
			return nil, nil, fmt.Sprintf("no item %s; the list has %d, counted from 0", quote(key),
				len(parent.Content))
		}
		return &parent.Content[i], indirect(t.Elem()), ""
	case t.Kind() == reflect.Struct && parent.Kind == yaml.MappingNode:
		list := fields(t)
		f, known := find(list, key)
		if !known {
			return nil, nil, nearest.Unknown("key", key, names(list))
		}
		for i := 0; i+1 < len(parent.Content); i += 2 {
			if parent.Content[i].Value == key {
				return &parent.Content[i+1], indirect(t.FieldByIndex(f.index).Type), ""
			}
		}
		name := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: key}
		d.overrides[name] = path
		parent.Content = append(parent.Content, name, &yaml.Node{})
		return &parent.Content[len(parent.Content)-1], indirect(t.FieldByIndex(f.index).Type), ""
	}
	return nil, nil, fmt.Sprintf("no key %s here: the value around it is %s", quote(key),
		describe(parent))
}

// open makes the node in the slot a mapping whose keys can be set. This is a new mapping where the
// key is absent, a copy of an anchored value, which others share, or the mapping that a scalar
// abbreviates.
func (d *Document) open(slot **yaml.Node, t reflect.Type, path string) {
	if n := *slot; n.Kind == yaml.AliasNode {
		copied := *n.Alias
		copied.Content = slices.Clone(n.Alias.Content)
		*slot = &copied
	}
	n := *slot
	switch {
	case n.Kind == 0 || n.Kind == yaml.ScalarNode && n.Tag == "!!null":
		*slot = &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
		d.overrides[*slot] = path
	case n.Kind == yaml.ScalarNode && t.Kind() == reflect.Struct:
		if short, ok := shortField(fields(t)); ok {
			name := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: short.name, Line: n.Line}
			*slot = &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map", Line: n.Line,
				Content: []*yaml.Node{name, n}}
		}
	}
}

func indirect(t reflect.Type) reflect.Type {
	if t.Kind() == reflect.Pointer {
		return t.Elem()
	}
	return t
}

// Spread lets a key whose value is a name be a mapping of that name and of the keys of another
// mapping. With Spread("model", "name", "shape"), model: {name: m, kv-heads: 1} means model: m and
// shape: {kv-heads: 1}.
func (d *Document) Spread(key, name, into string) error {
	at := d.child(key)
	if at < 0 || resolve(d.root.Content[at]).Kind != yaml.MappingNode {
		return nil
	}
	written := resolve(d.root.Content[at])
	rest := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map", Line: written.Line}
	var named *yaml.Node
	for i := 0; i+1 < len(written.Content); i += 2 {
		if k := written.Content[i]; k.Value == name {
			named = written.Content[i+1]
		} else {
			rest.Content = append(rest.Content, k, written.Content[i+1])
		}
	}
	switch {
	case named == nil:
		return Problems{{d.where(written), key, name + " is missing in the mapping"}}
	case d.child(into) >= 0:
		return Problems{{d.where(written), key, "is a mapping, and " + into +
			" is given too; write one"}}
	}
	d.root.Content[at] = named
	if len(rest.Content) > 0 {
		k := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: into, Line: written.Line}
		d.root.Content = append(d.root.Content, k, rest)
	}
	return nil
}

// child returns the index of the value of a key of the document, or -1.
func (d *Document) child(key string) int {
	for i := 0; i+1 < len(d.root.Content); i += 2 {
		if d.root.Content[i].Value == key {
			return i + 1
		}
	}
	return -1
}
