package fit

import (
	"cmp"
	_ "embed"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/llmsim/llmsim/hardware"
	"github.com/llmsim/llmsim/internal/files"
	"github.com/llmsim/llmsim/internal/validation/accuracy"
	"github.com/llmsim/llmsim/models"
	"github.com/llmsim/llmsim/models/steptime"
)

// constant is a number that may be fitted, and the range that the fit searches. The middle of the
// range, in logarithms, is what is believed without measurements, and the ends are two standard
// deviations away. Tiles are whole numbers that kernels are written for, and are not fitted.
type constant struct {
	Scope scope `csv:"scope"`
	// Name is the number's path of YAML keys, or a ratio of two paths: what the fit takes is the
	// first, in units of the second.
	Name string  `csv:"name"`
	Low  float64 `csv:"low"`
	High float64 `csv:"high"`
	// Counts is "time" for seconds, and "factor" for a ratio of an engine's kernels to others': 1
	// says that they do not differ.
	Counts string `csv:"counts"`
	// Of narrows the owners. An engine that captures graphs ("captured") is made of compiled code,
	// where the accelerator waits for microseconds; without graphs ("launched") it launches each
	// kernel, and handles each sequence between steps, in Python. Links have the class of their
	// catalogue's reach, or are "wired". Accelerators that reach each other over PCI Express
	// ("peer") are believed to reach as much of it (0.53) as RTX PRO 6000 whose all-reduces were
	// measured, and to be in each other's way less than these (0.36) or not at all. No all-reduce
	// of an engine's own takes less than 2 µs: the best one takes 3.7 on two H100, with its launch
	// (sgl-project/sglang#2904), and some also spare a norm.
	Of string `csv:"of"`
}

//go:embed constants.csv
var constantsCSV string

var allConstants = sync.OnceValue(func() []constant {
	return files.MustReadTable[constant]("constants.csv", constantsCSV)
})

// levels begins the names of the constants of an engine's versions.
const levels = "level"

// backends is the list of an engine's back ends of routed experts, and ofExperts begins the keys of
// its items.
const (
	backends  = "backends"
	ofExperts = "experts"
)

// constantsOf returns the constants that an owner has, which a pointer to its struct names.
func constantsOf(s scope, owner any) []constant {
	var list []constant
	for _, c := range allConstants() {
		key := ""
		for _, each := range []string{levels + "s", backends} {
			if strings.Contains(c.Name, each+".") {
				key = each
			}
		}
		switch {
		case c.Scope != s || c.Of != "" && !c.isOf(owner) || c.isDistilled(owner):
		case key != "":
			for _, item := range itemsOf(key, owner.(*steptime.Engine)) {
				one := c
				one.Name = strings.Replace(c.Name, key, item, 1)
				list = append(list, one)
			}
		default:
			list = append(list, c)
		}
	}
	return list
}

// itemsOf returns the keys of the items of one of an engine's lists.
func itemsOf(list string, e *steptime.Engine) (keys []string) {
	if list == backends {
		for i := range e.Served.Backends {
			keys = append(keys, backendKey(&e.Served.Backends[i]))
		}
		return keys
	}
	for i := range e.Levels {
		keys = append(keys, fmt.Sprint(levels, i))
	}
	return keys
}

// backendKey is the key of a back end of routed experts. Engines have it in common, so that their
// factors for it are pooled.
func backendKey(b *steptime.Backend) string {
	return fmt.Sprintf("%s-%s-%s", ofExperts, b.Name, b.Formats[0])
}

// isOf reports whether an owner is among those to which Of narrows the constant.
func (c *constant) isOf(owner any) bool {
	switch t := owner.(type) {
	case *hardware.Collective:
		return reach(t.Link) == c.Of
	case *steptime.Engine:
		return (t.Graph > 0) == (c.Of == "captured")
	}
	return false
}

// reach returns how devices reach each other over a link of the catalogue.
func reach(name string) string {
	catalog, err := hardware.Load()
	if err != nil {
		return ""
	}
	l, _ := catalog.Link(name)
	return cmp.Or(l.Reach, "wired")
}

// isDistilled reports whether the constant is of a way to sum that was measured apart.
func (c *constant) isDistilled(owner any) bool {
	way, _, _ := strings.Cut(c.Name, ".")
	_, link := owner.(*hardware.Collective)
	return link &&
		field(reflect.ValueOf(owner).Elem(), way).Interface().(hardware.AllReduce).Distilled
}

// path returns the path of the number that the constant changes.
func (c *constant) path() string {
	path, _, _ := strings.Cut(c.Name, "/")
	return path
}

// get returns the constant of its owner.
func (c *constant) get(owner any) float64 {
	path, unit, ratio := strings.Cut(c.Name, "/")
	if ratio {
		return read(owner, path) / read(owner, unit)
	}
	return read(owner, path)
}

// set changes the constant of its owner, and leaves maps and lists as they are that other owners
// may share. A share of a bandwidth stays below what any kernel reaches.
func (c *constant) set(owner any, v float64) {
	path, unit, ratio := strings.Cut(c.Name, "/")
	if ratio {
		v = min(steptime.MostBandwidth, v*read(owner, unit))
	}
	if e, is := owner.(*steptime.Engine); is {
		e.Levels = slices.Clone(e.Levels)
		e.Served.Backends = slices.Clone(e.Served.Backends)
	}
	keys := strings.Split(path, ".")
	at := reflect.ValueOf(owner).Elem()
	for i, key := range keys[:len(keys)-1] {
		if at = field(at, key); at.Kind() == reflect.Map {
			m := maps.Clone(at.Interface().(map[hardware.DType]float64))
			m[hardware.DType(keys[i+1])] = v
			at.Set(reflect.ValueOf(m))
			return
		}
	}
	field(at, keys[len(keys)-1]).SetFloat(v)
}

// read returns the number at a path of YAML keys, such as linear.compute.bf16; 0 where a map has no
// such key.
func read(owner any, path string) float64 {
	at := reflect.ValueOf(owner).Elem()
	for key := range strings.SplitSeq(path, ".") {
		if at.Kind() == reflect.Map {
			return at.Interface().(map[hardware.DType]float64)[hardware.DType(key)]
		}
		at = field(at, key)
	}
	return at.Float()
}

// field returns the field of a struct that YAML calls key, or an item of a list by its key: level0
// is the first level of an engine.
func field(of reflect.Value, key string) reflect.Value {
	if i, err := strconv.Atoi(strings.TrimPrefix(key, levels)); err == nil {
		return of.FieldByName("Levels").Index(i)
	}
	if s, is := of.Interface().(steptime.Served); is && strings.HasPrefix(key, ofExperts+"-") {
		return of.FieldByName("Backends").Index(slices.IndexFunc(s.Backends,
			func(b steptime.Backend) bool { return backendKey(&b) == key }))
	}
	return of.FieldByNameFunc(func(name string) bool {
		f, _ := of.Type().FieldByName(name)
		tag, _, _ := strings.Cut(f.Tag.Get("yaml"), ",")
		return cmp.Or(tag, strings.ToLower(name)) == key
	})
}

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
