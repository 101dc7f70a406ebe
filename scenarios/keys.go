package scenarios

import (
	"cmp"
	"reflect"
	"slices"
	"strings"
)

// Key documents a key of the scenario file, or a figure of a result.
type Key struct {
	// Path leads to the key from the top of the file, such as fleet.pools.replicas, where a list
	// has the keys of its items. The path of a figure begins with "result".
	Path string `json:"path"`
	// Takes has the type of the values and their bounds, or the unit of a figure, whether a lower
	// or a higher value is better, and the requests that the figure counts.
	Takes string `json:"takes"`
	// Means describes the key, with its default if it has one.
	Means string `json:"means"`
}

// Keys lists the keys of the scenario file from the tags of its structs. The keys of a struct that
// several sections share are listed in the first section; the other sections name it.
func Keys() []Key { return keysOf("", reflect.TypeFor[Scenario](), map[reflect.Type]string{}) }

func keysOf(section string, t reflect.Type, shown map[reflect.Type]string) (list []Key) {
	for _, f := range keyFields(t) {
		if f.Tag.Get("rest") == "true" {
			list = append(list, Key{section + "…", "parameters of the policy",
				"As llmsim list policies prints them."})
			continue
		}
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		key := Key{section + name, takes(f), f.Tag.Get("jsonschema") + limits(f)}
		inner := itemType(f.Type)
		switch at, known := shown[inner]; {
		case inner.Kind() != reflect.Struct || isMoney(inner):
			list = append(list, key)
		case known:
			key.Takes += ", the keys of " + at
			list = append(list, key)
		default:
			except := strings.Split(f.Tag.Get("except"), ",")
			if except[0] == "" {
				shown[inner] = key.Path
			}
			for _, k := range append([]Key{key}, keysOf(key.Path+".", inner, shown)...) {
				name := strings.TrimPrefix(k.Path, key.Path+".")
				if !slices.Contains(except, name) {
					list = append(list, k)
				}
			}
		}
	}
	return list
}

// keyFields returns the fields of a struct that are keys of a file, with the field that takes the
// parameters of a policy.
func keyFields(t reflect.Type) (list []reflect.StructField) {
	for _, f := range reflect.VisibleFields(t) {
		f.Tag = t.Field(f.Index[0]).Tag + " " + f.Tag // of an embedded struct: it comes first
		unnamed := f.Tag.Get("json") == "" || f.Tag.Get("json") == "-"
		if f.IsExported() && (!unnamed || f.Tag.Get("rest") == "true") {
			list = append(list, f)
		}
	}
	return list
}

// takes says in a few words which values a key has.
func takes(f reflect.StructField) string {
	t := f.Type
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	word := strings.ReplaceAll(f.Tag.Get("enum"), ",", " | ")
	word = cmp.Or(word, map[reflect.Type]string{
		reflect.TypeFor[Span](): "duration", reflect.TypeFor[PerSecond](): "rate",
		reflect.TypeFor[Bytes](): "size", reflect.TypeFor[Price](): "price",
		reflect.TypeFor[TokenPrice](): "price"}[t], map[reflect.Kind]string{
		reflect.Slice: "list", reflect.String: "text", reflect.Bool: "boolean",
		reflect.Struct: "section", reflect.Int: "integer", reflect.Int64: "integer",
		reflect.Uint64: "integer", reflect.Float64: "number"}[t.Kind()])
	for _, limit := range []struct{ tag, sign string }{{"min", "≥"}, {"above", ">"}, {"max", "≤"},
		{"below", "<"}} {
		if bound := f.Tag.Get(limit.tag); bound != "" {
			word += " " + limit.sign + " " + bound
		}
	}
	if f.Tag.Get("required") == "true" {
		word += ", required"
	}
	return word
}

// limits says for which kinds a key applies, and which of two keys is required.
func limits(f reflect.StructField) (text string) {
	words := func(tag string) string { return strings.ReplaceAll(f.Tag.Get(tag), ",", ", ") }
	if need := words("need"); need != "" {
		text += " Required for " + need + "."
	}
	if only := words("only"); only != "" {
		text += " For " + only + " only."
	} else if need := words("need"); need != "" {
		text += " For no other."
	}
	if except := words("except"); except != "" {
		text += " Without " + except + "."
	}
	if other, alternative := strings.CutPrefix(f.Tag.Get("required"), "unless "); alternative {
		text += " Required, unless all pools of " + other + " have their own."
	}
	return text
}

// itemType looks through pointers and lists.
func itemType(t reflect.Type) reflect.Type {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
		t = t.Elem()
	}
	return t
}

// isMoney reports whether a type is an amount of money, which is written as a text.
func isMoney(t reflect.Type) bool { return t.ConvertibleTo(reflect.TypeFor[Money]()) }

// Figures lists the figures of a result, with the keys of its JSON.
func Figures() (list []Key) {
	better := map[Direction]string{Lower: "lower is better", Higher: "higher is better"}
	for _, m := range Metrics() {
		key := Key{Path: "result." + strings.Join(m.keys(), "."), Means: m.Title}
		notes := []string{string(m.Unit), better[m.Better]}
		if m.Population != "" {
			notes = append(notes, "of "+string(m.Population))
		}
		if m.ByClass() {
			notes = append(notes, "by class too")
		}
		for _, note := range notes {
			if note != "" && key.Takes != "" {
				key.Takes += ", "
			}
			key.Takes += note
		}
		if m.Means != "" {
			key.Means += ": " + m.Means
		}
		list = append(list, key)
	}
	return list
}
