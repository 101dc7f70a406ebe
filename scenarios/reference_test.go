package scenarios

import (
	"fmt"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/llmsim/llmsim/internal/testkit"
)

const referenceStart = "<!-- The reference below is made from the structs: " +
	"go test ./scenarios -run Current -update -->\n"

// The keys are on two pages, and the figures of a result on a third.
func TestReferenceIsCurrent(t *testing.T) {
	var keys, figures strings.Builder
	reference(&keys, "the file", reflect.TypeFor[Scenario](), map[reflect.Type]string{})
	metricReference(&figures)
	server, load, found := strings.Cut(keys.String(), "\n### fleet\n")
	if !found {
		t.Fatal("the file has no section fleet, at which its keys are divided")
	}
	for name, tables := range map[string]string{
		"scenario-keys.md":      server,
		"scenario-keys-load.md": "\n### fleet\n" + load,
		"result-figures.md":     figures.String(),
	} {
		path := filepath.Join("..", "docs", name)
		page := testkit.Read(t, path)
		introduction, _, found := strings.Cut(string(page), referenceStart)
		if !found {
			t.Fatalf("%s has lost the line %q", path, referenceStart)
		}
		current(t, path, []byte(introduction+referenceStart+tables))
	}
}

// reference lists the keys of a struct, then those of the structs within. Keys with the same
// meaning, one after another, are in one line. Shown has the structs that are written already, and
// where.
func reference(out *strings.Builder, path string, t reflect.Type, shown map[reflect.Type]string) {
	fmt.Fprintf(out, "\n### %s\n\n", path)
	type section struct {
		path string
		t    reflect.Type
	}
	var inner []section
	var names []string
	for i := range t.NumField() {
		f := t.Field(i)
		if f.Tag.Get("rest") == "true" {
			fmt.Fprintf(out, "- the parameters of the policy (`llmsim list policies`)\n")
			continue
		}
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		word := valueWords(f)
		if it := itemType(f.Type); it.Kind() == reflect.Struct && !isMoney(it) {
			within := strings.TrimPrefix(path+"."+name, "the file.")
			if shown[it] == "" {
				shown[it] = within
				inner = append(inner, section{within, it})
			}
			word += "see " + shown[it]
		}
		if f.Tag.Get("required") == "true" {
			word += ", required"
		}
		names = append(names, "`"+name+"`")
		if i+1 < t.NumField() && meaning(f) == meaning(t.Field(i+1)) {
			continue
		}
		if strings.HasPrefix(meaning(f), "As in the ") {
			fmt.Fprintf(out, "- %s: %s\n", strings.Join(names, ", "), meaning(f))
		} else {
			fmt.Fprintf(out, "- %s (%s): %s\n", strings.Join(names, ", "), word, meaning(f))
		}
		names = nil
	}
	for _, s := range inner {
		reference(out, s.path, s.t, shown)
	}
}

// metricReference lists the figures of a result. Those that differ only in the first word of their
// names, such as the percentiles of a latency, are in one line.
func metricReference(out *strings.Builder) {
	fmt.Fprintf(out, "\n### figures of a result\n\n")
	better := map[Direction]string{Lower: "lower", Higher: "higher"}
	var names []string
	list := Metrics()
	for i, m := range list {
		key := strings.Join(m.keys(), ".")
		names = append(names, "`"+key+"`")
		if i+1 < len(list) {
			next := strings.Join(list[i+1].keys(), ".")
			if statistic(key) && statistic(next) && after(key) == after(next) {
				continue
			}
		}
		var notes []string
		of := string(m.Population)
		if of != "" {
			of = "of " + of
		}
		for _, note := range []string{string(m.Unit), better[m.Better], of,
			map[bool]string{true: "by class"}[m.ByClass()]} {
			if note != "" {
				notes = append(notes, note)
			}
		}
		text := strings.Join(names, ", ")
		if len(notes) > 0 {
			text += " (" + strings.Join(notes, ", ") + ")"
		}
		title := m.Title
		if len(names) > 1 {
			_, title, _ = strings.Cut(title, " of ")
		}
		if m.Means != "" {
			title += ": " + m.Means
		}
		fmt.Fprintf(out, "- %s: %s\n", text, title)
		names = nil
	}
}

