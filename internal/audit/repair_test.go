package audit

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/llmsim/llmsim/internal/files"
	"github.com/llmsim/llmsim/internal/strict"
	"github.com/llmsim/llmsim/models"
	"github.com/llmsim/llmsim/policies"
	"github.com/llmsim/llmsim/scenarios"
)

// mostRepairs bounds how often a scenario is mended until it is given up.
const mostRepairs = 40

// text returns a scenario as JSON, which is YAML too.
func text(s object) []byte {
	t, err := json.Marshal(s)
	fatal(err)
	return t
}

// clocks are shared by simulations that run one after another, as those of a sweep are.
var clocks = scenarios.NewClocks()

// parse reads a scenario as from a file.
func parse(s object, processors int) (*scenarios.File, error) {
	file, err := scenarios.Parse("audit.json", text(s))
	if err == nil {
		file.Processors, file.Clocks = processors, clocks
	}
	return file, err
}

// build readies a scenario. A panic is an error.
func build(registry *policies.Registry, s object,
	processors int) (simulation *scenarios.Simulation, err error) {
	defer panics(&err)
	file, err := parse(s, processors)
	if err != nil {
		return nil, err
	}
	return file.Build(registry)
}

// panics makes an error of a panic.
func panics(err *error) {
	if p := recover(); p != nil {
		*err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
	}
}

// repair takes out of a scenario, one by one, what its error messages blame, until it can be built.
// It returns what was blamed, and the last error. A snapshot of caches is written by the scenario
// without it.
func repair(d *drawer, s object) (blamed []string, err error) {
	caches, _ := s["caches"].(object)
	if snapshot := caches["start"] == "snapshot"; snapshot {
		delete(s, "caches")
		defer func() {
			if err == nil {
				err = d.snapshot(s, caches)
			}
		}()
	}
	for range mostRepairs {
		var simulation *scenarios.Simulation
		if simulation, err = build(d.registry, s, 1); err == nil {
			simulation.Source.Close()
			return blamed, nil
		}
		if !scenarios.IsInputError(err) {
			return blamed, err
		}
		blamed = append(blamed, err.Error())
		if !d.mend(s, err, len(blamed)) {
			return blamed, err
		}
	}
	return blamed, err
}

// snapshot runs a scenario, writes what its caches hold, and lets it begin with that. The scenario
// stays as it is where its caches have no place in files, or where the run does not end.
func (d *drawer) snapshot(s, caches object) error {
	r, err := execute(d.registry, s, 1, false)
	if err != nil {
		return nil // the auditor meets the error again
	}
	name := filepath.Join(scratch(), fmt.Sprint("caches-", d.seed, ".json"))
	if err := files.Write(name, r.simulation.SaveCaches); err != nil {
		return nil
	}
	caches["file"], s["caches"] = name, caches
	simulation, err := build(d.registry, s, 1)
	if err == nil {
		err = simulation.Source.Close()
	}
	return err
}

// scratch returns a folder that the tests of this package remove at their end.
var scratch = sync.OnceValue(func() string {
	dir, err := os.MkdirTemp("", "audit")
	fatal(err)
	return dir
})

func TestMain(m *testing.M) {
	code := m.Run()
	os.RemoveAll(scratch())
	os.Exit(code)
}

