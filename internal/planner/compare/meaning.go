package compare

import (
	"maps"
	"reflect"
)

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

// mapping returns a value as a mapping. A name such as hardware: h100-sxm stands for the key that
// has this name in the resolved scenario, and a missing value for an empty mapping. It returns
// false for values that cannot be mappings.
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
