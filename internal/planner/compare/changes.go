package compare

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"github.com/llmsim/llmsim/scenarios"
	"github.com/llmsim/llmsim/scenarios/strict"
)

// Change is a key that another scenario sets differently. From and To are in YAML; empty where the
// key is not set.
type Change struct {
	Key  string `json:"key"`
	From string `json:"from,omitempty"`
	To   string `json:"to,omitempty"`
}

// String says what is changed.
func (c Change) String() string {
	switch {
	case c.To == "":
		return fmt.Sprintf("%s as by default instead of %s", c.Key, c.From)
	case c.From == "":
		return fmt.Sprintf("%s %s instead of the default", c.Key, c.To)
	}
	return fmt.Sprintf("%s %s instead of %s", c.Key, c.To, c.From)
}

// tree is a scenario as nested mappings.
type tree = map[string]any

func treeOf(f *scenarios.File) (tree, error) {
	plain, err := strict.Plain(f.Scenario)
	if err != nil {
		return nil, err
	}
	return plain.(tree), nil
}

// changes lists what b sets differently from a: keys of the second level where both have a mapping,
// else of the first. Names and seeds do not count.
func changes(a, b tree) []Change {
	var list []Change
	for _, key := range union(a, b) {
		if key == "name" || key == "seed" || reflect.DeepEqual(a[key], b[key]) {
			continue
		}
		inner, okA := a[key].(tree)
		other, okB := b[key].(tree)
		if !okA || !okB {
			list = append(list, Change{key, words(a[key]), words(b[key])})
			continue
		}
		for _, k := range union(inner, other) {
			if !reflect.DeepEqual(inner[k], other[k]) {
				list = append(list, Change{key + "." + k, words(inner[k]), words(other[k])})
			}
		}
	}
	return list
}

func union(a, b tree) []string {
	all := maps.Clone(a)
	maps.Copy(all, b)
	return slices.Sorted(maps.Keys(all))
}

// words writes a value on one line.
func words(v any) string {
	if v == nil {
		return ""
	}
	if text, ok := v.(string); ok {
		return text
	}
	text, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(text)
}

// alone returns the variant that differs from base by one change only, whose value is taken from
// other.
func alone(name string, base, other tree, c Change) (Variant, error) {
	merged := maps.Clone(base)
	at, from, key := merged, other, c.Key
	for outer := range other {
		if inner, ok := base[outer].(tree); ok && len(key) > len(outer) &&
			key[:len(outer)+1] == outer+"." {
			at, key = maps.Clone(inner), key[len(outer)+1:]
			from = other[outer].(tree)
			merged[outer] = at
			break
		}
	}
	if value, set := from[key]; set {
		at[key] = value
	} else {
		delete(at, key)
	}
	text, err := json.Marshal(merged) // JSON is YAML
	return Variant{
		Label: c.Key, Name: name,
		Load: func() (*scenarios.File, error) { return scenarios.Parse(name, text) },
	}, err
}
