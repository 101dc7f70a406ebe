package scenarios

import (
	"fmt"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/llmsim/llmsim/internal/must"
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
		page := must.Read(t, path)
		introduction, _, found := strings.Cut(string(page), referenceStart)
		if !found {
			t.Fatalf("%s has lost the line %q", path, referenceStart)
		}
		current(t, path, []byte(introduction+referenceStart+tables))
	}
}

// reference writes a table of the keys of a struct, then those of the structs within. Shown has the
// structs that are written already, and where.
func reference(out *strings.Builder, path string, t reflect.Type, shown map[reflect.Type]string) {
	fmt.Fprintf(out, "\n### %s\n\n| key | value | meaning |\n|---|---|---|\n", path)
	type section struct {
		path string
		t    reflect.Type
	}
	var inner []section
	for i := range t.NumField() {
		f := t.Field(i)
		if f.Tag.Get("rest") == "true" {
			fmt.Fprintf(out, "| … | | The parameters of the policy: `llmsim list policies`. |\n")
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
		fmt.Fprintf(out, "| `%s` | %s | %s |\n", name, word, meaning(f))
	}
	for _, s := range inner {
		reference(out, s.path, s.t, shown)
	}
}

// metricReference writes a table of the figures of a result.
func metricReference(out *strings.Builder) {
	fmt.Fprintf(out, "\n### figures of a result\n\n| key | unit | better | by class | meaning "+
		"|\n|---|---|---|---|---|\n")
	for _, m := range Metrics() {
		better := map[Direction]string{Lower: "lower", Higher: "higher"}[m.Better]
		byClass := ""
		if m.ByClass() {
			byClass = "yes"
		}
		fmt.Fprintf(out, "| `%s` | %s | %s | %s | %s |\n", strings.Join(m.keys(), "."), m.Unit,
			better, byClass, m.Title)
	}
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
		reflect.Slice: "list, ", reflect.String: "text", reflect.Bool: "`true`, `false`",
		reflect.Int: "whole number", reflect.Int64: "whole number", reflect.Uint64: "whole number",
		reflect.Float64: "number",
	}[t.Kind()]
	if t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Float64 {
		word = "list of numbers"
	}
	switch t {
	case reflect.TypeFor[Span]():
		word = "duration"
	case reflect.TypeFor[PerSecond]():
		word = "rate"
	case reflect.TypeFor[Price](), reflect.TypeFor[TokenPrice]():
		word = "price"
	}
	for _, limit := range []struct{ tag, words string }{{"min", "from"}, {"above", "above"},
		{"max", "to"}, {"below", "below"}} {
		if bound := f.Tag.Get(limit.tag); bound != "" {
			word += " " + limit.words + " " + bound
		}
	}
	return word
}

// meaning is the description of a key and the kinds to which it applies.
func meaning(f reflect.StructField) string {
	text := f.Tag.Get("jsonschema")
	words := func(tag string) string { return strings.ReplaceAll(f.Tag.Get(tag), ",", ", ") }
	switch need, only := words("need"), words("only"); {
	case need != "" && only != "":
		text += " Needed for " + need + "; allowed for " + only + "."
	case need != "":
		text += " Needed for " + need + ", and only there."
	case only != "":
		text += " For " + only + " only."
	}
	switch other, alternative := strings.CutPrefix(f.Tag.Get("required"), "unless "); {
	case alternative:
		text += " Required, unless every one of the pools of " + other + " has its own."
	case f.Tag.Get("required") == "true":
		text += " Required."
	}
	return text
}
