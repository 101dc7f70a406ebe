package scenarios

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/llmsim/llmsim/internal/strict"
	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/policies"
)

// Any number of processors gives the same result, to the last bit: for every key of a workload and
// of a class, for every policy of the registry, and for drafts. With -short, one scenario that runs
// shows each of these, on one number of processors. internal/audit has drawn scenarios.
func TestProcessorsChangeNoResult(t *testing.T) {
	registry := policies.Default()
	uneven := []string{"workload.prompt={distribution: uniform, min: 1, max: 800}",
		"workload.output={distribution: uniform, min: 1, max: 90}"}
	fleets := slices.Concat(workloadExamples(t), policyExamples(registry))
	for _, overrides := range [][]string{
		{"replicas=9", "workload.rate=300/s", "workload.requests=2000"},
		{"replicas=5", "workload.arrivals=at-once", "workload.requests=5000", "routing=random"},
		{"replicas=3", "workload.rate=90/s", "workload.requests=1000", "engine.max-model-len=700",
			"memory.utilization=0.3"},
	} {
		fleets = append(fleets, example{"fleet", append(overrides, uneven...)})
	}
	for _, method := range []string{"{method: mtp, tokens: 1, acceptance: {rate: 0.85}}",
		"{method: n-gram, tokens: 4, acceptance: {rate: 0.5}}",
		"{method: medusa, tokens: 2, acceptance: {rate: 0.6}}"} {
		fleets = append(fleets, example{"drafts by " + method, append([]string{"replicas=6",
			"workload.rate=100/s", "workload.requests=600", "speculation=" + method}, uneven...)})
	}
	counts := []int{2, 5}
	if testing.Short() {
		fleets, counts = testkit.DrawCases(t, len(fleets), fleets), testkit.DrawCases(t, 1, counts)
	}
	refused := map[string]string{}
	for _, e := range fleets {
		known, seen := refused[e.name]
		if testing.Short() && seen && known == "" {
			continue
		}
		one, err := runOn(registry, 1, e.overrides)
		if !seen || known != "" {
			refused[e.name] = ""
			if err != nil {
				refused[e.name] = err.Error()
			}
		}
		for _, processors := range counts {
			several, err2 := runOn(registry, processors, e.overrides)
			if d := cmp.Diff(one, several); d != "" || (err == nil) != (err2 == nil) {
				t.Fatalf("%q: 1 processor (-; %v), %d (+; %v):\n%s", e.overrides, err, processors,
					err2, d)
			}
		}
	}
	for name, why := range refused {
		switch name {
		case "workload.images ", "workload.audio ", "class.arrivals process: closed-loop",
			"class.arrivals process: at-once": // the model sees no images; wholes only
			continue
		}
		if why != "" {
			t.Errorf("no scenario with %s ran: %s", name, why)
		}
	}
}

// example is a scenario that shows what its name says.
type example struct {
	name      string
	overrides []string
}

// runOn returns the result of a scenario as JSON.
func runOn(registry *policies.Registry, processors int, overrides []string) (string, error) {
	f, err := Parse("test.yaml", []byte("{model: llama-3.1-8b, hardware: h100-sxm, "+
		"workload: {requests: 60}}"), overrides...)
	if err != nil {
		return "", err
	}
	f.Processors = processors
	r, err := f.Run(context.Background(), registry)
	if err != nil {
		return "", err
	}
	text, err := json.Marshal(r)
	return string(text), err
}

// policyExamples returns a scenario for each policy of a registry.
func policyExamples(registry *policies.Registry) []example {
	var list []example
	add := func(name string, overrides ...string) {
		list = append(list, example{name, append(overrides, "workload.rate=60/s")})
	}
	const load = "workload.prefix={groups: 3, tokens: 50}"
	for i := range registry.Routing.Policies {
		name := registry.Routing.Policies[i].Name
		pools := "replicas=4"
		if name == "splitwise" {
			pools = "fleet.pools=[{role: prefill, replicas: 1}, {role: decode, replicas: 2}, " +
				"{role: mixed, replicas: 1}]"
		}
		for _, with := range []string{load, "adapters={count: 5}", "workload.sessions=3",
			"workload.patience=1s"} {
			add("routing "+name, "routing="+name, pools, with, "memory=prefix-cache")
		}
	}
	for i := range registry.Batching.Policies {
		name := registry.Batching.Policies[i].Name
		add("batching "+name, "batching="+name, "replicas=4", load, "routing=round-robin")
	}
	for i := range registry.Memory.Policies {
		name := registry.Memory.Policies[i].Name
		memory := name
		if name == "sliding-window" {
			memory = "{policy: sliding-window, window: 200}"
		}
		add("memory "+name, "memory="+memory, "replicas=4", load, "routing=round-robin")
	}
	for i := range registry.Drafting.Policies {
		name := registry.Drafting.Policies[i].Name
		add("drafting "+name, "replicas=4", load, "routing=round-robin",
			"speculation={method: n-gram, tokens: 3, acceptance: 0.6, length: "+name+"}")
	}
	for i := range registry.Admission.Policies {
		p := &registry.Admission.Policies[i]
		add("admission "+p.Name, "replicas=4", load, "routing=round-robin",
			"fleet.admission="+withRequired(p.Name, p.Params()), "slo={ttft: 200ms}")
	}
	return list
}

// withRequired writes a policy with the parameters that have no default.
func withRequired(name string, params []strict.Setting) string {
	text := "{policy: " + name
	for i := range params {
		if params[i].Default == "" {
			text += ", " + params[i].Name + ": 20"
		}
	}
	return text + "}"
}

