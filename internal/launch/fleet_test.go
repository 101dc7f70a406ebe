package launch

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/llmsim/llmsim/internal/launch/engines"
	"github.com/llmsim/llmsim/internal/launch/manifests"
	"github.com/llmsim/llmsim/internal/testkit"
)

// drawPools makes up pools of every role that a fleet may have, with sections of their own.
func drawPools(t *rapid.T, e *engines.Engine) string {
	n := func(name string, low, high int) int { return rapid.IntRange(low, high).Draw(t, name) }
	shapes := []string{"tensor: 1", "tensor: 2", "tensor: 1, data: 8", "tensor: 2, pipeline: 2"}
	if e.Name != "trtllm" { // which starts no replica over several nodes
		shapes = append(shapes, "tensor: 16", "tensor: 1, data: 16", "tensor: 8, pipeline: 2")
	}
	roles := []string{"prefill", "decode"}
	for _, role := range []string{"prefill", "decode", "mixed"} {
		if rapid.Bool().Draw(t, "another "+role) {
			roles = append(roles, role)
		}
	}
	var pools []string
	for i, role := range rapid.Permutation(roles).Draw(t, "roles") {
		replicas := n("replicas", 1, 4)
		pool := fmt.Sprintf("name: p%d, role: %s, replicas: %d", i, role, replicas)
		maybe := func(format string, args ...any) {
			if own := fmt.Sprintf(format, args...); rapid.Bool().Draw(t, own) {
				pool += ", " + own
			}
		}
		maybe("parallelism: {%s}", rapid.SampledFrom(shapes).Draw(t, "shape"))
		maybe("batching: {max-sequences: %d}", 16*n("sequences", 1, 32))
		maybe("memory: {utilization: 0.%d}", n("utilization", 80, 95))
		maybe("engine: {preset: %s, graph: %d}", preset(e), 16*n("graph", 1, 8))
		maybe("scaling: {policy: outstanding, target: %d, min: %d, keep: 60s}",
			n("target", 1, 64), n("min", 1, replicas))
		pools = append(pools, "{"+pool+"}")
	}
	return "fleet.pools=[" + strings.Join(pools, ", ") + "]"
}

// A fleet with pools is read back from its manifests and from its script as it was meant, and what
// of it is not is said beside them. What starts the fleet that was read is what started the first.
func TestAFleetIsReadAsItWasMeant(t *testing.T) {
	for _, e := range engines.All() {
		t.Run(e.Name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				settings := append(draw(t, e), "model=deepseek-v2-lite", "parallelism={}",
					drawPools(t, e))
				meant, err := build(settings)
				if err != nil {
					t.Skip(err) // a combination that nothing serves
				}
				b, err := NewBundle(meant, e.Name)
				if err != nil {
					t.Fatalf("%q: %v", settings, err)
				}
				for i := range b.Servers {
					b.Servers[i].Pool = "" // which the files have not
				}
				manifests, err := b.Manifests()
				testkit.OK(t, err)
				again := sameFleet(t, b, engines.Groups(meant), manifests)
				if !reflect.DeepEqual(again, b.Servers) {
					t.Fatalf("%q\n%s\nread as\n%+v", settings, manifests, again)
				}
				script, err := b.Script()
				testkit.OK(t, err)
				again = sameFleet(t, b, engines.Groups(meant), script)
				if !reflect.DeepEqual(unscaled(again), unscaled(b.Servers)) {
					t.Fatalf("%q\n%s\nread as\n%+v", settings, script, again)
				}
			})
		})
	}
}

// The Service sends requests to the pods of all pools that take them, and the notes say which nodes
// are for which pool.
func TestPoolsOfOneRoleServeTogether(t *testing.T) {
	s, err := build([]string{"model=llama-3.1-8b", "hardware=h100-sxm",
		"fleet.pools=[{name: spot, replicas: 3}, {name: on-demand, replicas: 2}]"})
	testkit.OK(t, err)
	b, err := NewBundle(s, "vllm")
	testkit.OK(t, err)
	text, err := b.Manifests()
	testkit.OK(t, err)
	_, selector, found := strings.Cut(text[strings.Index(text, "kind: Service\n"):], "selector: {")
	if !found {
		t.Fatalf("no Service with a selector in\n%s", text)
	}
	selector, _, _ = strings.Cut(selector, "}")
	for _, s := range b.Servers {
		_, pods, _ := strings.Cut(text, "component: \""+s.Name+"\", llm-d.ai")
		labels := `app.kubernetes.io/name: "llama-3-1-8b", llm-d.ai` + strings.Split(pods, "}")[0]
		if labels != selector {
			t.Errorf("the Service selects %s, and %s has %s", selector, s.Name, labels)
		}
	}
	dir := t.TempDir()
	testkit.OK(t, b.Write(dir))
	notes, err := os.ReadFile(filepath.Join(dir, "NOTES.md"))
	testkit.OK(t, err)
	if !strings.Contains(string(notes), "nodes of mixed-1: they are for the pool on-demand") {
		t.Errorf("notes:\n%s", notes)
	}
}

