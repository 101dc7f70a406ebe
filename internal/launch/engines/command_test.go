package engines_test

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/llmsim/llmsim/internal/launch"
	"github.com/llmsim/llmsim/internal/launch/engines"
	"github.com/llmsim/llmsim/internal/launch/manifests"
	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/models"
	"github.com/llmsim/llmsim/policies"
	"github.com/llmsim/llmsim/scenarios"
)

// draw makes up what an engine is asked for, as settings of a scenario: together, or with pools of
// their own for prompts and answers.
func draw(t *rapid.T, e *engines.Engine) []string {
	n := func(name string, low, high int) string {
		return strconv.Itoa(rapid.IntRange(low, high).Draw(t, name))
	}
	settings := []string{"hardware=h200-sxm",
		"batching.max-sequences=" + eight(n("sequences", 1, 64)),
		"memory.utilization=0." + n("utilization", 61, 95)}
	maybe := func(setting string) {
		if rapid.Bool().Draw(t, setting) {
			settings = append(settings, setting)
		}
	}
	one := func(choices ...string) {
		settings = append(settings, rapid.SampledFrom(choices).Draw(t, choices[0]))
	}
	one("model=deepseek-v2-lite", "model=llama-3.1-8b", "model=gpt-oss-20b", "model=qwen3-30b-a3b")
	drafts := "acceptance: 0.7, tokens: " + n("draft", 1, 8)
	tree := ", tree: {width: " + n("width", 1, 3) + "}"
	if rapid.Bool().Draw(t, "nodes") {
		tree = ", tree: {width: 3, nodes: " + n("nodes", 1, 3) + "}"
	}
	one("workload.requests=1", "speculation={method: mtp, "+drafts+"}",
		"speculation={method: eagle, "+drafts+tree+"}",
		"speculation={method: eagle, vocabulary: 32000, "+drafts+"}",
		"speculation={method: eagle, vocabulary: 32000, "+drafts+tree+"}",
		"speculation={method: n-gram, match: 0.5, "+drafts+"}",
		"speculation={method: medusa, "+drafts+"}",
		"speculation={method: layer-skip, layers: 2, "+drafts+"}",
		"speculation={method: n-gram, length: adaptive, "+drafts+"}",
		"speculation={method: mtp, scheduling: synchronous, "+drafts+"}",
		"speculation={method: draft-model, draft: llama-3.2-1b, "+drafts+tree+"}",
		"speculation={method: draft-model, draft: llama-3.2-1b, tensor: 1, "+drafts+"}",
		"speculation={method: draft-model, draft: llama-3.1-8b, weights: fp8, "+drafts+"}",
		"speculation={method: draft-model, draft: llama-3.2-1b, weights: int4, "+drafts+"}",
		"speculation={method: draft-model, draft: qwen3-0.6b, "+drafts+"}",
		"speculation={method: draft-model, draft: llama-3.2-1b, accelerator: l4, "+drafts+"}")
	maybe("engine.max-model-len=" + n("len", 100, 5000))
	maybe("engine.kv-cache=fp8")
	maybe("engine.weights=fp8")
	one("engine.graph="+eight(n("graph", 1, 20)), "engine.eager=true", "engine.slowdown=1")
	maybe("engine.scheduling=synchronous")
	maybe("memory.tokens=" + strconv.Itoa(1024*rapid.IntRange(32, 64).Draw(t, "tokens")))
	switch e.Name {
	case "vllm":
		settings = append(settings, "batching.token-budget="+eight(n("budget", 512, 9000)))
		maybe("batching.chunk-limit=" + n("limit", 64, 512))
		maybe("memory.block-size=32")
		maybe("engine.prompt-graphs=off")
		one("engine=vllm-v1", "memory=paged", "memory=prefix-cache", "memory=vllm-offload",
			"memory=lmcache", "memory=hicache", "batching.policy=priority")
	case "sglang":
		settings = append(settings, "engine.preset=sglang", "batching.chunk="+n("chunk", 512, 9000))
		one("batching=sglang", "memory=paged", "memory=radix", "batching.receive-interval=4",
			"batching.new-token-ratio=0.5", "batching.order=longest-prefix",
			"memory.block-size=64", "memory=hicache",
			"memory={policy: hicache, cpu: 512GB, write: back}")
	case "trtllm":
		settings = append(settings, "engine.preset=trtllm",
			"batching.token-budget="+eight(n("budget", 512, 9000)))
		one("memory=prefix-cache", "memory=paged", "memory=offload",
			"batching.chunked-context=true", "batching.capacity=max-utilization",
			"batching.rank-wait=60", "memory.block-size=64")
		maybe("batching.wait-steps=20")
		maybe("batching.wait-tokens=0.9")
	}
	shapes := []string{"tensor: 1", "tensor: 2, pipeline: 2", "tensor: 4, expert: 4",
		"tensor: 1, data: 8", "tensor: 1, data: 4, expert: 1",
		"tensor: 1, data: 8, redundant-experts: 8", "tensor: 1, data: 8, overlap: two-batch"}
	if e.Name != "trtllm" { // has a rank on each accelerator
		shapes = append(shapes, "tensor: 2, data: 4")
	}
	if e.Name == "vllm" && slices.Contains(settings, "model=deepseek-v2-lite") {
		shapes = append(shapes, "tensor: 4, decode-context: 2")
	}
	shape := rapid.SampledFrom(shapes).Draw(t, "shape")
	if rapid.Bool().Draw(t, "together") {
		return append(settings, "parallelism={"+shape+"}")
	}
	return append(settings, "fleet.pools=[{role: prefill, replicas: 2, parallelism: {tensor: 2}}, "+
		"{role: decode, replicas: 1, parallelism: {"+shape+"}}]")
}

