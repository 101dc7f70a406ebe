package compare

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/llmsim/llmsim/internal/strict"
	"github.com/llmsim/llmsim/scenarios"
)

// Change is a key that another scenario sets differently. From and To are in YAML; empty where the
// key is not set.
type Change struct {
	Key  string `json:"key"`
	From string `json:"from,omitempty"`
	To   string `json:"to,omitempty"`
}

// String describes the change.
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

// groupDependent puts changes that only have a meaning with each other into one group: the arrival
// process, the rate and the number of requests. For example, a rate has no meaning if all requests
// arrive at once.
func groupDependent(list []Change) [][]Change {
	var groups [][]Change
	if !slices.ContainsFunc(list, func(c Change) bool { return c.Key == "workload.arrivals" }) {
		for i := range list {
			groups = append(groups, list[i:i+1])
		}
		return groups
	}
	arrival := -1
	for i, c := range list {
		switch c.Key {
		case "workload.arrivals", "workload.rate", "workload.requests", "workload.duration":
			if arrival >= 0 {
				groups[arrival] = append(groups[arrival], c)
				continue
			}
			arrival = len(groups)
		}
		groups = append(groups, slices.Clone(list[i:i+1]))
	}
	return groups
}

// keys names the changes of a group: workload.arrivals, rate.
func keys(group []Change) string {
	names := make([]string, len(group))
	for i, c := range group {
		names[i] = c.Key
		if i > 0 {
			names[i] = c.Key[strings.LastIndexByte(c.Key, '.')+1:]
		}
	}
	return strings.Join(names, ", ")
}

// alone returns the variant that differs from base by one group of changes only, whose values are
// taken from other.
func alone(name string, base, other tree, group []Change) (Variant, error) {
	merged := base
	for _, c := range group {
		merged = with(merged, other, c.Key)
	}
	text, err := json.Marshal(merged) // JSON is YAML
	return Variant{
		Label: keys(group), Name: name,
		Load: func() (*scenarios.File, error) { return scenarios.Parse(name, text) },
	}, err
}

// with returns base with one key as other has it.
func with(base, other tree, key string) tree {
	merged := maps.Clone(base)
	at, from := merged, other
	for outer := range other {
		if inner, ok := base[outer].(tree); ok && strings.HasPrefix(key, outer+".") {
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
	return merged
}

// Changes lists what b sets differently from a, by keys of the first or second level.
func Changes(a, b *scenarios.Scenario) ([]Change, error) {
	one, err := treeOf(&scenarios.File{Scenario: *a})
	if err != nil {
		return nil, err
	}
	other, err := treeOf(&scenarios.File{Scenario: *b})
	return changes(one, other), err
}

// resolved returns the scenario of a trial with all defaults filled in.
func (t *trial) resolved() tree {
	meant, _ := t.runs[0].Result.Scenario.(tree)
	return meant
}

// changesOf lists the settings in which other differs from base. A setting that only one of them
// writes out, with its default, is no change.
func changesOf(base, other *trial) []Change {
	a, b := settingsOf(base, other)
	meantA, meantB := base.resolved(), other.resolved()
	for _, key := range union(a, b) {
		here, okA := a[key].(tree)
		there, okB := b[key].(tree)
		if reflect.DeepEqual(meantA[key], meantB[key]) {
			delete(a, key)
			delete(b, key)
		} else if okA && okB {
			a[key], b[key] = differing(here, there, meantA[key], meantB[key])
		}
	}
	return changes(a, b)
}

// differing returns two mappings without the keys that mean the same.
func differing(a, b tree, meantA, meantB any) (tree, tree) {
	a, b = maps.Clone(a), maps.Clone(b)
	here, _ := meantA.(tree)
	there, _ := meantB.(tree)
	for _, key := range union(a, b) {
		if reflect.DeepEqual(here[key], there[key]) {
			delete(a, key)
			delete(b, key)
		}
	}
	return a, b
}

// settingsOf returns what two trials set. Where one of them has a mapping, so has the other.
func settingsOf(base, other *trial) (a, b tree) {
	a, b = maps.Clone(base.tree), maps.Clone(other.tree)
	meantA, meantB := base.resolved(), other.resolved()
	for _, key := range union(a, b) {
		_, okA := a[key].(tree)
		_, okB := b[key].(tree)
		if okA != okB {
			here, foundA := mapping(a[key], meantA[key])
			there, foundB := mapping(b[key], meantB[key])
			if foundA && foundB {
				a[key], b[key] = here, there
			}
		}
	}
	return a, b
}

// mapping returns a value as a mapping. A name such as hardware: h100-sxm means the key that has
// this name in the resolved scenario, and a missing value for an empty mapping. It returns false
// for values that cannot be mappings.
func mapping(v, meant any) (tree, bool) {
	all, ok := meant.(tree)
	switch value := v.(type) {
	case tree:
		return value, true
	case nil:
		return tree{}, ok
	case string:
		for _, key := range union(all, nil) {
			if all[key] == value {
				return tree{key: value}, true
			}
		}
	}
	return nil, false
}
