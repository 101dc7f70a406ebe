package scenarios

import (
	"bytes"
	"encoding/json"
	"flag"
	"maps"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/workload/trace"
)

var update = flag.Bool("update", false,
	"write schema.json and result.schema.json from the structs")

// current compares a generated file with the committed one, or writes it.
func current(t *testing.T, name string, want []byte) {
	t.Helper()
	if *update {
		testkit.OK(t, os.WriteFile(name, want, 0o666))
		return
	}
	got, err := os.ReadFile(name)
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("%s does not match the structs (%v); run: go test ./scenarios -run Current "+
			"-update", name, err)
	}
}

func TestSchemaIsCurrent(t *testing.T) {
	schema := scenarioSchema(t)
	schema.Schema = "https://json-schema.org/draft/2020-12/schema"
	schema.Title = "llmsim scenario, format 1"
	text, err := json.MarshalIndent(schema, "", "  ")
	testkit.OK(t, err)
	current(t, "schema.json", append(text, '\n'))
}

// scenarioSchema makes the schema of a scenario file from the structs and their tags.
func scenarioSchema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	const money = `^(([$€£¥₹₩]|[A-Z]{3} ?)[0-9.]+|[0-9.]+ ?([$€£¥₹₩]|[A-Z]{3}))`
	quantity := func(pattern string, examples ...any) *jsonschema.Schema {
		return &jsonschema.Schema{Type: "string", Pattern: pattern, Examples: examples}
	}
	schema, err := jsonschema.For[Scenario](&jsonschema.ForOptions{
		TypeSchemas: map[reflect.Type]*jsonschema.Schema{
			reflect.TypeFor[Span](): quantity(`^[0-9.]+ ?(ps|ns|us|µs|ms|s|m|min|h|d)$`, "50ms",
				"10m"),
			reflect.TypeFor[PerSecond]():  quantity(`^[0-9.]+ ?/(s|min|h|d)$`, "2/s", "90/min"),
			reflect.TypeFor[Bytes]():      quantity(`^[0-9.]+ ?([kKMGT]i?)?B$`, "16GiB"),
			reflect.TypeFor[TokenPrice](): quantity(money+`/M$`, "$0.15/M", "€0.15/M"),
			reflect.TypeFor[Price]():      quantity(money+`/h$`, "$1.79/h", "1.79 EUR/h"),
		}})
	testkit.OK(t, err)
	return decorate(schema, reflect.TypeFor[Scenario]())
}

// decorate adds to a struct's schema what only the tags of this project say.
func decorate(s *jsonschema.Schema, t reflect.Type) *jsonschema.Schema {
	s.Required = nil
	var short *jsonschema.Schema
	for _, f := range keyFields(t) {
		if f.Tag.Get("rest") == "true" {
			s.AdditionalProperties = &jsonschema.Schema{
				Types: []string{"string", "number", "boolean"}}
			continue
		}
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		p := s.Properties[name]
		p.Description = f.Tag.Get("jsonschema")
		p = without(decorateField(p, f), f)
		p.Description = f.Tag.Get("jsonschema")
		s.Properties[name] = p
		switch other, alternative := strings.CutPrefix(f.Tag.Get("required"), "unless "); {
		case alternative:
			either := []*jsonschema.Schema{{Required: []string{name}}, {Required: []string{other}}}
			s.AllOf = append(s.AllOf, &jsonschema.Schema{AnyOf: either})
		case f.Tag.Get("required") == "true":
			s.Required = append(s.Required, name)
		}
		if f.Tag.Get("short") == "true" {
			// what is short for a mapping is short all the way down
			if short = p.CloneSchemas(); len(short.AnyOf) > 0 {
				short = short.AnyOf[0]
			}
			short.Description = ""
		}
	}
	if short == nil {
		return s
	}
	return &jsonschema.Schema{AnyOf: []*jsonschema.Schema{short, s}}
}

// without takes out of a field's schema the keys and the words that have no meaning there, with
// what is short for one of them.
func without(s *jsonschema.Schema, f reflect.StructField) *jsonschema.Schema {
	for _, name := range strings.Fields(strings.ReplaceAll(f.Tag.Get("except"), ",", " ")) {
		for _, either := range append(s.AnyOf, s) {
			delete(either.Properties, name)
			for _, p := range append(slices.Collect(maps.Values(either.Properties)), either) {
				p.Enum = slices.DeleteFunc(slices.Clone(p.Enum),
					func(word any) bool { return word == name })
			}
		}
		for _, key := range keyFields(itemType(f.Type)) {
			if key.Tag.Get("short") == "true" && strings.HasPrefix(key.Tag.Get("json"), name+",") {
				s = s.AnyOf[1]
			}
		}
	}
	return s
}

func decorateField(p *jsonschema.Schema, f reflect.StructField) *jsonschema.Schema {
	t := f.Type
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	// a pointer or a slice: an empty value is an error
	if len(p.Types) == 2 && p.Types[0] == "null" {
		p.Type, p.Types = p.Types[1], nil
	}
	for _, word := range strings.Split(f.Tag.Get("enum"), ",") {
		if word != "" {
			p.Enum = append(p.Enum, word)
		}
	}
	switch {
	case f.Tag.Get("spread") != "": // a name, or a mapping of it and of the keys of another field
		named := &jsonschema.Schema{Type: "object", Required: []string{"name"},
			Properties: map[string]*jsonschema.Schema{"name": {Type: "string"}}}
		return &jsonschema.Schema{AnyOf: []*jsonschema.Schema{{Type: "string"}, named}}
	case t.Kind() == reflect.Struct && !isMoney(t):
		return decorate(p, t)
	case t.Kind() == reflect.Slice:
		if t.Elem().Kind() == reflect.Struct {
			p.Items = decorate(p.Items, t.Elem())
		} else {
			p.Items.Minimum, p.Items.Maximum = number(f, "min"), number(f, "max")
		}
		one := 1
		p.MinItems = &one
	case p.Type == "integer" || p.Type == "number":
		p.Minimum, p.ExclusiveMinimum = number(f, "min"), number(f, "above")
		p.Maximum, p.ExclusiveMaximum = number(f, "max"), number(f, "below")
	}
	return p
}

func number(f reflect.StructField, tag string) *float64 {
	x, err := strconv.ParseFloat(f.Tag.Get(tag), 64)
	if err != nil {
		return nil
	}
	return &x
}

// Every trace format can be named in a scenario, and no other.
func TestTraceFormatsAreAllowed(t *testing.T) {
	field, _ := reflect.TypeFor[Trace]().FieldByName("Format")
	allowed := strings.Split(field.Tag.Get("enum"), ",")
	slices.Sort(allowed)
	if known := slices.Sorted(slices.Values(trace.Formats())); !slices.Equal(allowed, known) {
		t.Errorf("a scenario may name %q, and %q can be read", allowed, known)
	}
}

// Names that nobody knows fail where they are given, with the nearest one that is known.
func TestDescribeRefusesUnknownNames(t *testing.T) {
	for _, c := range []struct{ model, accelerator, override, want string }{
		{"llama-3.1-9b", "h100-sxm", "seed=1", "did you mean llama-3.1-8b"},
		{"llama-3.1-8b", "h100-smx", "seed=1", "did you mean h100-sxm"},
		{"llama-3.1-8b", "h100-sxm", "engine=vlm-v1", "did you mean vllm-v1"},
	} {
		f, err := Describe(c.model, c.accelerator, c.override)
		if f != nil || !IsInputError(err) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s on %s with %s: %v, %v", c.model, c.accelerator, c.override, f, err)
		}
	}
}
