package audit

import (
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/llmsim/llmsim/hardware"
	"github.com/llmsim/llmsim/internal/content"
	"github.com/llmsim/llmsim/internal/strict"
	"github.com/llmsim/llmsim/models"
	"github.com/llmsim/llmsim/models/steptime"
	"github.com/llmsim/llmsim/policies"
	"github.com/llmsim/llmsim/scenarios"
)

// drawer draws a scenario from the Go types of which the schema is made: their fields, their tags
// and the entries of the registries. The same seed gives the same scenario. Each draw follows from
// the seed and the key alone, so that a new key or entry leaves most draws of a seed as they were.
type drawer struct {
	seed     uint64
	registry *policies.Registry
}

// object is a mapping of a scenario.
type object = map[string]any

// drawScenario returns the scenario of a seed.
func drawScenario(registry *policies.Registry, seed uint64) object {
	d := &drawer{seed, registry}
	s, _ := d.structure(reflect.TypeFor[scenarios.Scenario](), "", "").(object)
	w, _ := s["workload"].(object)
	if w == nil {
		w = object{}
		s["workload"] = w
	}
	if w["requests"] == nil {
		w["requests"] = d.integer("workload.requests", 1, math.Inf(1))
	}
	relate(d, s)
	return s
}

// hash returns the number of a key.
func (d *drawer) hash(key string) uint64 {
	hash := fnv.New64a()
	hash.Write([]byte(key))
	return content.Hash(d.seed ^ content.Hash(hash.Sum64()))
}

// random returns the numbers of a key.
func (d *drawer) random(key string) *rand.Rand {
	return rand.New(rand.NewPCG(d.seed, d.hash(key)))
}

// chance reports true with a probability.
func (d *drawer) chance(key string, p float64) bool {
	return float64(d.hash(key+"?")>>11)/(1<<53) < p
}

// pick returns one of some values: the one with the largest number of its own, so that another
// value changes the choice only where it is chosen itself (Thaler and Ravishankar, IEEE/ACM
// Transactions on Networking 6(1), 1998).
func pick(d *drawer, key string, values []string) string {
	best, most := "", uint64(0)
	for i, value := range values {
		if n := d.hash(key + "=" + value); i == 0 || n > most {
			best, most = value, n
		}
	}
	return best
}

// tagged is a field of a structure with what its tags say.
type tagged struct {
	name                        string
	field                       reflect.StructField
	kind, short, required, rest bool
	need, only                  []string // kinds of the structure that need or allow the key
}

// knownFields has the keys of structures by their types, as thousands of scenarios ask for them.
var knownFields sync.Map

// fieldsOf lists the keys of a structure.
func fieldsOf(t reflect.Type) (list []tagged) {
	if known, ok := knownFields.Load(t); ok {
		return known.([]tagged)
	}
	defer func() { knownFields.Store(t, list) }()
	for _, f := range reflect.VisibleFields(t) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if (name == "" || name == "-") && f.Tag.Get("rest") == "" {
			continue
		}
		is := func(tag string) bool { return f.Tag.Get(tag) == "true" }
		words := func(tag string) []string {
			return strings.FieldsFunc(f.Tag.Get(tag), func(r rune) bool { return r == ',' })
		}
		list = append(list, tagged{name, f, is("kind"), is("short"),
			f.Tag.Get("required") != "", is("rest"), words("need"), words("only")})
	}
	return list
}

// often gives how likely an optional key is drawn, for keys without which little would happen.
var often = map[string]float64{
	"parallelism": 0.35, "replicas": 0.4, "engine": 0.5, "batching": 0.6, "memory": 0.6,
	"routing": 0.35, "speculation": 0.3, "fleet": 0.45, "workload": 0.97, "slo": 0.4,
	"steps": 0.12, "tokens": 0.2, "caches": 0.12, "adapters": 0.1, "shape": 0.06, "name": 0.1,
	"attention": 0.1, "seed": 0.5, "workload.rate": 0.7, "workload.arrivals": 0.6,
	"workload.requests": 1, "workload.prompt": 0.8, "workload.output": 0.8,
	"workload.trace": 0.1, "workload.calls": 0.06, "workload.preset": 0.05,
	"workload.classes": 0.3, "workload.sessions": 0.2, "workload.prefix": 0.2,
	"workload.samples": 0.1, "workload.beam-step": 0.04, "workload.images": 0.05,
	"workload.audio": 0.04, "memory.tokens": 0.4, "speculation.draft": 0.6,
	"speculation.method": 0.8, "accelerator": 0.4, "engine.encoder-cache": 0.15,
	"speculation.weights": 0.3, "caches.share": 0.5, "speculation.ahead": 0.3,
	"workload.classes.sessions.agents": 0.2, "workload.classes.arrivals.shape": 0.8,
	"workload.classes.rate": 0.4, "workload.classes.arrivals": 0.4,
}