// workloadExamples returns scenarios for each key of a workload, and for each key of a class, with
// values that follow from the tags.
func workloadExamples(t *testing.T) []example {
	d := drawer{lengths: filepath.Join(t.TempDir(), "lengths.txt")}
	testkit.OK(t, os.WriteFile(d.lengths, []byte("3\n40\n"), 0o666))
	traces, err := filepath.Glob("../workload/trace/testdata/*")
	testkit.OK(t, err)
	d.traces = slices.DeleteFunc(traces, func(name string) bool {
		return strings.HasSuffix(name, ".gz") || filepath.Ext(name) == ""
	})
	var list []example
	fields := func(of reflect.Type, add func(key, kind, value string)) {
		for _, f := range keyFields(of) {
			key, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			for _, v := range d.values(f) {
				kind, _, _ := strings.Cut(strings.Trim(v, "{}"), ",")
				if d.kind(f.Type) == "" {
					kind = ""
				}
				add(key, kind, v)
			}
		}
	}
	for _, pace := range [][]string{nil, {"workload.rate=50/s"},
		{"workload.arrivals={process: gamma, cv: 2}"}} {
		add := func(name string, overrides ...string) {
			list = append(list, example{name, slices.Concat(pace,
				[]string{"replicas=4", "routing=round-robin"}, overrides)})
		}
		fields(reflect.TypeFor[Workload](), func(key, kind, value string) {
			more := []string{}
			switch key {
			case "beam-step":
				more = append(more, "workload.samples=3")
			case "think":
				more = append(more, "workload.users=6")
			}
			add("workload."+key+" "+kind, append(more, "workload."+key+"="+value)...)
		})
		fields(reflect.TypeFor[Class](), func(key, kind, value string) {
			with := "name: b, " + key + ": " + value
			switch key {
			case "name", "region", "model": // names of other parts
				return
			case "arrivals":
				with += ", rate: 20/s"
			case "beam-step":
				with += ", samples: 3"
			}
			first := "{name: a}, "
			if key == "trace" { // all classes have one
				first = ""
			}
			add("class."+key+" "+kind, "workload.classes=["+first+"{"+with+"}]")
		})
	}
	return list
}

// drawer makes values of the fields of a scenario from their tags.
type drawer struct {
	lengths string   // a file
	traces  []string // files
}

// kind returns the key of a struct that says which of the others apply, if there is one.
func (d *drawer) kind(t reflect.Type) string {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	for i := 0; t.Kind() == reflect.Struct && i < t.NumField(); i++ {
		if t.Field(i).Tag.Get("kind") == "true" {
			key, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
			return key
		}
	}
	return ""
}

// values returns values of a field in the syntax of YAML: each of an enum, and for a struct the
// smallest, and that with each further key, for each kind. It returns none for a text that may be
// anything.
func (d *drawer) values(f reflect.StructField) []string {
	if enum := f.Tag.Get("enum"); enum != "" {
		return strings.Split(enum, ",")
	}
	t := f.Type
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch t {
	case reflect.TypeFor[Span]():
		return []string{"300ms"}
	case reflect.TypeFor[PerSecond]():
		return []string{"20/s"}
	case reflect.TypeFor[Trace]():
		return d.traces
	}
	switch t.Kind() {
	case reflect.Bool:
		return []string{"true"}
	case reflect.Int, reflect.Int64, reflect.Float64:
		least, _ := strconv.ParseFloat(f.Tag.Get("min"), 64)
		most, err := strconv.ParseFloat(f.Tag.Get("max"), 64)
		if err == nil && most < 2 {
			return []string{fmt.Sprint((least + most) / 2)}
		}
		return []string{fmt.Sprint(max(least, 2))}
	case reflect.String:
		switch key, _, _ := strings.Cut(f.Tag.Get("json"), ","); key {
		case "name", "from", "tenant":
			return []string{"a"}
		case "file":
			return []string{d.lengths}
		case "size":
			return []string{"64x64"}
		}
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Struct {
			var list []string
			for _, v := range d.structs(t.Elem()) {
				list = append(list, "["+v+"]")
			}
			return list
		}
	case reflect.Struct:
		return d.structs(t)
	}
	return nil
}

// structs returns values of a struct.
func (d *drawer) structs(t reflect.Type) []string {
	kind := d.kind(t)
	kinds := []string{""}
	for i := range t.NumField() {
		if t.Field(i).Tag.Get("kind") == "true" {
			kinds = d.values(t.Field(i))
		}
	}
	var list []string
	for _, of := range kinds {
		var least, more []string
		if kind != "" {
			least = []string{kind + ": " + of}
		}
		for i := range t.NumField() {
			f := t.Field(i)
			key, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			applies := func(tag string) bool {
				return slices.Contains(strings.Split(f.Tag.Get(tag), ","), of)
			}
			values := d.values(f)
			switch {
			case key == kind || len(values) == 0:
			case f.Tag.Get("required") == "true", of != "" && applies("need"):
				least = append(least, key+": "+values[0])
			case f.Tag.Get("need") == "" && f.Tag.Get("only") == "", of != "" && applies("only"):
				for _, v := range values {
					more = append(more, key+": "+v)
				}
			}
		}
		list = append(list, "{"+strings.Join(least, ", ")+"}")
		for _, m := range more {
			list = append(list, "{"+strings.Join(append(slices.Clone(least), m), ", ")+"}")
		}
	}
	return list
}