// eight returns eight times a number.
func eight(digits string) string {
	n, _ := strconv.Atoi(digits)
	return strconv.Itoa(8 * n)
}

// A command that is written for a scenario is read as the same scenario, and what of it is not is
// said beside the command.
func TestACommandIsReadAsItWasMeant(t *testing.T) {
	for _, e := range engines.All() {
		t.Run(e.Name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				settings := draw(t, e)
				meant, err := build(settings)
				if err != nil {
					t.Skip(err) // a combination that nothing serves
				}
				b, err := launch.NewBundle(meant, e.Name)
				testkit.OK(t, err)
				for i, g := range engines.Groups(meant) {
					const given = "speculation.acceptance=0.7"
					script := text(t, &b.Servers[i])
					reading, err := launch.Read(script, given)
					if err != nil {
						t.Fatalf("%s: %v", script, err)
					}
					again := append(reading.Settings, "hardware=h200-sxm")
					if strings.Contains(fmt.Sprint(again), "speculation.") {
						again = append(again, given)
					}
					got := engines.Groups(built(t, again))[0]
					for _, d := range unsaid(differences(&g.Replica, &got.Replica), b.Notes) {
						t.Fatalf("%q\n%s\n%s; notes %q", settings, script, d, b.Notes)
					}
				}
			})
		})
	}
}

// build returns the simulation of some settings.
func build(settings []string) (*scenarios.Simulation, error) {
	file, err := scenarios.Parse("drawn", []byte("workload: {requests: 1}"), settings...)
	if err != nil {
		return nil, err
	}
	simulation, err := file.Build(policies.Default())
	if err == nil {
		simulation.Source.Close()
	}
	return simulation, err
}

// built returns the simulation of settings that are good.
func built(t rapid.TB, settings []string) *scenarios.Simulation {
	t.Helper()
	simulation, err := build(settings)
	if err != nil {
		t.Fatalf("%q: %v", settings, err)
	}
	return simulation
}

// text returns a script that writes the configuration file of a server and starts it.
func text(t rapid.TB, s *manifests.Server) string {
	t.Helper()
	line, err := s.Line()
	testkit.OK(t, err)
	return "cat >" + s.ConfigFile + " <<'END'\n" + s.Config + "END\n" + line
}