// structure draws a mapping, or the value that is short for one. The tag of its key says which keys
// and words have no meaning there.
func (d *drawer) structure(t reflect.Type, tag reflect.StructTag, path string) any {
	fields, kind, optional := fieldsOf(t), "", 0
	except := strings.Split(tag.Get("except"), ",")
	fields = slices.DeleteFunc(slices.Clone(fields),
		func(f tagged) bool { return slices.Contains(except, f.name) })
	for i := range fields {
		f := &fields[i]
		if f.short && d.chance(path+" short", 0.35) &&
			(!f.kind || lastKey(path) == "arrivals" || lastKey(path) == "caches") {
			if names := policyParams(d.registry, lastKey(path)); names != nil {
				return pick(d, path+".policy", sortedKeys(names))
			}
			return d.value(f.field, join(path, f.name), except...)
		}
		if f.kind {
			kind, _ = d.value(f.field, join(path, f.name), except...).(string)
		}
		if !f.required && len(f.need) == 0 {
			optional++
		}
	}
	made := object{}
	share := min(0.5, 2.5/float64(optional))
	for i := range fields {
		f := &fields[i]
		at := join(path, f.name)
		p, known := often[general(at)]
		switch {
		case f.rest:
			d.policy(path, made)
			continue
		case f.kind:
			made[f.name] = kind
			continue
		case f.name == "policy":
			continue // drawn with its parameters
		case f.required || slices.Contains(f.need, kind):
			p = 1
		case kind != "" && len(f.need)+len(f.only) > 0 && !slices.Contains(f.only, kind):
			p = 0
		case !known:
			p = share
		}
		if d.chance(at, p) {
			made[f.name] = d.value(f.field, at)
		}
	}
	return made
}

// policy draws the policy of a key and some of its parameters.
func (d *drawer) policy(path string, made object) {
	params := policyParams(d.registry, lastKey(path))
	name := pick(d, path+".policy", sortedKeys(params))
	made["policy"] = name
	for _, p := range params[name] {
		if at := path + "." + name + "." + p.Name; d.chance(at, 0.4) {
			made[p.Name] = d.param(at, &p)
		}
	}
}

// param draws a value of a parameter: its default, or one small enough to matter in a short run.
func (d *drawer) param(key string, p *strict.Setting) any {
	with := func(others ...string) string { return pick(d, key, append(others, p.Default)) }
	switch {
	case p.Type.Kind() == reflect.Bool:
		return d.chance(key, 0.5)
	case len(p.Words) > 0:
		return pick(d, key, p.Words)
	case p.Type == reflect.TypeFor[policies.Span]():
		return with("50ms", "1s")
	case p.Type == reflect.TypeFor[policies.Bytes]():
		return with("10MB", "2GiB")
	case p.Type == reflect.TypeFor[policies.ByteRate]():
		return with("1GB/s", "100MB/s")
	case p.Type.Kind() == reflect.Float64:
		return plain(with("0.1", "0.8", "2"))
	case p.Type.Kind() == reflect.String:
		return p.Default
	case strings.Contains(p.Name, "budget"):
		return plain(with("300", "2048"))
	case strings.Contains(p.Name, "chunk"):
		return plain(with("64", "300"))
	case strings.Contains(p.Name, "block"):
		return plain(with("1", "7", "16", "64"))
	}
	return plain(with("1", "2", "5", "16"))
}

// plain returns text as a number, if it is one.
func plain(text string) any {
	if x, err := strconv.ParseFloat(text, 64); err == nil {
		return x
	}
	return text
}

// value draws the value of a field. Some words of an enumeration may be excepted.
func (d *drawer) value(f reflect.StructField, path string, except ...string) any {
	if words := f.Tag.Get("enum"); words != "" && f.Type.Kind() == reflect.String {
		return pick(d, path, slices.DeleteFunc(strings.Split(words, ","),
			func(word string) bool { return slices.Contains(except, word) }))
	}
	return d.of(f.Type, f.Tag, path)
}

