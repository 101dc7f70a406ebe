package scenarios_test

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/llmsim/llmsim/internal/report/diagnosis"
	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/models/steptime"
	"github.com/llmsim/llmsim/policies"
	"github.com/llmsim/llmsim/scenarios"
)

// resultSchema makes the schema of results from their structs, and from the list of metrics.
func resultSchema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	schema, err := jsonschema.For[diagnosis.Document](&jsonschema.ForOptions{
		TypeSchemas: map[reflect.Type]*jsonschema.Schema{
			reflect.TypeFor[scenarios.Span](): {
				Type: "string", Description: "a time with its unit, such as 50ms"},
			reflect.TypeFor[steptime.Bound]():   {Type: "string"},
			reflect.TypeFor[scenarios.Limits](): {Types: []string{"string", "object"}},
		}})
	testkit.OK(t, err)
	schema.Schema = "https://json-schema.org/draft/2020-12/schema"
	schema.Title = "result of an llmsim scenario, format 1"
	optional := reflect.TypeFor[scenarios.SpeculationResult]()
	for i := range optional.NumField() {
		key, _, _ := strings.Cut(optional.Field(i).Tag.Get("json"), ",")
		schema.Required = slices.DeleteFunc(schema.Required, func(name string) bool {
			return name == key
		})
	}
	for _, m := range scenarios.Metrics() {
		outer, inner, nested := strings.Cut(cmp.Or(m.Path, m.Name), ".")
		p := schema.Properties[outer]
		if nested {
			p = p.Properties[inner]
		}
		p.Description = m.Title
		if m.Unit != scenarios.Count {
			p.Description += fmt.Sprintf(" (%s)", m.Unit)
		}
		if m.Means != "" {
			p.Description += ": " + m.Means
		}
		p.Description += "; of " + cmp.Or(string(m.Population), "the run")
		if m.Better != scenarios.Neither {
			p.Description += map[scenarios.Direction]string{scenarios.Lower: "; lower is better",
				scenarios.Higher: "; higher is better"}[m.Better]
		}
	}
	for _, group := range []*jsonschema.Schema{schema.Properties["classes"].AdditionalProperties,
		schema.Properties["tenants"].AdditionalProperties, schema.Properties["pools"].Items} {
		for key, p := range group.Properties {
			if p.Description == "" && schema.Properties[key] != nil {
				p.Description = schema.Properties[key].Description
			}
		}
	}
	return schema
}

// Each number of a result names in the schema of what it is, however deep in it: of which requests,
// of sessions, of the steps that ran, or of the run.
func TestFiguresNameTheirPopulation(t *testing.T) {
	populations := []string{"; of arrived requests", "; of admitted requests",
		"; of begun requests", "; of completed requests", "; of begun sessions",
		"; of completed sessions", "; of steps", "; of the run"}
	named := func(words string) bool {
		return slices.ContainsFunc(populations, func(of string) bool {
			return strings.Contains(words, of)
		})
	}
	numbers := 0
	var walk func(path, words string, s *jsonschema.Schema)
	walk = func(path, words string, s *jsonschema.Schema) {
		if s == nil {
			return
		}
		words += s.Description
		if types := append(s.Types, s.Type); slices.Contains(types, "number") ||
			slices.Contains(types, "integer") {
			if numbers++; !named(words) {
				t.Errorf("%s: %q names no population", path, words)
			}
		}
		for key, p := range s.Properties {
			walk(path+"."+key, words, p)
		}
		walk(path+"[]", words, s.Items)
		walk(path+".*", words, s.AdditionalProperties)
	}
	for key, p := range resultSchema(t).Properties {
		// what was asked, and how sure the figures are
		if !slices.Contains([]string{"seed", "slo", "class_slo", "scenario", "evidence",
			"intervals"}, key) {
			walk(key, "", p)
		}
	}
	if numbers < 150 {
		t.Errorf("%d numbers in the schema of results", numbers)
	}
}

func TestResultSchemaIsCurrent(t *testing.T) {
	text, err := json.MarshalIndent(resultSchema(t), "", "  ")
	testkit.OK(t, err)
	scenarios.Current(t, "result.schema.json", append(text, '\n'))
}

// What a run prints as JSON is what the schema allows: with classes, tenants, pools and drafts, and
// without.
func TestResultsKeepTheirSchema(t *testing.T) {
	schema, err := resultSchema(t).Resolve(nil)
	testkit.OK(t, err)
	for _, name := range []string{"chat", "tenants", "disaggregated", "speculation-on"} {
		file, err := scenarios.Load(name, "workload.requests=40")
		testkit.OK(t, err)
		result, err := file.Run(context.Background(), policies.Default())
		testkit.OK(t, err)
		text, err := json.Marshal(diagnosis.NewDocument(result))
		testkit.OK(t, err)
		var plain any
		testkit.OK(t, json.Unmarshal(text, &plain))
		if err := schema.Validate(plain); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
