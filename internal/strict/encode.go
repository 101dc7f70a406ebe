package strict

import (
	"bytes"
	"encoding"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"

	"gopkg.in/yaml.v3"
)

// Encode writes a struct as YAML that decodes to the same struct. Empty fields are left out where
// their tag says omitempty or omitzero. Values for which given says no are marked as defaults.
func Encode(v any, given func(path string) bool) ([]byte, error) {
	root, err := node(reflect.ValueOf(v), "", given)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	encoder := yaml.NewEncoder(&out)
	encoder.SetIndent(2)
	if err := encoder.Encode(root); err != nil {
		return nil, err
	}
	return out.Bytes(), encoder.Close()
}

// Plain returns a struct as the maps, lists, strings and numbers that its YAML form holds, for
// writing it as JSON.
func Plain(v any) (any, error) {
	root, err := node(reflect.ValueOf(v), "", func(string) bool { return true })
	if err != nil {
		return nil, err
	}
	var plain any
	return plain, root.Decode(&plain)
}

func node(v reflect.Value, path string, given func(string) bool) (*yaml.Node, error) {
	if v.Kind() == reflect.Pointer {
		v = v.Elem()
	}
	if unit, ok := v.Interface().(encoding.TextMarshaler); ok {
		text, err := unit.MarshalText()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		return scalarNode(string(text), "!!str", path, given), nil
	}
	switch v.Kind() {
	case reflect.Struct:
		return mappingNode(v, path, given)
	case reflect.Slice:
		list := &yaml.Node{Kind: yaml.SequenceNode}
		for i := range v.Len() {
			item, err := node(v.Index(i), join(path, strconv.Itoa(i)), given)
			if err != nil {
				return nil, err
			}
			list.Content = append(list.Content, item)
		}
		return list, nil
	case reflect.Float64:
		return scalarNode(strconv.FormatFloat(v.Float(), 'g', -1, 64), "", path, given), nil
	case reflect.String:
		return scalarNode(v.String(), "!!str", path, given), nil
	}
	return scalarNode(fmt.Sprint(v.Interface()), "", path, given), nil
}

// mappingNode writes a struct, in its short form where only that field is set.
func mappingNode(v reflect.Value, path string, given func(string) bool) (*yaml.Node, error) {
	mapping := &yaml.Node{Kind: yaml.MappingNode}
	add := func(name string, value *yaml.Node) {
		mapping.Content = append(mapping.Content, &yaml.Node{Kind: yaml.ScalarNode, Value: name},
			value)
	}
	short := false
	for _, f := range fields(v.Type()) {
		inner := v.FieldByIndex(f.index)
		if f.rest {
			params := inner.Interface().(map[string]string)
			for _, key := range slices.Sorted(maps.Keys(params)) {
				add(key, scalarNode(params[key], restTag(params[key]), join(path, key), given))
			}
			continue
		}
		if inner.IsZero() && f.omit {
			continue
		}
		value, err := node(inner, join(path, f.name), given)
		if err != nil {
			return nil, err
		}
		short = f.short
		add(f.name, value)
	}
	// a mapping is no short form of another: the keys within would be read as those around
	if len(mapping.Content) == 2 && short && mapping.Content[1].Kind == yaml.ScalarNode {
		return mapping.Content[1], nil
	}
	return mapping, nil
}

// scalarNode returns a value; with the tag "!!str" it is quoted where YAML would not read it as
// text.
func scalarNode(text, tag, path string, given func(string) bool) *yaml.Node {
	n := &yaml.Node{Kind: yaml.ScalarNode, Tag: tag, Value: text}
	if !given(path) {
		n.LineComment = "default"
	}
	return n
}

// restTag lets numbers and truth values among the rest be written without quotes.
func restTag(text string) string {
	if _, err := strconv.ParseFloat(text, 64); err == nil || text == "true" || text == "false" {
		return ""
	}
	return "!!str"
}
