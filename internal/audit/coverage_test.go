package audit

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/llmsim/llmsim/policies"
	"github.com/llmsim/llmsim/scenarios/strict"
)

// undrawn gives the keys that no scenario of the auditor has, by how they begin, with the reason.
var undrawn = map[string]string{
	"caches.file":                              "a snapshot fits one scenario",
	"caches=snapshot":                          "the same",
	"hardware.operators-version":               "it needs tables of several versions",
	"fleet.pools[].hardware.operators-version": "the same",
	"workload.audio":                           "no model of the catalogue listens",
	"slo.itl.request":                          "gaps between tokens have percentiles alone",
	"workload.classes[].slo.itl":               "gaps between tokens are not kept by class",
	"workload.classes[].arrivals.think":        "a class with a rate has no closed loop",
	"workload.classes[].arrivals=closed-loop":  "the same",
	"workload.classes[].arrivals.ramp-up":      "the same",
	"workload.classes[].arrivals.start":        "the same",
	"workload.classes[].arrivals.users":        "the same",
	"workload.classes[].arrivals=at-once":      "a class with a rate does not come at once",
	"workload.classes[].trace.repeat":          "traces of classes have their own times",
	"workload.classes[].trace.max-wait":        "the same",
	"workload.classes[].trace.format":          "some formats have no times",
	"workload.trace.resample":                  "the samples are shorter than a part",
}

// excused returns the reason for which a feature is not drawn.
func excused(feature string) string {
	for begin, why := range undrawn {
		if strings.HasPrefix(feature, begin) {
			return why
		}
	}
	return ""
}

// mostTries is how many scenarios with a feature are mended until it is given up.
const mostTries = 40

// Every key of the schema, every word of an enumeration, every policy and every parameter of one is
// in a scenario that can be built. What is new is drawn without an entry anywhere.
func TestEveryKeyIsDrawn(t *testing.T) {
	registry := policies.Default()
	missing := map[string]int{} // with the number of scenarios that were tried
	all, reasons := allFeatures(registry), map[string]string{}
	for _, f := range all {
		if excused(f) == "" {
			missing[f] = 0
		}
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
	t.Logf("%d keys, words, policies and parameters of %d are in the first %d scenarios",
		wanted-len(missing), len(all), seed)
	if len(missing) > 0 {
		t.Errorf("never drawn in %d scenarios that can be built, with how often it was tried: %v",
			seed, missing)
		for _, f := range sortedKeys(missing) {
			t.Logf("%s, the last time:\n%s", f, reasons[f])
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
