package audit

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/llmsim/llmsim/internal/strict"
	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/policies"
)

// mostTries is how many scenarios with a feature are mended until it is given up.
const mostTries = 120

// Every key of the schema, every word of an enumeration, every policy and every parameter of one,
// and every entry of the catalogues and registries is in a scenario that can be built. What is new
// is drawn without an entry anywhere.
func TestEveryKeyIsDrawn(t *testing.T) {
	if testing.Short() {
		t.Skip("the last keys take more than ten thousand scenarios")
	}
	testkit.Dear(t)
	registry := policies.Default()
	missing := map[string]int{} // with the number of scenarios that were tried
	all, reasons := allFeatures(registry), map[string]string{}
	for _, f := range all {
		missing[f] = 0
	}
	wanted, seed := len(missing), uint64(0)
	for ; seed < 24_000 && len(missing) > 0; seed++ {
		s := drawScenario(registry, seed)
		found := false
		for _, f := range features(registry, s) {
			if n, is := missing[f]; is && n < mostTries {
				missing[f]++
				found = true
			}
		}
		if !found {
			continue
		}
		before := features(registry, s)
		blamed, err := repair(&drawer{seed, registry}, s)
		for _, f := range before {
			if _, is := missing[f]; is {
				reasons[f] = strings.Join(blamed, "\n")
			}
		}
		if err != nil {
			continue
		}
		for _, f := range features(registry, s) {
			delete(missing, f)
		}
	}
	t.Logf("%d keys, words, policies, parameters and entries of %d are in the first %d scenarios",
		wanted-len(missing), len(all), seed)
	if len(missing) > 0 {
		t.Errorf("never drawn in %d scenarios that can be built, with how often it was tried: %v",
			seed, missing)
		for _, f := range sortedKeys(missing) {
			t.Logf("%s, the last time:\n%.2000s", f, reasons[f])
		}
	}
}

// families lists the keys that take a policy.
func families() []string {
	return []string{"batching", "memory", "routing", "handover", "admission", "scaling", "length"}
}

// allFeatures lists what there is to draw.
func allFeatures(registry *policies.Registry) (list []string) {
	schema().each("", func(path string, n *node) {
		if path != "" {
			list = append(list, path)
		}
		if strings.HasPrefix(path, "fleet.pools[].") ||
			strings.HasPrefix(path, "workload.classes[].") {
			return // the words are those of the scenario and of the workload
		}
		for _, word := range n.Enum {
			list = append(list, fmt.Sprint(withoutKind(path), "=", word))
		}
	})
	for _, words := range texts() {
		for _, word := range words {
			list = append(list, "entry "+word)
		}
	}
	for _, key := range families() {
		for name, params := range policyParams(registry, key) {
			list = append(list, key+"="+name)
			for _, p := range params {
				list = append(list, key+"="+name+"."+p.Name)
			}
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// withoutKind returns the path of a mapping for that of the word which says its kind, since the
// word alone is short for it.
func withoutKind(path string) string {
	for _, kind := range []string{".distribution", ".process", ".pattern", ".law", ".start",
		".kernel", ".store"} {
		path = strings.TrimSuffix(path, kind)
	}
	return path
}

// features lists what a scenario has of them.
func features(registry *policies.Registry, s object) (list []string) {
	var walk func(path, key string, v any)
	walk = func(path, key string, v any) {
		switch v := v.(type) {
		case object:
			list = append(list, path)
			name, _ := v["policy"].(string)
			params := policyParams(registry, key)[name]
			if name != "" {
				list = append(list, key+"="+name)
			}
			for k, x := range v {
				if slices.ContainsFunc(params, func(p strict.Setting) bool { return p.Name == k }) {
					list = append(list, key+"="+name+"."+k)
					continue
				}
				walk(join(path, k), k, x)
			}
		case []any:
			list = append(list, path)
			for _, x := range v {
				walk(path+"[]", key, x)
			}
		case string:
			list = append(list, path, withoutKind(path)+"="+v)
			for _, short := range []string{"", ".accelerator", ".preset", ".size", ".file",
				".link"} {
				if slices.Contains(textOf(general(path)+short), v) {
					list = append(list, "entry "+v)
				}
			}
			if policyParams(registry, key) != nil {
				list = append(list, key+"="+v)
			}
		default:
			list = append(list, path)
		}
	}
	walk("", "", s)
	return list
}