// sameFleet reads a fleet, checks that it has the groups that were meant, and returns what starts
// it.
func sameFleet(t *rapid.T, b *Bundle, meant []engines.Group, text string) []manifests.Server {
	beside := map[string]string{}
	for i := range b.Servers {
		beside[b.Servers[i].ConfigFile] = b.Servers[i].Config
	}
	reading, err := readWith(text, nil, files(nil).or(beside))
	if err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	if !slices.IsSorted(reading.Settings) {
		t.Fatalf("settings %q are out of order", reading.Settings)
	}
	given := []string{"hardware=h200-sxm"}
	for _, ask := range reading.asks {
		if key := ask.Keys[0] + "=0.7"; !slices.Contains(given, key) {
			given = append(given, key)
		}
	}
	if drafts := meant[0].Speculation != nil; drafts != (len(given) > 1) {
		t.Fatalf("the drafter of all pools is read as %q, and asks for %q", reading.Settings, given)
	}
	simulation := built(t, slices.Concat(reading.Settings, given))
	got := engines.Groups(simulation)
	if len(got) != len(meant) {
		t.Fatalf("%d groups, read as %d, by %q", len(meant), len(got), reading.Settings)
	}
	for i := range meant {
		if meant[i].Role != got[i].Role || meant[i].Replicas != got[i].Replicas {
			t.Fatalf("%d of %s, read as %d of %s", meant[i].Replicas, meant[i].Role,
				got[i].Replicas, got[i].Role)
		}
	}
	again, err := NewBundle(simulation, b.Engine)
	testkit.OK(t, err)
	return again.Servers
}

// unscaled returns servers without what concerns autoscalers, of which a script says nothing.
func unscaled(servers []manifests.Server) []manifests.Server {
	list := slices.Clone(servers)
	for i := range list {
		s := &list[i]
		s.Autoscaler = nil
		for _, command := range []*[]string{&s.Command, &s.Leader, &s.Worker, &s.WorkerArgs} {
			*command = slices.DeleteFunc(slices.Clone(*command), func(word string) bool {
				return word == "--enable-metrics"
			})
		}
	}
	return list
}

// Behind llm-d's exact scorer, pods send events to the picker under names that it computes too:
// both have one block size, seed, port and form of the topic. An approximate index needs none.
func TestExactScorerGetsEvents(t *testing.T) {
	files := func(routing string) (pods, picker string) {
		b, err := NewBundle(built(t, []string{"model=llama-3.1-8b", "hardware=h200-sxm",
			"replicas=2", "memory={policy: prefix-cache, block-size: 64}", "routing=" + routing}),
			"vllm")
		testkit.OK(t, err)
		pods, err = b.Manifests()
		testkit.OK(t, err)
		picker, err = b.LLMD()
		testkit.OK(t, err)
		return pods, picker
	}
	pods, picker := files("{policy: llm-d, prefix: 3}")
	for text, parts := range map[string][]string{pods: {`"--block-size","64"`, "sha256_cbor",
		`tcp://llama-3-1-8b-picker:5557`, `kv@$(POD_IP)@`, `{name: PYTHONHASHSEED, value: "42"}`},
		picker: {"blockSize: 64, hashSeed: \"42\"", "{name: events, port: 5557}",
			"{name: events, containerPort: 5557}", "precise-prefix-cache-scorer\n            " +
				"weight: 3\n"}} {
		for _, part := range parts {
			if !strings.Contains(text, part) {
				t.Errorf("no %s in\n%s", part, text)
			}
		}
	}
	pods, picker = files("{policy: llm-d, index: approximate}")
	if strings.Contains(pods, "kv-events") || strings.Contains(picker, "5557") {
		t.Errorf("events for an approximate index:\n%s\n%s", pods, picker)
	}
}

// The routing of a fleet behind llm-d is read from the scorers of its endpoint picker:
// least-requests stands for the policies that have no scorer of their own, and scorers that are no
// policy are named.
func TestRoutingIsReadFromLLMD(t *testing.T) {
	for meant, want := range map[string]string{"least-requests": "least-requests",
		"choices": "least-requests", "kv-aware": "kv-aware", "prefix-aware": "prefix-aware",
		"session-affinity": "session-affinity", "llm-d": "llm-d", "round-robin": ""} {
		b, err := NewBundle(built(t, []string{"model=llama-3.1-8b", "hardware=h200-sxm",
			"replicas=2", "routing=" + meant}), "vllm")
		testkit.OK(t, err)
		dir := t.TempDir()
		testkit.OK(t, b.Write(dir))
		r, err := ReadFileOrText(dir, nil)
		testkit.OK(t, err)
		got := ""
		for _, setting := range r.Settings {
			if value, found := strings.CutPrefix(setting, "routing="); found {
				got = value
			}
		}
		said := strings.Contains(fmt.Sprint(r.Notes), "together are no routing policy")
		if got != want || said != (want == "") {
			t.Errorf("%s is read as %q, want %q; notes %q", meant, got, want, r.Notes)
		}
	}
}

// A file of Docker Compose is read back as the fleet was meant, as its script is.
func TestComposeIsReadAsItWasMeant(t *testing.T) {
	for _, e := range engines.All() {
		t.Run(e.Name, func(t *testing.T) {
			read := 0
			rapid.Check(t, func(t *rapid.T) {
				replicas := rapid.IntRange(1, 4).Draw(t, "replicas")
				tensor := rapid.SampledFrom([]int{1, 2}).Draw(t, "tensor")
				settings := append(draw(t, e), "model=deepseek-v2-lite",
					fmt.Sprintf("parallelism={tensor: %d}", tensor),
					fmt.Sprintf("replicas=%d", replicas))
				meant, err := build(settings)
				if err != nil {
					t.Skip(err)
				}
				b, err := NewBundle(meant, e.Name)
				testkit.OK(t, err)
				text, err := b.Compose()
				testkit.OK(t, err)
				if text == "" {
					t.Skip("one machine has no room")
				}
				read++
				again := sameFleet(t, b, engines.Groups(meant), text)
				if !reflect.DeepEqual(unscaled(again), unscaled(b.Servers)) {
					t.Fatalf("%q\n%s\nread as\n%+v", settings, text, again)
				}
			})
			if read == 0 {
				t.Error("no file was read")
			}
		})
	}
}
