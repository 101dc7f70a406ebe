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
	here, there := flat(a, b), flat(b, a)
	for _, key := range union(here, there) {
		if key != "name" && key != "seed" && !reflect.DeepEqual(here[key], there[key]) {
			list = append(list, Change{key, words(here[key]), words(there[key])})
		}
	}
	return list
}

// flat returns the values of a by their keys, of the second level where b has a mapping too.
func flat(a, b tree) tree {
	all := tree{}
	for key, value := range a {
		inner, ok := value.(tree)
		if _, both := b[key].(tree); !ok || !both {
			all[key] = value
			continue
		}
		for k, v := range inner {
			all[key+"."+k] = v
		}
	}
	return all
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
	if outer, inner, deep := strings.Cut(key, "."); deep {
		at, from, key = maps.Clone(base[outer].(tree)), other[outer].(tree), inner
		merged[outer] = at
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
	meant := func(t *trial, key string) any {
		outer, inner, deep := strings.Cut(key, ".")
		if value := t.resolved()[outer]; !deep {
			return value
		} else if mapping, ok := value.(tree); ok {
			return mapping[inner]
		}
		return nil
	}
	return slices.DeleteFunc(changes(settingsOf(base, other)), func(c Change) bool {
		return reflect.DeepEqual(meant(base, c.Key), meant(other, c.Key))
	})
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