// mend takes the key out that the first problem blames.
func (d *drawer) mend(s object, err error, attempt int) bool {
	path, message := blame(err)
	if strings.HasSuffix(path, "speculation.draft") {
		if sp, ok := within(s, strings.TrimSuffix(path, ".draft")).(object); ok {
			sp["method"] = "n-gram"
			delete(sp, "draft")
			return true
		}
	}
	switch {
	case path == "model" || path == "hardware" || path == "parallelism" ||
		strings.HasSuffix(path, ".model") && strings.Contains(message, "fit"):
		if attempt%2 == 1 && remove(s, "parallelism") {
			return true
		}
		s["model"], s["hardware"] = "llama-3.2-1b", "h100-sxm"
		if attempt > 2 {
			return remove(s, "engine") || remove(s, "shape") || remove(s, "fleet.pools")
		}
		return true
	case strings.HasPrefix(message, "must be given") && d.give(s, path):
		return true
	case remove(s, path):
		return true
	}
	// the keys that the message names, wherever they are in what it blames
	for _, word := range keyWords.FindAllString(message, -1) {
		if removeWithin(s, path, word) || removeWithin(s, "", word) {
			return true
		}
	}
	for _, name := range []string{"fleet", "speculation", "engine", "caches", "memory",
		"workload.classes", "workload.calls", "workload.sessions", "workload.trace",
		"workload.arrivals", "workload.prompt", "workload.output", "parallelism", "hardware"} {
		if name == "hardware" {
			s["model"], s["hardware"] = "llama-3.2-1b", "h100-sxm"
			return attempt < mostRepairs
		}
		if remove(s, name) {
			return true
		}
	}
	return false
}

// give draws the value of a key that is missing. It reports whether there is such a key.
func (d *drawer) give(s object, path string) bool {
	steps := strings.Split(path, ".")
	var at any = s
	for _, step := range steps[:len(steps)-1] {
		at, _ = child(at, step)
	}
	of, ok := at.(object)
	last := steps[len(steps)-1]
	f, known := fieldAt(reflect.TypeFor[scenarios.Scenario](), steps)
	if !ok || !known || of[last] != nil {
		return false
	}
	of[last] = d.value(f, path)
	return true
}

// within returns the value of a path, or nil.
func within(s object, path string) any {
	var at any = s
	for _, step := range strings.Split(path, ".") {
		at, _ = child(at, step)
	}
	return at
}

// fieldAt returns the field of a path.
func fieldAt(t reflect.Type, steps []string) (f reflect.StructField, known bool) {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
		if t.Kind() == reflect.Slice {
			steps = steps[1:]
		}
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct || len(steps) == 0 {
		return f, false
	}
	for _, field := range fieldsOf(t) {
		if field.name == steps[0] {
			if len(steps) == 1 {
				return field.field, true
			}
			return fieldAt(field.field.Type, steps[1:])
		}
	}
	return f, false
}

// blame returns the path of the first problem, and what is wrong there.
func blame(err error) (path, message string) {
	var all strict.Problems
	if errors.As(err, &all) && len(all) > 0 {
		return all[0].Path, all[0].Message
	}
	path, message, _ = strings.Cut(strings.TrimPrefix(err.Error(), "audit.json: "), ": ")
	return path, message
}

// keyWords finds what looks like keys in a message.
var keyWords = regexp.MustCompile(`[a-z][a-z-]*(?:\.[a-z0-9-]+)*`)

// remove takes a key out of a scenario; where the mapping around it needs it, the mapping. It
// reports whether there was such a key.
func remove(s object, path string) bool {
	steps := strings.Split(path, ".")
	parents := []any{s}
	for _, step := range steps {
		next, ok := child(parents[len(parents)-1], step)
		if !ok {
			break // a number or a word may be short for a mapping
		}
		parents = append(parents, next)
	}
	if n := len(parents) - 1; n < len(steps) {
		switch parents[n].(type) {
		case object, []any:
			return false
		}
	}
	for i := len(parents) - 2; i >= 0; i-- {
		around := strings.Join(steps[:i], ".")
		switch of := parents[i].(type) {
		case object:
			whole := join(around, steps[i])
			if whole == "workload" || whole == "workload.requests" || whole == "model" ||
				whole == "hardware" || neededIn(around, steps[i]) {
				continue
			}
			delete(of, steps[i])
			return true
		case []any:
			if index, _ := strconv.Atoi(steps[i]); len(of) > 1 {
				parents[i-1].(object)[steps[i-1]] = slices.Delete(slices.Clone(of), index, index+1)
				return true
			}
		}
	}
	return false
}

// removeWithin takes the first key of a name, or of the end of a path, out of a part of a scenario.
func removeWithin(s object, within, name string) bool {
	if within == "" && name == "replicas" {
		return false
	}
	for _, path := range paths("", s) {
		if (within == "" || strings.HasPrefix(path, within+".")) &&
			(path == name || strings.HasSuffix(path, "."+name)) && remove(s, path) {
			return true
		}
	}
	return false
}

