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
	// Counts is "time" for seconds, and "factor" for a ratio of an engine's kernels to others', of
	// which 1 says that they do not differ.
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
