package strict

import "gopkg.in/yaml.v3"

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