func (d *drawer) of(t reflect.Type, tag reflect.StructTag, path string) any {
	if known := textOf(general(path)); known != nil {
		return pick(d, path, known)
	}
	low, high := bounds(tag)
	switch t {
	case reflect.TypeFor[scenarios.Span]():
		return d.span(path)
	case reflect.TypeFor[scenarios.PerSecond]():
		return pick(d, path, []string{"1/s", "5/s", "20/s", "100/s", "300/min"})
	case reflect.TypeFor[scenarios.Bytes]():
		return pick(d, path, []string{"50MB", "1GiB", "8GiB"})
	case reflect.TypeFor[scenarios.Price]():
		return pick(d, path, []string{"$1.79/h", "$0.01/h", "$3/h"})
	case reflect.TypeFor[scenarios.TokenPrice]():
		return pick(d, path, []string{"$0.15/M", "$2/M"})
	}
	switch t.Kind() {
	case reflect.Pointer:
		return d.of(t.Elem(), tag, path)
	case reflect.Struct:
		return d.structure(t, tag, path)
	case reflect.Slice:
		return d.list(t, tag, path)
	case reflect.Bool:
		return d.chance(path, 0.5)
	case reflect.Int, reflect.Int64, reflect.Uint64:
		return d.integer(path, low, high)
	case reflect.Float64:
		return d.number(path, low, high)
	case reflect.String:
		return "a"
	}
	panic(fmt.Sprintf("%s has a type that is not drawn yet: %v", path, t))
}

// list draws one to three entries; entries with a name get names of their own.
func (d *drawer) list(t reflect.Type, tag reflect.StructTag, path string) any {
	n := 1 + d.random(path+" entries").IntN(3)
	var list []any
	for i := range n {
		entry := d.of(t.Elem(), tag, fmt.Sprintf("%s[%d]", path, i))
		if named, ok := entry.(object); ok && named["name"] != nil {
			named["name"] = string(rune('a' + i))
		}
		list = append(list, entry)
	}
	return list
}

// bounds returns the least and the largest number of a field.
func bounds(tag reflect.StructTag) (low, high float64) {
	low, high = 0, math.Inf(1)
	for name, to := range map[string]*float64{"min": &low, "above": &low, "max": &high,
		"below": &high} {
		if x, err := strconv.ParseFloat(tag.Get(name), 64); err == nil {
			*to = x
		}
	}
	return low, high
}

// few bounds the whole numbers of keys, so that runs are short; other keys have up to 40.
var few = map[string][2]float64{
	"workload.requests": {4, 60}, "workload.duration": {0, 20}, "replicas": {1, 4},
	"users": {1, 12}, "samples": {1, 4}, "turns": {1, 5}, "count": {1, 3}, "tokens": {1, 300},
	"prompt": {1, 900}, "output": {1, 90}, "result": {1, 300}, "budget": {1, 100},
	"max-model-len": {60, 4000}, "memory.tokens": {200, 9000}, "at": {200, 3000}, "to": {1, 100},
	"seed": {0, 1000}, "priority": {-3, 3}, "tensor": {1, 4}, "pipeline": {1, 3}, "data": {1, 4},
	"expert": {1, 4}, "redundant-experts": {1, 8}, "per-node": {1, 8}, "replica": {0, 2},
	"retries": {0, 3}, "encoders": {1, 3}, "speculation.tokens": {1, 6}, "width": {1, 3},
	"nodes": {1, 9}, "layers": {1, 4}, "vocabulary": {1000, 40000}, "encoder-cache": {100, 9000},
	"requests": {1, 20}, "kv-heads": {1, 8}, "caches.share": {1e-6, 2e-5}, "ports": {1, 8},
	"graph": {1, 512}, "rank": {4, 32}, "slots": {1, 4}, "max-rank": {4, 64}, "distinct": {1, 6},
	"groups": {1, 4}, "beam-step": {1, 30}, "mean": {1, 200}, "cv": {0.1, 2}, "std": {0, 100},
	"exponent": {0, 2}, "zipf": {0, 2}, "scale": {0.2, 5}, "host": {0.5, 2},
	"slowdown": {0.5, 3}, "shape": {0.4, 3},
}

// fewOf returns the bounds of the longest end of a path that has some.
func fewOf(path string) (found [2]float64, known bool) {
	parts := strings.Split(general(path), ".")
	for i := range parts {
		if found, known = few[strings.Join(parts[i:], ".")]; known {
			return found, true
		}
	}
	// the parts of a distribution are as large as what is distributed
	if len(parts) > 1 && slices.Contains([]string{"value", "min", "max", "mean"},
		parts[len(parts)-1]) {
		return fewOf(strings.Join(parts[:len(parts)-1], "."))
	}
	return [2]float64{1, 40}, false
}

// integer draws a whole number: each size is as likely.
func (d *drawer) integer(path string, low, high float64) int64 {
	b, _ := fewOf(path)
	low, high = max(low, b[0]), min(high, max(low, b[1]))
	if strings.HasSuffix(path, ".max") {
		low = (low + high) / 2 // above what min has
	}
	if strings.HasSuffix(path, ".min") && strings.Contains(path, ".") {
		high = max(low, (low+high)/2)
	}
	r := d.random(path)
	if low < 1 {
		return int64(low) + r.Int64N(int64(high-low)+1)
	}
	return int64(math.Round(low * math.Pow(high/low, r.Float64())))
}