// differences says what of one server is not so in another, by the keys of a scenario.
func differences(a, b *engines.Replica) (list []string) {
	differ := func(key string, x, y any) {
		if x != y {
			list = append(list, fmt.Sprintf("%s: %v, read as %v", key, x, y))
		}
	}
	p, q := a.Parallelism, b.Parallelism
	differ("model", a.Model, b.Model)
	differ("parallelism.tensor", p.Tensor, q.Tensor)
	differ("parallelism.pipeline", p.Pipeline, q.Pipeline)
	differ("parallelism.data", p.Data, q.Data)
	differ("parallelism.expert", p.Expert, q.Expert)
	differ("parallelism.redundant", p.Redundant, q.Redundant)
	differ("parallelism.decode-context", p.Context, q.Context)
	differ("parallelism.overlap", p.Overlap, q.Overlap)
	differ("engine.weights", a.Engine.Weights, b.Engine.Weights)
	differ("engine.kv-cache", a.Engine.KVCache, b.Engine.KVCache)
	if a.Graph < a.Limit(policies.Sequences) {
		differ("engine.graph", a.Engine.Graph, b.Engine.Graph)
	}
	differ("engine.eager", a.Engine.Eager, b.Engine.Eager)
	differ("engine.scheduling", a.Engine.Scheduling, b.Engine.Scheduling)
	differ("engine.max-model-len", a.Engine.MaxModelLen, b.Engine.MaxModelLen)
	differ("memory.tokens", a.Memory.Tokens, b.Memory.Tokens)
	differ("batching", a.Batching.Policy, b.Batching.Policy)
	differ("memory", a.Memory.Policy, b.Memory.Policy)
	s, u := drafting(a), drafting(b)
	differ("speculation.method", s.Method, u.Method)
	differ("speculation.draft", s.Draft, u.Draft)
	differ("speculation.weights", s.Weights, u.Weights)
	differ("speculation.vocabulary", s.Vocabulary, u.Vocabulary)
	differ("speculation.tokens", s.Tokens, u.Tokens)
	differ("speculation.tensor", s.Tensor, u.Tensor)
	differ("speculation.tree", *s.Tree, *u.Tree)
	differ("speculation.length", s.Length.Policy, u.Length.Policy)
	differ("speculation.scheduling", s.Scheduling, u.Scheduling)
	// TensorRT-LLM's share is of what weights leave, the drafter's included.
	if apart := a.Memory.Utilization - b.Memory.Utilization; math.Abs(apart) > 1e-4 &&
		a.Server.Plan.Weights == b.Server.Plan.Weights &&
		a.Server.Plan.Draft == b.Server.Plan.Draft {
		differ("memory.utilization", a.Memory.Utilization, b.Memory.Utilization)
	}
	for name, value := range a.Batching.Params {
		differ("batching."+name, value, b.Batching.Params[name])
	}
	for name, value := range a.Memory.Params {
		differ("memory."+name, value, b.Memory.Params[name])
	}
	return list
}

// drafting returns the drafter of a server, with the defaults that the server has: its draft model
// by the checkpoint, and a tree of its own size.
func drafting(d *engines.Replica) scenarios.Speculation {
	if d.Speculation == nil {
		return scenarios.Speculation{Tree: &scenarios.Tree{}}
	}
	s := *d.Speculation
	if s.Draft != "" {
		catalogue, err := models.Load()
		if err != nil {
			panic(err)
		}
		model, err := catalogue.Lookup(s.Draft)
		if err != nil {
			panic(err)
		}
		s.Draft, s.Weights = model.Name, cmp.Or(s.Weights, string(model.DType))
		s.Tensor = cmp.Or(s.Tensor, max(1, d.Parallelism.Tensor))
	}
	whole := scenarios.Tree{Width: 1, Nodes: s.Tokens}
	if s.Tree != nil {
		whole = *s.Tree
		most := whole.Width + (s.Tokens-1)*whole.Width*whole.Width
		whole.Nodes, whole.Siblings = min(cmp.Or(whole.Nodes, most), most), 0
	}
	s.Tree = &whole
	return s
}

// What the flags of an engine cannot say of how experts are spread is said beside the command.
func TestParallelismWithoutFlagsIsSaid(t *testing.T) {
	simulation := built(t, []string{"model=deepseek-v2-lite", "hardware=h200-sxm",
		"memory=prefix-cache",
		"parallelism={tensor: 1, data: 4, redundant-experts: 4, overlap: two-batch}"})
	for engine, want := range map[string]int{"sglang": 0, "vllm": 1, "trtllm": 2} {
		b, err := launch.NewBundle(simulation, engine)
		testkit.OK(t, err)
		said := 0
		for _, m := range b.Notes {
			if strings.HasPrefix(m, "parallelism.") {
				said++
			}
		}
		if said != want {
			t.Errorf("%s: %q, want %d of parallelism", engine, b.Notes, want)
		}
		for flag, has := range map[string]string{"--enable-two-batch-overlap": "sglang",
			"--enable-eplb": "vllm"} {
			if slices.Contains(b.Servers[0].Command, flag) != (engine == has) {
				t.Errorf("%s: %q", engine, b.Servers[0].Command)
			}
		}
	}
}