// statistic reports whether a figure is one of several statistics of the same quantity.
func statistic(key string) bool {
	first, _, _ := strings.Cut(key, "_")
	return slices.Contains([]string{"mean", "median", "std", "p90", "p95", "p99"}, first)
}

// after returns what follows the first word of a name.
func after(key string) string {
	_, rest, _ := strings.Cut(key, "_")
	return rest
}

// isMoney reports whether a type is an amount of money, which is written as a text.
func isMoney(t reflect.Type) bool { return t.ConvertibleTo(reflect.TypeFor[Money]()) }

// itemType looks through pointers and lists.
func itemType(t reflect.Type) reflect.Type {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
		t = t.Elem()
	}
	return t
}

// valueWords says in a few words what a key takes.
func valueWords(f reflect.StructField) string {
	if enum := f.Tag.Get("enum"); enum != "" {
		return "`" + strings.ReplaceAll(enum, ",", "`, `") + "`"
	}
	t := f.Type
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	word := map[reflect.Kind]string{
		reflect.Slice: "list, ", reflect.String: "text", reflect.Bool: "boolean",
		reflect.Int: "integer", reflect.Int64: "integer", reflect.Uint64: "integer",
		reflect.Float64: "number",
	}[t.Kind()]
	if t.Kind() == reflect.Slice {
		switch t.Elem().Kind() {
		case reflect.Float64:
			word = "list of numbers"
		case reflect.String:
			word = "list of texts"
		}
	}
	switch t {
	case reflect.TypeFor[Span]():
		word = "duration"
	case reflect.TypeFor[PerSecond]():
		word = "rate"
	case reflect.TypeFor[Bytes]():
		word = "size"
	case reflect.TypeFor[Price](), reflect.TypeFor[TokenPrice]():
		word = "price"
	}
	return word + boundWords(f, word)
}

// boundWords writes the bounds of a key: " ≥ 1", " ≤ 1", or ", 1–64". It leaves out those that the
// page states for all keys: what is not a price is above 0, and an integer at least 1.
func boundWords(f reflect.StructField, word string) string {
	low, high := f.Tag.Get("min"), f.Tag.Get("max")
	if low != "" && high != "" {
		return ", " + low + "–" + high
	}
	usual := map[string]string{"integer": "≥ 1", "number": "> 0", "duration": "> 0", "rate": "> 0"}
	var bounds []string
	stated := false
	for _, limit := range []struct{ tag, sign string }{{"min", "≥"}, {"above", ">"}, {"max", "≤"},
		{"below", "<"}} {
		if bound := f.Tag.Get(limit.tag); bound != "" && usual[word] == limit.sign+" "+bound {
			stated = true
		} else if bound != "" {
			bounds = append(bounds, limit.sign+" "+bound)
		}
	}
	switch {
	case len(bounds) > 0:
		return " " + strings.Join(bounds, ", ")
	case usual[word] != "" && !stated:
		return ", any"
	}
	return ""
}

// meaning is the description of a key and the kinds to which it applies.
func meaning(f reflect.StructField) string {
	text := f.Tag.Get("jsonschema")
	words := func(tag string) string { return strings.ReplaceAll(f.Tag.Get(tag), ",", ", ") }
	switch need, only := words("need"), words("only"); {
	case need != "" && only != "":
		text += " For " + need + " (required), " + only + " only."
	case need != "":
		text += " For " + need + " only, required."
	case only != "":
		text += " For " + only + " only."
	}
	if other, alternative := strings.CutPrefix(f.Tag.Get("required"), "unless "); alternative {
		text += " Required, unless all pools of " + other + " have their own."
	}
	return text
}
