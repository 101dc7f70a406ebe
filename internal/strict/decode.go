package strict

import (
	"encoding"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/llmsim/llmsim/internal/nearest"

	"gopkg.in/yaml.v3"
)

// Decode fills the struct that into points to. It returns all problems of the document together, as
// Problems. Fields that the document does not set do not change.
func (d *Document) Decode(into any) error {
	dec := decoder{doc: d}
	dec.structure(d.root, reflect.ValueOf(into).Elem(), "")
	d.noteChanges()
	return dec.problems.orNil()
}

// mostValues is the largest number of values of a document, where each value counts as often as
// aliases repeat it. It is four times what a rate for each hour of a year takes. Without it,
// aliases of aliases could grow exponentially.
const mostValues = 100_000

type decoder struct {
	doc      *Document
	values   int
	problems Problems
}

// done reports whether decoding stops: there are too many values, or too many problems.
func (d *decoder) done() bool { return d.values > mostValues || len(d.problems) > mostProblems }

func (d *decoder) fail(n *yaml.Node, path, format string, args ...any) {
	d.problems = append(d.problems,
		Problem{Where: d.doc.where(n), Path: path, Message: fmt.Sprintf(format, args...)})
}

// count counts a value.
func (d *decoder) count(n *yaml.Node, path string) {
	if d.values++; d.values == mostValues+1 {
		d.problems = nil
		d.fail(n, path, "the file has more than %d values, counting what aliases repeat",
			mostValues)
	}
}

// value decodes one node into v, whatever v is.
func (d *decoder) value(n *yaml.Node, v reflect.Value, path string, r rule) {
	if d.count(n, path); d.done() {
		return
	}
	d.doc.places[path] = n
	n = resolve(n)
	if n.Kind == yaml.ScalarNode && n.Tag == "!!null" {
		d.fail(n, path, "has no value; want %s", want(v.Type()))
		return
	}
	_, isUnit := v.Addr().Interface().(encoding.TextUnmarshaler)
	switch {
	case isUnit:
		d.scalar(n, v, path, r)
	case v.Kind() == reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		d.value(n, v.Elem(), path, r)
	case v.Kind() == reflect.Struct:
		d.structure(n, v, path)
	case v.Kind() == reflect.Slice:
		d.list(n, v, path, r)
	default:
		d.scalar(n, v, path, r)
	}
}

// structure decodes a mapping, or the scalar that abbreviates one.
func (d *decoder) structure(n *yaml.Node, v reflect.Value, path string) {
	list := fields(v.Type())
	if n.Kind == yaml.ScalarNode {
		if short, ok := shortField(list); ok {
			d.value(n, v.FieldByIndex(short.index), join(path, short.name), short.rule)
			d.doc.places[path] = n
			return
		}
	}
	if n.Kind != yaml.MappingNode {
		d.fail(n, path, "found %s; want %s", describe(n), want(v.Type()))
		return
	}
	keys := map[string]*yaml.Node{}
	for i := 0; i+1 < len(n.Content) && !d.done(); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		if first, twice := keys[key.Value]; twice {
			d.fail(key, path, "key %s is given twice, first on line %d", quote(key.Value),
				first.Line)
			continue
		}
		f, known := find(list, key.Value)
		switch {
		case !known:
			d.fail(d.placeOf(key, value), path, "%s",
				nearest.Unknown("key", key.Value, names(list)))
		case f.rest:
			d.rest(key.Value, value, v.FieldByIndex(f.index), join(path, key.Value))
		default:
			d.value(value, v.FieldByIndex(f.index), join(path, f.name), f.rule)
		}
		keys[key.Value] = d.placeOf(key, value)
	}
	if d.done() {
		return
	}
	d.applicable(n, v, path, list, keys)
}

// applicable checks that all required keys are given, and that each given key applies to the kind.
func (d *decoder) applicable(n *yaml.Node, v reflect.Value, path string, list []field,
	keys map[string]*yaml.Node) {
	kind, word := kindOf(list, v)
	for _, f := range list {
		place := keys[f.name]
		need := f.rule.words("need")
		if place == nil {
			switch {
			case f.rule.required(keys):
				d.fail(n, join(path, f.name), "must be given")
			case slices.Contains(need, word):
				d.fail(n, join(path, f.name), "must be given where %s is %s", kind, word)
			}
			continue
		}
		if kinds := slices.Concat(f.rule.words("only"), need); len(kinds) > 0 &&
			!slices.Contains(kinds, word) {
			d.fail(place, join(path, f.name), "applies only where %s is %s; here it is %s", kind,
				strings.Join(kinds, " or "), word)
		}
	}
}

// placeOf returns the place of the key, or the place of the value if it came from the command line.
func (d *decoder) placeOf(key, value *yaml.Node) *yaml.Node {
	if _, ok := d.doc.overrides[value]; ok {
		return value
	}
	return key
}

// rest stores the text of a scalar in the map that takes unknown keys.
func (d *decoder) rest(key string, n *yaml.Node, m reflect.Value, path string) {
	if d.count(n, path); d.done() {
		return
	}
	d.doc.places[path] = n
	if n = resolve(n); n.Kind != yaml.ScalarNode || n.Tag == "!!null" {
		d.fail(n, path, "found %s; want a single value", describe(n))
		return
	}
	if complaint := checkPrintable(n.Value); complaint != "" {
		d.fail(n, path, "%s", complaint)
		return
	}
	if m.IsNil() {
		m.Set(reflect.MakeMap(m.Type()))
	}
	m.SetMapIndex(reflect.ValueOf(key), reflect.ValueOf(n.Value))
}

func (d *decoder) list(n *yaml.Node, v reflect.Value, path string, r rule) {
	if n.Kind != yaml.SequenceNode {
		d.fail(n, path, "found %s; want a list", describe(n))
		return
	}
	if len(n.Content) == 0 {
		d.fail(n, path, "the list is empty")
		return
	}
	v.Set(reflect.MakeSlice(v.Type(), len(n.Content), len(n.Content)))
	for i, item := range n.Content {
		if d.done() {
			return
		}
		d.value(item, v.Index(i), join(path, strconv.Itoa(i)), r)
	}
}

// resolve follows an alias to its anchor.
func resolve(n *yaml.Node) *yaml.Node {
	if n.Kind == yaml.AliasNode {
		return n.Alias
	}
	return n
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

// want returns the values that a type takes, in words.
func want(t reflect.Type) string {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if reflect.PointerTo(t).Implements(reflect.TypeFor[encoding.TextUnmarshaler]()) {
		return "a value with its unit"
	}
	switch t.Kind() {
	case reflect.Struct:
		keys := "a mapping with the keys " + strings.Join(names(fields(t)), ", ")
		if short, ok := shortField(fields(t)); ok {
			return want(t.FieldByIndex(short.index).Type) + " or " + keys
		}
		return keys
	case reflect.Slice:
		return "a list"
	case reflect.String:
		return "a word"
	case reflect.Bool:
		return "true or false"
	case reflect.Float64:
		return "a number"
	}
	return "a whole number"
}