// number draws a number with few digits.
func (d *drawer) number(path string, low, high float64) float64 {
	if b, known := fewOf(path); known && b[0] < high {
		low, high = max(low, b[0]), min(high, b[1])
	}
	if high > 1e6 {
		high = 2
	}
	x := low + (high-low)*(0.05+0.9*d.random(path).Float64())
	digits := math.Pow(10, math.Ceil(2-math.Log10(high-low)))
	return math.Round(x*digits) / digits
}

// span draws a time: some milliseconds for what a step has, up to seconds for what users do.
func (d *drawer) span(path string) string {
	switch {
	case strings.HasPrefix(general(path), "engine.") || strings.Contains(path, ".engine."):
		return pick(d, path, []string{"1us", "20us", "1ms", "5ms"})
	case strings.Contains(path, "steps.") || strings.Contains(path, "overhead."):
		if lastKey(path) == "step" {
			return pick(d, path, []string{"5ms", "7ms", "13ms"})
		}
		return pick(d, path, []string{"1ns", "100ns", "10us"})
	}
	return pick(d, path, []string{"5ms", "70ms", "300ms", "1s", "2s", "20s"})
}

// lastKey returns the last key of a path.
func lastKey(path string) string { return general(path)[strings.LastIndex(general(path), ".")+1:] }

// general returns a path without the numbers of entries: of a pool as of a scenario.
func general(path string) string {
	var b strings.Builder
	inside := false
	for _, r := range path {
		switch r {
		case '[':
			inside = true
		case ']':
			inside = false
		default:
			if !inside {
				b.WriteRune(r)
			}
		}
	}
	return strings.TrimPrefix(b.String(), "fleet.pools.")
}

// textOf returns the texts to choose from for a key that takes a name, a file or a text of a form
// of its own; nil for all others.
func textOf(path string) []string {
	for texts()[path] == nil && path != "" {
		_, path, _ = strings.Cut(path, ".")
	}
	return texts()[path]
}

var texts = sync.OnceValue(func() map[string][]string {
	catalog, err := hardware.Load()
	fatal(err)
	traces, err := filepath.Glob("../../workload/trace/testdata/*.*")
	fatal(err)
	traces = append(traces, "testdata/servegen.csv", "testdata/tracelab-rounds.json")
	known, err := models.Load()
	fatal(err)
	presets := steptime.Engines()
	lengths := []string{"testdata/lengths.csv"}
	var accelerators, links, networks, names, engines, hosts []string
	for _, a := range catalog.Accelerators {
		accelerators = append(accelerators, a.Name)
	}
	for _, l := range catalog.Links {
		links = append(links, l.Name)
		networks = append(networks, l.Name)
	}
	for _, m := range known.All() {
		names = append(names, m.Name)
	}
	for _, h := range catalog.Hosts {
		hosts = append(hosts, h.Name)
	}
	for _, e := range presets {
		engines = append(engines, e.Name)
	}
	return map[string][]string{
		"accelerator": accelerators, "link": links, "network": networks, "transfer.link": networks,
		"model": append(names, "testdata/listener/config.json"),
		"draft": names, "engine.preset": engines,
		"version":     {"0.23.0", "0.15.1", "0.9", "1.0", "1.2.0"},
		"images.size": {"512x512", "64x900"}, "name": {"a"}, "tenant": {"x", "y"},
		"region": {"here", "there"}, "distances.from": {"here"}, "distances.to": {"there"},
		"experts-backend":   {"triton", "cutlass", "marlin", "no-flashinfer"},
		"products-backend":  {"cutlass", "deepgemm", "triton", "no-deepgemm"},
		"attention-backend": {"flashinfer", "flash-attn", "fa3", "triton"},
		"prefill-backend":   {"flashinfer", "triton-attn", "fa4"},
		"decode-backend":    {"flashinfer", "flashmla", "trtllm"},
		"exchange-backend":  {"deepep", "deepep-low-latency", "naive"},
		"tiers.size":        {"40GiB"}, "tiers.rate": {"7GB/s"}, "tiers.link": {"10GB/s"},
		"tiers.price": {"$0.0034/h", "listed"}, "cold-start.disk": hosts,
		"cold-start.network": networks, "hardware.file": {"testdata/own.yaml"},
		"operators":         {"testdata/kernels", "testdata/kernels-of-versions"},
		"operators-version": {"0.9.0", "0.10.0"},
		"deployment":        {"testdata/deployment.yaml"},
		"acceptance.file":   {"testdata/acceptance.json"}, "prompt.file": lengths,
		"output.file": lengths, "tokens.file": lengths, "turns.file": lengths,
		"count.file": lengths, "result.file": lengths,
		"trace.file": traces,
	}
})

func fatal(err error) {
	if err != nil {
		panic(err)
	}
}
