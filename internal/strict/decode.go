package strict

import (
	"encoding"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"gopkg.in/yaml.v3"

	"github.com/llmsim/llmsim/internal/nearest"
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

// scalar decodes a single value: a word, a truth value, a number, or a type that reads its own
// unit.
func (d *decoder) scalar(n *yaml.Node, v reflect.Value, path string, r rule) {
	if n.Kind != yaml.ScalarNode {
		d.fail(n, path, "found %s; want %s", describe(n), want(v.Type()))
		return
	}
	if complaint := setScalar(n.Value, v, r); complaint != "" {
		d.fail(n, path, "%s", complaint)
	}
}

// setScalar stores the text in v and describes what is wrong with it, or "".
func setScalar(text string, v reflect.Value, r rule) string {
	if complaint := checkPrintable(text); complaint != "" {
		return complaint
	}
	if unit, ok := v.Addr().Interface().(encoding.TextUnmarshaler); ok {
		if err := unit.UnmarshalText([]byte(text)); err != nil {
			return err.Error()
		}
		return checkRange(v, text, r)
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(text)
		return r.checkWord(text)
	case reflect.Bool:
		if text != "true" && text != "false" {
			return "found " + quote(text) + "; want true or false"
		}
		v.SetBool(text == "true")
		return ""
	case reflect.Float64:
		x, err := strconv.ParseFloat(strings.ReplaceAll(text, "_", ""), 64)
		if err != nil || math.IsNaN(x) || math.IsInf(x, 0) {
			return "found " + quote(text) + "; want a number" + asShare(text)
		}
		v.SetFloat(x)
	default:
		if complaint := setInteger(text, v); complaint != "" {
			return complaint
		}
	}
	return checkRange(v, text, r)
}

// asShare says how a percentage is written as a share, or "".
func asShare(text string) string {
	percent, is := strings.CutSuffix(text, "%")
	x, err := strconv.ParseFloat(strings.TrimSpace(percent), 64)
	if !is || err != nil {
		return ""
	}
	return fmt.Sprintf(": as a share, %s%% is %.6g", percent, x/100)
}

// checkPrintable refuses text with characters that would act on the terminal to which names are
// printed.
func checkPrintable(text string) string {
	acts := func(r rune) bool { return unicode.IsControl(r) && r != '\n' && r != '\t' }
	if !strings.ContainsFunc(text, acts) {
		return ""
	}
	return "found " + quote(text) + " with a control character; want printable text"
}

// setInteger reads whole numbers, also those written like 1e6 or 1_000_000.
func setInteger(text string, v reflect.Value) string {
	complaint := "found " + quote(text) + "; want a whole number"
	plain := strings.ReplaceAll(text, "_", "")
	if v.CanUint() {
		u, err := strconv.ParseUint(plain, 10, 64)
		if err != nil || v.OverflowUint(u) {
			return complaint + " from 0"
		}
		v.SetUint(u)
		return ""
	}
	i, err := strconv.ParseInt(plain, 10, 64)
	if err != nil {
		x, err := strconv.ParseFloat(plain, 64)
		if err != nil || x != math.Trunc(x) || math.Abs(x) >= 1<<53 {
			return complaint
		}
		i = int64(x)
	}
	if v.OverflowInt(i) {
		return complaint
	}
	v.SetInt(i)
	return ""
}

// checkRange checks a number, or a unit that is a number underneath, against its rule.
func checkRange(v reflect.Value, text string, r rule) string {
	switch {
	case v.CanInt():
		return r.checkNumber(float64(v.Int()), text)
	case v.CanUint():
		return r.checkNumber(float64(v.Uint()), text)
	case v.CanFloat():
		return r.checkNumber(v.Float(), text)
	}
	if n, ok := v.Interface().(interface{ Number() float64 }); ok {
		return r.checkNumber(n.Number(), text)
	}
	return ""
}
