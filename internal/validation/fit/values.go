package fit

import (
	"maps"
	"reflect"
	"slices"
	"sync"

	"github.com/llmsim/llmsim/hardware"
	"github.com/llmsim/llmsim/internal/validation/accuracy"
	"github.com/llmsim/llmsim/models"
	"github.com/llmsim/llmsim/models/steptime"
)

// values are the constants of everything that is fitted, by name. An accelerator or link that is
// not among them is predicted with its nearest relative that is.
type values struct {
	accelerators map[string]hardware.Constants
	links        map[string]hardware.Collective
	// engines are by the name of their family.
	engines map[string]steptime.Engine
	// machines are the machines of a table, see validation.Machine.
	machines map[string]machineHost
	// routing is by the name of the family of models.
	routing map[string]models.Routing
}

// machineHost is what is fitted of machines.
type machineHost struct{ Host float64 }

func newValues() *values {
	v := &values{map[string]hardware.Constants{}, map[string]hardware.Collective{},
		map[string]steptime.Engine{}, map[string]machineHost{}, map[string]models.Routing{}}
	for _, r := range models.Routings() {
		v.routing[r.Name] = r
	}
	for name, host := range accuracy.Machines() {
		v.machines[name] = machineHost{host}
	}
	return v
}

func (v *values) clone() *values {
	return &values{maps.Clone(v.accelerators), maps.Clone(v.links), maps.Clone(v.engines),
		maps.Clone(v.machines), maps.Clone(v.routing)}
}

// physics returns what predictions with these constants rest on.
func (v *values) physics() accuracy.Physics {
	hosts := map[string]float64{}
	for name, m := range v.machines {
		hosts[name] = m.Host
	}
	return accuracy.Physics{
		Hosts: hosts, Routing: v.routings(),
		Engine: func(name string) (steptime.Engine, error) {
			e, err := steptime.FindEngine(name)
			if fitted, ok := v.engines[family(name)]; ok && err == nil {
				fitted.Name, fitted.Title, fitted.Source, fitted.Lookahead = e.Name, e.Title,
					e.Source, e.Lookahead
				e = fitted
			}
			return e, err
		},
		Constants: v.constants(),
	}
}

// routings returns how unevenly routers choose experts, in the order of the shipped list.
func (v *values) routings() []models.Routing {
	list := models.Routings()
	for i := range list {
		list[i] = v.routing[list[i].Name]
	}
	return list
}

// constants returns a function that looks up the constants of accelerators and their links, and
// remembers them.
func (v *values) constants() func(a *hardware.Accelerator, scaleUp,
	network *hardware.Link) *hardware.Constants {
	var known sync.Map
	return func(a *hardware.Accelerator, scaleUp, network *hardware.Link) *hardware.Constants {
		key := [3]string{a.Name, nameOf(scaleUp), nameOf(network)}
		if c, ok := known.Load(key); ok {
			return c.(*hardware.Constants)
		}
		shipped, _ := hardware.FittedConstants(a, scaleUp, network)
		c, _ := hardware.NearestConstants(a, inOrder(v.accelerators))
		c.ScaleUp, c.Network = shipped.ScaleUp, shipped.Network
		if fitted, ok := v.links[shipped.ScaleUp.Link]; ok {
			c.ScaleUp = fitted
		} else if scaleUp != nil && len(v.links) > 0 {
			c.ScaleUp = hardware.NearestCollective(scaleUp, false, inOrder(v.links))
		}
		known.Store(key, &c)
		return &c
	}
}

func nameOf(l *hardware.Link) string {
	if l == nil {
		return ""
	}
	return l.Name
}

// inOrder returns the values of m in the order of its keys.
func inOrder[T any](m map[string]T) []T {
	list := make([]T, 0, len(m))
	for _, k := range slices.Sorted(maps.Keys(m)) {
		list = append(list, m[k])
	}
	return list
}

// family returns the first preset with the same constants: presets that differ in their scheduling
// alone are fitted together.
func family(name string) string {
	engine, err := steptime.FindEngine(name)
	if err != nil {
		return name
	}
	for _, e := range steptime.Engines() {
		first := e.Name
		e.Name, e.Title, e.Source, e.Lookahead = engine.Name, engine.Title, engine.Source,
			engine.Lookahead
		if reflect.DeepEqual(e, engine) {
			return first
		}
	}
	return name
}

// constantsUsed notes on which constants predictions rest, while the shipped ones are in use.
type constantsUsed struct {
	sync.Mutex
	shipped *values
	// accelerators names the constants by accelerator: its own, or a relative's of its generation.
	// Links names the constants by link within a node.
	accelerators, links map[string]string
	// otherMemory has the accelerators whose memory is not the one of their constants: it has the
	// mean shares of several.
	otherMemory map[string]bool
}

func newWitness() *constantsUsed {
	return &constantsUsed{shipped: newValues(), accelerators: map[string]string{},
		links: map[string]string{}, otherMemory: map[string]bool{}}
}

func (w *constantsUsed) physics() accuracy.Physics {
	return accuracy.Physics{
		Engine: func(name string) (steptime.Engine, error) {
			e, err := steptime.FindEngine(name)
			if f := family(name); err == nil {
				first, _ := steptime.FindEngine(f)
				w.Lock()
				defer w.Unlock()
				w.shipped.engines[f] = first
			}
			return e, err
		},
		Constants: func(a *hardware.Accelerator, scaleUp,
			network *hardware.Link) *hardware.Constants {
			c, _ := hardware.FittedConstants(a, scaleUp, network)
			w.Lock()
			defer w.Unlock()
			if _, far := hardware.NearestConstants(a, hardware.AllConstants()); far <= 1 {
				w.accelerators[a.Name] = c.Accelerator
				all := byName(hardware.AllConstants(),
					func(c hardware.Constants) string { return c.Accelerator })
				for name := c.Accelerator; name != ""; name = all[name].Like {
					w.shipped.accelerators[name] = all[name]
				}
				w.otherMemory[a.Name] = all[c.Accelerator].Linear.Memory != c.Linear.Memory
			}
			if scaleUp != nil {
				w.links[scaleUp.Name] = c.ScaleUp.Link
				all := byName(hardware.AllCollectives(),
					func(c hardware.Collective) string { return c.Link })
				for name := c.ScaleUp.Link; name != ""; name = all[name].Like {
					w.shipped.links[name] = all[name]
				}
			}
			return &c
		},
	}
}

func byName[T any](list []T, name func(T) string) map[string]T {
	m := map[string]T{}
	for _, v := range list {
		m[name(v)] = v
	}
	return m
}
