package scenarios

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/llmsim/llmsim/internal/registry"
	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/policies"
)

// entryTexts has a file of each kind that a registry holds, the name of what ships in its place,
// and a file of the kind that is wrong.
var entryTexts = map[registry.Kind]struct{ good, ships, bad string }{
	registry.Model: {`{"model_type": "llama", "hidden_size": 2048, "intermediate_size": 8192,
		"num_hidden_layers": 16, "num_attention_heads": 32, "vocab_size": 32000,
		"max_position_embeddings": 4096, "torch_dtype": "float16",
		"architectures": ["LlamaForCausalLM"]}`, "llama-3.1-8b", `{"model_type": "llama"}`},
	registry.Hardware: {"accelerators: {own: {like: h100-sxm, price: $7/h}}\n", "h100-sxm",
		"accelerators: {another: {like: h100-sxm}}\n"},
	registry.Deployment: {"name: mine\nmodel: llama-3.2-1b\nhardware: l4\n" +
		"workload: {rate: 1/s, requests: 3}\n", "chat", "model: llama-3.2-1b\nhardware: l44\n"},
	registry.Policy: {"section: batching\npolicy: vllm-v1\nmax-sequences: 5\ntoken-budget: 512\n",
		"vllm-v1", "section: batching\npolicy: vllm-v1\nmax-sequence: 5\n"},
}

// A file becomes an entry of a registry if it would be used as one: a name that ships and a file
// that is wrong are refused, each in the words of its kind.
func TestEntriesAreCheckedAsTheyAreUsed(t *testing.T) {
	t.Setenv(registry.Variable, t.TempDir())
	for kind, c := range entryTexts {
		check := func(name, text string) error {
			return CheckEntry(kind, name, "own.file", []byte(text))
		}
		testkit.OK(t, check("own", c.good))
		want := fmt.Sprintf("name: %q is what ships", c.ships)
		if err := check(c.ships, c.good); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s called %s: %v, want %s", kind, c.ships, err, want)
		}
		for _, text := range []string{c.bad, "{", ""} {
			if err := check("own", text); err == nil || strings.Contains(err.Error(), "ships") {
				t.Errorf("%s %q: %v", kind, text, err)
			}
		}
	}
	for section, names := range map[string][]string{
		"memory": {"paged", "prefix-cache"}, "routing": {"round-robin"}, "batching": {"static"}} {
		for _, name := range names {
			text := "section: " + section + "\npolicy: " + name + "\n"
			testkit.OK(t, CheckEntry(registry.Policy, "own", "own.yaml", []byte(text)))
			if CheckEntry(registry.Policy, name, "own.yaml", []byte(text)) == nil ||
				shipsPolicy(section, "own") {
				t.Errorf("%s: a policy may be called %s", section, name)
			}
		}
	}
}