// The command of an engine starts each drafter that the engine has and whose checkpoint is known,
// and what it lacks is said by name; read again, it has the drafter if the acceptance is given, and
// else it says what is to be given.
func TestACommandHasTheDrafter(t *testing.T) {
	none := ""
	for _, c := range []struct{ model, drafter, vllm, sglang, trtllm string }{
		{"deepseek-v3", "method: mtp, tokens: 3", `"method":"mtp","num_speculative_tokens":3`,
			"--speculative-algorithm EAGLE --speculative-num-steps 3 --speculative-eagle-topk 1 " +
				"--speculative-num-draft-tokens 4", "num_nextn_predict_layers: 3"},
		{"deepseek-v3", "method: mtp", `"method":"mtp","num_speculative_tokens":4`,
			"--speculative-num-draft-tokens 5", "decoding_type: MTP"},
		{"llama-3.1-8b", "method: eagle, vocabulary: 32000", `"method":"eagle3","model":"yuhuili`,
			"--speculative-algorithm EAGLE3 --speculative-draft-model-path yuhuili/EAGLE3-LLaMA3.1",
			"speculative_model_dir: yuhuili/EAGLE3-LLaMA3.1-Instruct-8B"},
		{"gpt-oss-20b", "method: eagle, head: RedHatAI/gpt-oss-20b-speculator.eagle3",
			`"method":"eagle3","model":"RedHatAI`, "--speculative-algorithm EAGLE3 " +
				"--speculative-draft-model-path RedHatAI/gpt-oss-20b-speculator.eagle3",
			"speculative_model_dir: RedHatAI/gpt-oss-20b-speculator.eagle3"},
		{"llama-3-8b", "method: eagle, tree: {width: 2, nodes: 7}", `"method":"eagle"`,
			"--speculative-eagle-topk 2 --speculative-num-draft-tokens 8", none},
		{"llama-3.1-70b", "method: draft-model, draft: llama-3.2-1b",
			`"method":"draft_model","model":"meta-llama/Llama-3.2-1B-Instruct"`,
			"--speculative-algorithm STANDALONE --speculative-draft-model-path meta-llama/Llama-3",
			"decoding_type: DraftTarget"},
		{"llama-3.1-8b", "method: n-gram, tokens: 5",
			`{"method":"ngram","num_speculative_tokens":5}`, "--speculative-num-draft-tokens 6",
			"decoding_type: NGram"},
		{"deepseek-v3", "method: eagle", none, none, none},
		{"llama-3.1-8b", "method: medusa", none, none, none},
		{"llama-3.1-8b", "method: layer-skip, layers: 2", none, none, none},
	} {
		for engine, want := range map[string]string{"vllm": c.vllm, "sglang": c.sglang,
			"trtllm": c.trtllm} {
			b, err := launch.NewBundle(built(t, []string{"model=" + c.model, "hardware=h200-sxm",
				"parallelism={tensor: 8}", "speculation={acceptance: 0.7, " + c.drafter + "}"}),
				engine)
			testkit.OK(t, err)
			script := text(t, &b.Servers[0])
			read := func(overrides ...string) *launch.Reading {
				r, err := launch.Read(script, overrides...)
				testkit.OK(t, err)
				return r
			}
			lacks := slices.ContainsFunc(b.Notes, func(note string) bool {
				return strings.Contains(note, "no flag is written for it: ")
			})
			if starts := strings.Contains(script, "specul"); lacks != (want == none) ||
				starts == lacks || !strings.Contains(script, want) {
				t.Errorf("%s on %s: %q\n%s", c.drafter, engine, b.Notes, script)
			}
			r := read("speculation.acceptance=0.6")
			method, _, _ := strings.Cut(strings.TrimPrefix(c.drafter, "method: "), ",")
			if has := slices.Contains(r.Settings, "speculation.method="+method); has == lacks ||
				strings.Contains(strings.Join(r.Notes, "\n"), "acceptance") {
				t.Errorf("%s on %s is read as %+v", c.drafter, engine, r)
			}
			if _, err := launch.Read(script); (err != nil) == lacks ||
				err != nil && !strings.Contains(err.Error(), "speculation.acceptance=") {
				t.Errorf("%s on %s without an acceptance: %v", c.drafter, engine, err)
			}
		}
	}
}

// unsaid returns the differences that no note names by its key, or by its section, which then has
// another policy.
func unsaid(differences, notes []string) []string {
	return slices.DeleteFunc(differences, func(d string) bool {
		key, _, _ := strings.Cut(d, ":")
		section, _, _ := strings.Cut(key, ".")
		return slices.ContainsFunc(notes, func(note string) bool {
			return strings.HasPrefix(note, key) || strings.HasPrefix(note, section+" ")
		})
	})
}
