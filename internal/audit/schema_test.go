package audit

import (
	"encoding/json"
	"os"
	"slices"
	"sync"

	"github.com/llmsim/llmsim/internal/strict"
	"github.com/llmsim/llmsim/policies"
)

// node is a schema, as far as the schema of scenarios uses JSON Schema.
type node struct {
	Type       string           `json:"-"`
	Types      json.RawMessage  `json:"type"`
	Enum       []any            `json:"enum"`
	Properties map[string]*node `json:"properties"`
	Required   []string         `json:"required"`
	Items      *node            `json:"items"`
	AnyOf      []*node          `json:"anyOf"`
	Pattern    string           `json:"pattern"`
	Minimum    *float64         `json:"minimum"`
	Maximum    *float64         `json:"maximum"`
	Above      *float64         `json:"exclusiveMinimum"`
	Below      *float64         `json:"exclusiveMaximum"`
	// Rest is the schema of keys without a name, such as the parameters of policies; false where
	// there are no such keys.
	Rest json.RawMessage `json:"additionalProperties"`
}

// schema reads the schema that the structs of the scenarios give.
var schema = sync.OnceValue(func() *node {
	text, err := os.ReadFile("../../scenarios/schema.json")
	if err != nil {
		panic(err)
	}
	root := &node{}
	if err := json.Unmarshal(text, root); err != nil {
		panic(err)
	}
	root.each("", func(_ string, n *node) {
		if n.Types != nil && n.Types[0] == '"' {
			_ = json.Unmarshal(n.Types, &n.Type)
		}
	})
	return root
})

// each calls f with every schema within this one, and the path of keys that leads to it. The
// entries of a list have the path of the list and [].
func (n *node) each(path string, f func(path string, n *node)) {
	f(path, n)
	for _, name := range sortedKeys(n.Properties) {
		n.Properties[name].each(join(path, name), f)
	}
	for _, either := range n.AnyOf {
		either.each(path, f)
	}
	if n.Items != nil {
		n.Items.each(path+"[]", f)
	}
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

func sortedKeys[V any](m map[string]V) []string {
	names := make([]string, 0, len(m))
	for name := range m {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// policyParams returns the names of the policies that a key takes and the parameters of each; nil
// for a key that takes no policy.
func policyParams(registry *policies.Registry, key string) map[string][]strict.Setting {
	switch key {
	case "batching":
		return paramsOf(&registry.Batching)
	case "memory":
		return paramsOf(&registry.Memory)
	case "routing", "handover":
		return paramsOf(&registry.Routing)
	case "admission":
		return paramsOf(&registry.Admission)
	case "scaling":
		return paramsOf(&registry.Scaling)
	case "length":
		return paramsOf(&registry.Drafting)
	}
	return nil
}

func paramsOf[T any](family *policies.Family[T]) map[string][]strict.Setting {
	all := map[string][]strict.Setting{}
	for i := range family.Policies {
		all[family.Policies[i].Name] = family.Policies[i].Params()
	}
	return all
}