// A scenario that names entries of a registry is the scenario that has their contents in their
// place, and depends on their files. Its own parameters have precedence over a policy's. What does
// not name an entry does not use it.
func TestEntriesAreTheirContents(t *testing.T) {
	dir := t.TempDir()
	t.Setenv(registry.Variable, filepath.Join(dir, "store"))
	store, paths := registry.FromEnvironment(), map[registry.Kind]*registry.Entry{}
	for kind, c := range entryTexts {
		entry, err := store.Add(kind, "own", []byte(c.good))
		testkit.OK(t, err)
		paths[kind], err = store.Find(kind, "own")
		testkit.OK(t, err)
		if entry.Version != 1 {
			t.Errorf("%s has version %d", kind, entry.Version)
		}
	}
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		testkit.OK(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	config := write("config.json", entryTexts[registry.Model].good)
	hardware := write("hardware.yaml", entryTexts[registry.Hardware].good)
	deployment := write("deployment.yaml", entryTexts[registry.Deployment].good)
	const load = "workload: {rate: 2/s, requests: 20}\n"
	const plain = "model: llama-3.2-1b\nhardware: l4\n" + load
	for _, c := range []struct {
		kind         registry.Kind
		named, whole string
	}{
		{registry.Model, "model: own\nhardware: l4\n" + load,
			"model: " + config + "\nhardware: l4\n" + load},
		{registry.Model, "model: own@1\nhardware: l4\n" + load,
			"model: " + config + "\nhardware: l4\n" + load},
		{registry.Hardware, "model: llama-3.2-1b\nhardware: own\n" + load,
			"model: llama-3.2-1b\nhardware: {accelerator: own, file: " + hardware + "}\n" + load},
		{registry.Policy, plain + "batching: own\n",
			plain + "batching: {policy: vllm-v1, max-sequences: 5, token-budget: 512}\n"},
		{registry.Policy, plain + "batching: {policy: own, max-sequences: 7}\n",
			plain + "batching: {policy: vllm-v1, max-sequences: 7, token-budget: 512}\n"},
	} {
		named, whole := runText(t, c.named), runText(t, c.whole)
		if diff := cmp.Diff(named.Summary, whole.Summary); diff != "" || named.Cost != whole.Cost ||
			named.Energy != whole.Energy || named.Accelerators != whole.Accelerators {
			t.Errorf("%s\nis not\n%s\n%s", c.named, c.whole, diff)
		}
		f, err := Parse("s.yaml", []byte(c.named))
		testkit.OK(t, err)
		if files := f.Files(); !slices.Contains(files, paths[c.kind].Path) {
			t.Errorf("%s\nis of the files %v, without %s", c.named, files, paths[c.kind].Path)
		}
		at := write("named.yaml", c.named)
		for kind, e := range paths {
			if kind != registry.Deployment && UsesEntry(at, e) != (kind == c.kind) {
				t.Errorf("%s\nuses the %s: %v", c.named, kind, kind != c.kind)
			}
		}
	}
	pools := write("pools.yaml", plain+"fleet: {pools: [{name: a, replicas: 1}, {name: b, "+
		"replicas: 1, model: own, hardware: own, batching: own}]}\n")
	for kind, e := range paths {
		if UsesEntry(pools, e) != (kind != registry.Deployment) ||
			UsesEntry(write("plain.yaml", plain), e) || UsesEntry(filepath.Join(dir, "no"), e) ||
			UsesEntry(write("bad.yaml", "{"), e) {
			t.Errorf("%s: not used by the pool that names it, or used where it is not named", kind)
		}
	}
	own, err := Load("own")
	testkit.OK(t, err)
	file, err := Load(deployment)
	testkit.OK(t, err)
	if !reflect.DeepEqual(own.Scenario, file.Scenario) ||
		Source("own") != paths[registry.Deployment].Path || Source(deployment) != deployment ||
		Source("chat") != "" {
		t.Errorf("a deployment is read as %+v, its file as %+v", own.Scenario, file.Scenario)
	}
	if err := own.CheckNames(policies.Default()); err != nil {
		t.Error(err)
	}
	f, err := Parse("s.yaml", []byte(plain+"routing: own\n"))
	if err == nil || !strings.Contains(err.Error(), "routing: own is a policy for batching") {
		t.Errorf("a policy of batching that routes: %v, %v", f, err)
	}
}

// What ships is listed once, under the name by which it is read, with its title; all else is no
// file.
func TestWhatShipsIsListed(t *testing.T) {
	t.Setenv(registry.Variable, "")
	list, err := List()
	testkit.OK(t, err)
	var names []string
	for _, l := range list {
		names = append(names, l.Name)
		f, err := Load(l.Name + ".yaml")
		testkit.OK(t, err)
		if trace := f.Scenario.Workload.Trace; f.Scenario.Name != l.Title || l.Title == "" ||
			(trace != nil) != (l.Trace != "") || strings.ContainsAny(l.Trace, "/\\") {
			t.Errorf("%+v is of %+v", l, f.Scenario)
		}
	}
	if !slices.Equal(names, Shipped()) || len(slices.Compact(slices.Sorted(
		slices.Values(names)))) != len(names) {
		t.Errorf("listed are %v, and there are %v", names, Shipped())
	}
	for name, want := range map[string]string{"chatt": "chat", t.TempDir(): "is a directory",
		"none/chat": "none/chat: no such file", "papers/none": "shipped scenario"} {
		if _, err := Load(name); !IsInputError(err) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", name, err, want)
		}
	}
	checks := CrossChecks()
	for _, name := range checks {
		f, err := LoadCrossCheck(name, "seed=77")
		testkit.OK(t, err)
		path := filepath.Join(t.TempDir(), "check.yaml")
		text, err := crossChecks.ReadFile("crosscheck/" + name + ".yaml")
		testkit.OK(t, err)
		testkit.OK(t, os.WriteFile(path, text, 0o600))
		again, err := LoadCrossCheck(path, "seed=77")
		testkit.OK(t, err)
		if f.Scenario.Seed != 77 || !reflect.DeepEqual(f.Scenario, again.Scenario) {
			t.Errorf("%s is not its file: %+v", name, f.Scenario)
		}
	}
	if _, err := LoadCrossCheck(checks[0] + "x"); len(checks) == 0 || !IsInputError(err) ||
		!strings.Contains(err.Error(), checks[0]) {
		t.Errorf("an unknown cross-check: %v", err)
	}
}
