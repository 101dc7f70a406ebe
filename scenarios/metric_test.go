package scenarios

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/llmsim/llmsim/metrics"
	"github.com/llmsim/llmsim/models/steptime"
	"github.com/llmsim/llmsim/policies"
)

// full is a result that has every part.
func full() *Result {
	return &Result{SpeculationResult: &SpeculationResult{Speedup: &Speedup{}}}
}

// The list of metrics and the numbers in the JSON of a result are the same: a number that is not in the list is shown nowhere.
func TestMetricsAreTheNumbersOfAResult(t *testing.T) {
	text, err := json.Marshal(full())
	if err != nil {
		t.Fatal(err)
	}
	var keys map[string]any
	if err := json.Unmarshal(text, &keys); err != nil {
		t.Fatal(err)
	}
	delete(keys, "seed") // it says what was run, not what came out
	seen := map[string]bool{}
	for _, m := range Metrics() {
		if seen[m.Name] || m.Title == "" {
			t.Errorf("metric %q is listed twice or has no title", m.Name)
		}
		seen[m.Name] = true
		if _, found := numberAt(reflect.ValueOf(full()), m.keys()); !found {
			t.Errorf("a result has no number %q", strings.Join(m.keys(), "."))
		}
	}
	for key, value := range keys {
		if _, number := value.(float64); number && !seen[key] {
			t.Errorf("the number %q of a result is not in the list of metrics", key)
		}
	}
}

// A metric has the value that the JSON of the result has, for all and for each class.
func TestMetricValues(t *testing.T) {
	r := full()
	r.MeanTTFT, r.Completed, r.Speedup.TPOT, r.Attainment.All = 12.5, 7, 2.5, 0.75
	c := metrics.ClassSummary{Latencies: metrics.Latencies{MeanTTFT: 3}, Attainment: metrics.Attainment{All: 0.5}}
	for _, want := range []struct {
		name         string
		all, byClass float64
		kept         bool
	}{
		{"mean_ttft_ms", 12.5, 3, true}, {"completed", 7, 0, true}, {"speculation_speedup", 2.5, 1, false},
		{"slo_attainment", 0.75, 0.5, true}, {"mean_itl_ms", 0, 0, false},
	} {
		m := MetricNamed(want.name)
		if all, byClass := m.Of(r), m.OfClass(&c); all != want.all || byClass != want.byClass || m.ByClass() != want.kept {
			t.Errorf("%s is %g, of a class %g (%v), want %+v", m.Name, all, byClass, m.ByClass(), want)
		}
	}
	if got := MetricNamed("tokens_per_step").Of(&Result{}); got != 1 {
		t.Errorf("without drafts a step gives %g tokens, want 1", got)
	}
}

// resultSchema makes the schema of results from their structs, and from the list of metrics.
func resultSchema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	schema, err := jsonschema.For[Result](&jsonschema.ForOptions{TypeSchemas: map[reflect.Type]*jsonschema.Schema{
		reflect.TypeFor[Span]():           {Type: "string", Description: "a time with its unit, such as 50ms"},
		reflect.TypeFor[steptime.Bound](): {Type: "string"},
		reflect.TypeFor[Limits]():         {Types: []string{"string", "object"}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	schema.Schema = "https://json-schema.org/draft/2020-12/schema"
	schema.Title = "result of an llmsim scenario"
	optional := reflect.TypeFor[SpeculationResult]()
	for i := range optional.NumField() {
		key, _, _ := strings.Cut(optional.Field(i).Tag.Get("json"), ",")
		schema.Required = slices.DeleteFunc(schema.Required, func(name string) bool { return name == key })
	}
	for _, m := range Metrics() {
		p := schema.Properties[m.Name]
		if len(m.keys()) > 1 {
			p = p.Properties[m.keys()[1]]
		}
		p.Description = m.Title
		if m.Unit != Count {
			p.Description += fmt.Sprintf(" (%s)", m.Unit)
		}
		if m.Better != Neither {
			p.Description += map[Direction]string{Lower: "; lower is better", Higher: "; higher is better"}[m.Better]
		}
	}
	return schema
}

func TestResultSchemaIsCurrent(t *testing.T) {
	text, err := json.MarshalIndent(resultSchema(t), "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	current(t, "result.schema.json", append(text, '\n'))
}

// What a run prints as JSON is what the schema allows: with classes, tenants, pools and drafts, and without.
func TestResultsKeepTheirSchema(t *testing.T) {
	schema, err := resultSchema(t).Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"chat", "tenants", "disaggregated", "speculation-on"} {
		file, err := Load(name, "workload.requests=40")
		if err != nil {
			t.Fatal(err)
		}
		s, err := file.Build(policies.Default())
		if err != nil {
			t.Fatal(err)
		}
		result, err := s.Run(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		text, err := json.Marshal(result)
		if err != nil {
			t.Fatal(err)
		}
		var plain any
		if err := json.Unmarshal(text, &plain); err != nil {
			t.Fatal(err)
		}
		if err := schema.Validate(plain); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
