package scenarios

import (
	"errors"
	"io/fs"
	"maps"

	"github.com/llmsim/llmsim/internal/registry"
	"github.com/llmsim/llmsim/internal/strict"
)

// registered returns the file of an entry of the user's registry; "" without one.
func registered(kind registry.Kind, name string) (string, error) {
	store := registry.FromEnvironment()
	if store == nil {
		return "", nil
	}
	e, err := store.Find(kind, name)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	return e.Path, nil
}

// namedFiles lists the files of the registry that a server names, and that it is named by if it is
// a draft model.
func namedFiles(s *Scenario) []string {
	names := []string{s.Model}
	if s.Speculation != nil {
		names = append(names, s.Speculation.Draft)
	}
	var list []string
	for _, name := range names {
		if path, err := registered(registry.Model, name); err == nil {
			list = append(list, path)
		}
	}
	if path, err := registered(registry.Hardware, s.Hardware.Accelerator); err == nil {
		list = append(list, path)
	}
	return list
}

// policySlots lists the places of a scenario that name policies.
func (s *Scenario) policySlots() []policySlot {
	list := []policySlot{s.Batching.slot("batching"), s.Memory.slot(), s.Routing.slot("routing")}
	for i := range s.Fleet.Pools {
		p := &s.Fleet.Pools[i]
		list = append(list, p.Batching.slot("batching"), p.Memory.slot())
	}
	return list
}

// namePolicies puts the policies of the registry that the scenario names in their place, with their
// parameters; the scenario's own parameters have precedence. It returns the files that it read.
func namePolicies(doc *strict.Document, s *Scenario) (read []string, err error) {
	for _, slot := range s.policySlots() {
		path, err := registered(registry.Policy, *slot.policy)
		if err != nil {
			return nil, doc.Problem(slot.section, "%v", err)
		}
		if path == "" {
			continue
		}
		data, err := registry.ReadFile(path)
		if err != nil {
			return nil, doc.Problem(slot.section, "%v", err)
		}
		own, err := readPolicy(path, data)
		if err != nil {
			return nil, err
		}
		if own.Section != slot.section {
			return nil, doc.Problem(slot.section, "%s is a policy for %s", *slot.policy,
				own.Section)
		}
		read = append(read, path)
		merged := map[string]string{}
		maps.Copy(merged, own.Params)
		maps.Copy(merged, *slot.params)
		*slot.policy, *slot.params = own.Policy, merged
	}
	return read, nil
}

// namedPolicy is the file of a policy in a registry: its section, the name of the shipped
// policy, and its parameters.
type namedPolicy struct {
	Section string            `json:"section" required:"true" enum:"batching,memory,routing"`
	Policy  string            `json:"policy" required:"true"`
	Params  map[string]string `json:"-" rest:"true"`
}

// readPolicy reads the file of a policy.
func readPolicy(name string, data []byte) (*namedPolicy, error) {
	doc, err := strict.Parse(name, data)
	if err != nil {
		return nil, err
	}
	var p namedPolicy
	return &p, doc.Decode(&p)
}