// paths lists the paths of all keys of a scenario in order, with the numbers of entries.
func paths(at string, v any) (list []string) {
	switch v := v.(type) {
	case object:
		for _, name := range sortedKeys(v) {
			list = append(append(list, join(at, name)), paths(join(at, name), v[name])...)
		}
	case []any:
		for i := range v {
			list = append(list, paths(join(at, strconv.Itoa(i)), v[i])...)
		}
	}
	return list
}

// child returns the value of a key, or of an entry by its number.
func child(of any, step string) (any, bool) {
	switch of := of.(type) {
	case object:
		v, ok := of[step]
		return v, ok
	case []any:
		if i, err := strconv.Atoi(step); err == nil && i < len(of) {
			return of[i], true
		}
	}
	return nil, false
}

var entryNumber = regexp.MustCompile(`\.\d+(\.|$)`)

// needed holds, for each path, the keys that the schema requires there.
var needed = sync.OnceValue(func() map[string][]string {
	all := map[string][]string{}
	schema().each("", func(path string, n *node) {
		all[path] = append(all[path], n.Required...)
	})
	return all
})

// neededIn reports whether the schema requires a key in the mapping at a path.
func neededIn(path, name string) bool {
	return slices.Contains(needed()[entryNumber.ReplaceAllString(path, "[]$1")], name)
}

// relate makes keys fit that name each other, or that go together in one way only: classes, calls,
// regions, limits.
func relate(d *drawer, s object) {
	w, _ := s["workload"].(object)
	classes := entries(w, "classes")
	if shape, ok := s["shape"].(object); ok && d.chance("shape of the model", 0.5) {
		shape["name"] = s["model"]
		s["model"] = shape
		delete(s, "shape")
	}
	relateServers(d, s)
	relateModels(s, w)
	for _, c := range append(classes, w) {
		relateTrace(c)
		relateCalls(d, entries(c, "calls"))
		if a, ok := c["arrivals"].(object); ok && a["shape"] != nil {
			delete(a, "cv")
		}
		if a, ok := c["arrivals"].(object); ok && a["start-min"] != nil {
			a["start-max"] = 1
		}
		if c["calls"] != nil {
			for _, name := range []string{"preset", "prompt", "output", "distinct", "samples",
				"beam-step", "sessions"} {
				delete(c, name)
			}
		}
		if c["samples"] == nil {
			delete(c, "beam-step")
		}
		if of, ok := c["sessions"].(object); ok && of["agents"] != nil && of["tools"] == nil {
			of["tools"] = object{"share": 0.5, "result": 40, "wait": "70ms"}
		}
	}
	replay := len(classes) > 0 && classes[0]["trace"] != nil
	for _, c := range append(classes, w) {
		for _, name := range []string{"share", "rate", "arrivals", "preset", "prompt", "output",
			"prefix", "distinct", "samples", "beam-step", "sessions", "calls"} {
			if replay {
				delete(c, name) // traces say what requests ask for and when
			}
		}
	}
	if t, ok := w["trace"].(object); ok && t["resample"] != nil {
		delete(t, "repeat")
		delete(w, "rate")
		delete(w, "arrivals")
	}
	for i, c := range classes {
		if w["trace"] != nil {
			delete(c, "rate")
		}
		if escalated, ok := c["escalated"].(object); ok {
			escalated["from"] = "a"
			if i == 0 {
				delete(c, "escalated")
			}
		}
		delete(c, map[bool]string{true: "share", false: "arrivals"}[c["rate"] != nil])
		if !replay {
			delete(c, "trace")
		} else if c["trace"] == nil {
			c["trace"] = classes[0]["trace"]
		}
		if limits, ok := c["slo"].(object); ok {
			delete(limits, "itl")
			relateLimits(limits)
		}
	}
	if limits, ok := s["slo"].(object); ok {
		relateLimits(limits)
	}
	relateRegions(s, classes)
	if c, ok := s["caches"].(object); ok && c["share"] != nil {
		delete(c, "requests")
	}
	if s["caches"] == "snapshot" {
		s["caches"] = object{"start": "snapshot"}
	}
	if fleet, ok := s["fleet"].(object); ok && fleet["pools"] != nil {
		delete(s, "replicas")
	}
	if s["caches"] != nil && d.chance("memory with caches", 0.8) {
		if m, ok := s["memory"].(object); !ok || m["tiers"] == nil {
			s["memory"] = pick(d, "memory with caches", []string{"prefix-cache", "radix"})
		}
	}
	if e, ok := s["engine"].(object); ok && e["deployment"] != nil {
		s["model"], s["hardware"], e["preset"] = "llama-3.1-8b", "h100-sxm", "vllm-v1"
	}
}

