package scenarios

import (
	"bytes"
	"fmt"
	"maps"
	"slices"

	"github.com/llmsim/llmsim/hardware"
	"github.com/llmsim/llmsim/internal/registry"
	"github.com/llmsim/llmsim/internal/strict"
	"github.com/llmsim/llmsim/models"
	"github.com/llmsim/llmsim/policies"
)

// CheckEntry returns what is wrong with a file that is to be the entry of a registry under a name:
// it is read as it would be used. Names of what ships are taken.
func CheckEntry(kind registry.Kind, name, path string, data []byte) error {
	taken := func(found bool) error {
		if found {
			return fmt.Errorf("name: %q is what ships; choose another", name)
		}
		return nil
	}
	switch kind {
	case registry.Model:
		catalog, err := models.Load()
		if err != nil {
			return err
		}
		if _, err := catalog.Lookup(name); err == nil {
			return taken(true)
		}
		_, _, err = models.FromHuggingFace(bytes.NewReader(data), path)
		return err
	case registry.Hardware:
		return checkHardware(name, path, data)
	case registry.Deployment:
		if err := taken(slices.Contains(Shipped(), name)); err != nil {
			return err
		}
		f, err := Parse(path, data)
		if err != nil {
			return err
		}
		return f.CheckNames(policies.Default())
	}
	p, err := readPolicy(path, data)
	if err != nil {
		return err
	}
	return p.check(name, path)
}

// checkHardware checks a file with an accelerator of that name.
func checkHardware(name, path string, data []byte) error {
	catalog, err := hardware.Load()
	if err != nil {
		return err
	}
	if _, err := catalog.Accelerator(name); err == nil {
		return fmt.Errorf("name: %q is what ships; choose another", name)
	}
	if catalog, err = catalog.With(path, data); err != nil {
		return err
	}
	if _, err := catalog.Accelerator(name); err != nil {
		return fmt.Errorf("%s: it has no accelerator called %s", path, name)
	}
	return nil
}

// check checks that there is such a policy with such parameters, in a scenario of its own.
func (p *namedPolicy) check(name, path string) error {
	set := []string{p.Section + ".policy=" + p.Policy}
	for _, key := range slices.Sorted(maps.Keys(p.Params)) {
		set = append(set, p.Section+"."+key+"="+p.Params[key])
	}
	if shipsPolicy(p.Section, name) {
		return fmt.Errorf("name: %q is what ships; choose another", name)
	}
	f, err := Describe("llama-3.1-8b", "h100-sxm", set...)
	if err == nil {
		err = f.CheckNames(policies.Default())
	}
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// shipsPolicy reports whether a policy of that name ships for a section.
func shipsPolicy(section, name string) bool {
	shipped := policies.Default()
	var err error
	switch section {
	case "batching":
		_, err = shipped.Batching.Lookup(name)
	case "memory":
		_, err = shipped.Memory.Lookup(name)
	default:
		_, err = shipped.Routing.Lookup(name)
	}
	return err == nil
}

// UsesEntry reports whether the deployment at a path names an entry.
func UsesEntry(path string, e *registry.Entry) bool {
	data, err := registry.ReadFile(path)
	if err != nil {
		return false
	}
	doc, err := strict.Parse(path, data)
	if err != nil || doc.Spread("model", "name", "shape") != nil {
		return false
	}
	var s Scenario
	if doc.Decode(&s) != nil {
		return false
	}
	var names []string
	switch e.Kind {
	case registry.Model:
		names = append(names, s.Model)
		for i := range s.Fleet.Pools {
			names = append(names, s.Fleet.Pools[i].Model)
		}
	case registry.Hardware:
		names = append(names, s.Hardware.Accelerator)
		for i := range s.Fleet.Pools {
			names = append(names, s.Fleet.Pools[i].Hardware.Accelerator)
		}
	case registry.Policy:
		for _, slot := range s.policySlots() {
			names = append(names, *slot.policy)
		}
	}
	return slices.Contains(names, e.Name) ||
		slices.Contains(names, fmt.Sprintf("%s@%d", e.Name, e.Version))
}