// relateTrace gives a trace the file of its format, or one with sessions whose calls wait.
func relateTrace(c object) {
	t, ok := c["trace"].(object)
	if ok && t["max-wait"] != nil {
		t["format"] = "tracelab"
		delete(t, "repeat")
	}
	if !ok || t["format"] == nil {
		return
	}
	for _, name := range texts()["trace.file"] {
		of, _, _ := strings.Cut(filepath.Base(name), ".")
		if strings.TrimRight(of, "0123456789") == t["format"] {
			t["file"] = name
		}
	}
}

// relateModels gives images to what encodes them and a model that sees to images, and a mixture of
// experts to what spreads experts.
func relateModels(s, w object) {
	fleet, _ := s["fleet"].(object)
	images := w["images"] != nil || w["audio"] != nil || fleet["encoders"] != nil
	experts := false
	servers := append(entries(fleet, "pools"), s)
	for _, p := range servers {
		e, _ := p["engine"].(object)
		images = images || e["encoder-cache"] != nil
		if spread, ok := p["parallelism"].(object); ok && (spread["data"] != nil ||
			spread["overlap"] != nil || spread["redundant-experts"] != nil ||
			spread["expert"] != nil) {
			experts = true
			if spread["overlap"] != nil || spread["redundant-experts"] != nil {
				spread["data"], spread["tensor"] = 2, 1
				delete(spread, "expert")
			}
		}
	}
	if images && w["images"] == nil && w["audio"] == nil {
		w["images"] = "512x512"
	}
	if !images && !experts {
		return
	}
	for _, p := range servers {
		delete(p, "model")
		delete(p, "shape")
	}
	s["model"], s["hardware"] = "deepseek-v2-lite", "h100-sxm"
	if images {
		s["model"] = "qwen3-vl-8b"
	}
	if w["audio"] != nil {
		s["model"] = "testdata/listener/config.json"
		delete(w, "images")
	}
}

// relateServers makes drafts and tiers of the scenario and of its pools possible.
func relateServers(d *drawer, s object) {
	fleet, _ := s["fleet"].(object)
	for i, p := range append(entries(fleet, "pools"), s) {
		if name, _ := p["model"].(string); large()[name] {
			p["hardware"] = pick(d, fmt.Sprint("node of ", i), []string{"b300-sxm", "mi355x"})
			p["parallelism"] = object{"tensor": 8}
			if d.chance(fmt.Sprint("nodes of ", i), 0.3) {
				p["parallelism"] = object{"tensor": 8, "pipeline": 2}
			}
		}
		if m, ok := p["memory"].(object); ok {
			if tiers, ok := m["tiers"].([]any); ok {
				m["tiers"] = relateTiers(tiers)
				p["memory"] = object{"policy": "offload", "tiers": m["tiers"]}
			}
		}
		sp, ok := p["speculation"].(object)
		if !ok {
			continue
		}
		if sp["head"] != nil {
			sp["method"], sp["head"] = "eagle", models.HeadsOf("llama-3.1-8b", "eagle")[0]
			s["model"] = "llama-3.1-8b"
			delete(p, "model")
		}
		if sp["method"] != nil && sp["method"] != "draft-model" {
			for _, name := range []string{"draft", "tensor", "accelerator", "ahead", "weights"} {
				delete(sp, name)
			}
		} else if d.chance(fmt.Sprint("drafts of ", i), 0.8) {
			sp["draft"] = "llama-3.2-1b"
			s["model"] = "llama-3.1-8b"
			delete(p, "model")
			if sp["ahead"] != nil {
				sp["accelerator"] = "l40s"
			}
			if sp["tensor"] != nil {
				sp["tensor"], p["parallelism"] = 1, object{"tensor": 2}
			}
			if sp["acceptance"] == nil {
				sp["acceptance"] = 0.6
			}
		}
	}
}

// large has the models that need a node of accelerators.
var large = sync.OnceValue(func() map[string]bool {
	known, err := models.Load()
	fatal(err)
	all := map[string]bool{}
	for _, m := range known.All() {
		all[m.Name] = m.Parameters().Total() >= 80e9
	}
	return all
})

// relateTiers puts the accelerators' memory and the hosts' first, and gives what is slower a size.
func relateTiers(drawn []any) []any {
	tiers := []any{"hbm", object{"store": "host", "size": "40GiB"}}
	for _, store := range []string{"nvme", "pool"} {
		for _, t := range drawn {
			if of, ok := t.(object); ok && of["store"] == "host" {
				of["size"] = "40GiB"
				delete(of, "rate")
				delete(of, "link")
				delete(of, "shared")
				tiers[1] = of
			} else if ok && of["store"] == store {
				of["size"] = "40GiB"
				if store == "nvme" {
					delete(of, "link")
					delete(of, "shared")
				}
				tiers = append(tiers, of)
				break
			}
		}
	}
	return tiers
}

// relateCalls makes each call follow an earlier one.
func relateCalls(d *drawer, calls []object) {
	for i, call := range calls {
		delete(call, "after")
		if i == 0 {
			delete(call, "from")
			continue
		}
		name, _ := call["name"].(string)
		before := calls[d.random("after "+name).IntN(i)]["name"]
		call["after"] = []any{before}
		if call["from"] != nil {
			call["from"] = before
		}
	}
}

// relateLimits puts the limits of percentiles in order.
func relateLimits(limits object) {
	for name, of := range limits {
		limit, ok := of.(object)
		if !ok {
			continue
		}
		if name == "itl" {
			delete(limit, "request")
		}
		var names []string
		var spans []string
		for _, p := range []string{"p50", "p90", "p95", "p99", "request"} {
			if x, ok := limit[p].(string); ok {
				names, spans = append(names, p), append(spans, x)
			}
		}
		slices.SortFunc(spans, func(a, b string) int { return cmp.Compare(seconds(a), seconds(b)) })
		for i, p := range names {
			if limit[p] = spans[i]; i > 0 && spans[i] == spans[i-1] {
				delete(limit, p)
			}
		}
		if len(limit) == 0 {
			delete(limits, name)
		}
	}
}

// seconds returns a span that was drawn.
func seconds(span string) float64 {
	x, err := time.ParseDuration(span)
	fatal(err)
	return x.Seconds()
}

// relateRegions gives a region to all pools and a distance to each pair, or none to any.
func relateRegions(s object, classes []object) {
	fleet, _ := s["fleet"].(object)
	pools := entries(fleet, "pools")
	with := len(pools) > 0 && pools[0]["region"] != nil
	for i, p := range pools {
		if _, named := p["name"]; !named {
			p["name"] = string(rune('a' + i))
		}
		if !with {
			delete(p, "region")
		} else if p["region"] == nil {
			p["region"] = "here"
		}
	}
	if !with {
		for _, c := range classes {
			delete(c, "region")
		}
	}
	if fleet != nil {
		delete(fleet, "distances")
		if with {
			fleet["distances"] = []any{object{"from": "here", "to": "there", "round-trip": "70ms"}}
		}
	}
}

// entries returns the mappings in a list of a mapping.
func entries(of object, key string) (found []object) {
	list, _ := of[key].([]any)
	for _, entry := range list {
		if o, ok := entry.(object); ok {
			found = append(found, o)
		}
	}
	return found
}
