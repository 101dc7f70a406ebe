package engines_test

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/llmsim/llmsim/internal/launch"
	"github.com/llmsim/llmsim/internal/launch/engines"
	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/internal/units"
	"github.com/llmsim/llmsim/policies"
	"github.com/llmsim/llmsim/scenarios"
	"github.com/llmsim/llmsim/sim"
)

// Each form of a command starts one engine with whatever follows it, from any folder and under any
// version of Python; what is shorter, or another program, starts nothing.
func TestCommandsStartOneEngine(t *testing.T) {
	forms := map[string]string{"vllm serve": "vllm", "sglang serve": "sglang",
		"python -m vllm.entrypoints.openai.api_server": "vllm", "python -m dynamo.vllm": "vllm",
		"python -m sglang.launch_server": "sglang", "python -m dynamo.sglang": "sglang",
		"python -m dynamo.trtllm": "trtllm", "trtllm-serve serve": "trtllm",
		"trtllm-serve":               "trtllm",
		"trtllm-serve disaggregated": "", "trtllm-serve disaggregated_mpi_worker": "",
		"python -m http": "", "python -c vllm": "", "vllm bench": "", "sglang bench": "",
		"perl -m dynamo.vllm": "", "perl -m dynamo.sglang": "", "perl -m dynamo.trtllm": "",
		"python -c dynamo.vllm": "", "python -c dynamo.sglang": "", "python -c dynamo.trtllm": "",
		"other serve": ""}
	for form, engine := range forms {
		for _, rest := range [][]string{nil, {"m"}, {"m", "--x", "1"}} {
			words := strings.Fields(form)
			whole := slices.Concat(words, rest)
			for _, e := range engines.All() {
				want := 0
				if e.Name == engine {
					want = len(words)
				}
				for _, before := range []string{"", "/usr/bin/"} {
					whole[0] = before + strings.Replace(words[0], "python", "python3.12", 1)
					if got := e.Starts(whole); got != want {
						t.Errorf("%q starts %s by %d words, want %d", whole, e.Name, got, want)
					}
				}
				for n := range words {
					if n == 1 && words[0] == "trtllm-serve" {
						continue // which is whole
					}
					if got := e.Starts(words[:n]); got != 0 {
						t.Errorf("%q starts %s by %d words", words[:n], e.Name, got)
					}
				}
			}
		}
	}
}

// A command is read as the accelerators, the host memory and the limits that the engine takes for
// it, in whatever parts its flags count them.
func TestACommandIsReadWithAllThatItTakes(t *testing.T) {
	for _, name := range engines.Names() {
		rapid.Check(t, func(t *rapid.T) { readsAllThatItTakes(t, name) })
	}
}

func readsAllThatItTakes(t *rapid.T, name string) {
	n := func(name string) int { return rapid.IntRange(1, 6).Draw(t, name) }
	tensor, pipeline, data, size, limit := n("tensor"), n("pipeline"), n("data"), n("GB"),
		n("limit")
	experts := rapid.Bool().Draw(t, "experts")
	var line string
	accelerators, parts, ranks := tensor*pipeline, tensor*pipeline, 1
	switch attention := rapid.Bool().Draw(t, "attention"); name {
	case "vllm":
		line = fmt.Sprintf("vllm serve m -tp %d -pp %d -dp %d --max-num-seqs %d "+
			"--num-gpu-blocks-override %d --kv-offloading-size %g", tensor, pipeline, data,
			limit, limit, float64(size)*1e9/(1<<30))
		if accelerators *= data; experts {
			line, ranks = line+" -ep", data
		}
		parts, limit = ranks, limit*ranks
	case "sglang":
		line = fmt.Sprintf("sglang serve --model m --tp %d --pp %d --dp %d "+
			"--max-running-requests %d --max-total-tokens %d --enable-hierarchical-cache "+
			"--hicache-size %d", tensor, pipeline, data, limit, 16*limit, size)
		if attention {
			line += " --enable-dp-attention"
		} else {
			accelerators *= data
		}
	default:
		line = fmt.Sprintf("cat >f <<E\nkv_cache_config: {host_cache_size: %d000000000, "+
			"max_tokens: %d}\nenable_attention_dp: %t\nE\ntrtllm-serve m --tp_size %d "+
			"--pp_size %d --max_batch_size %d --config f", size, 16*limit, attention, tensor,
			pipeline, limit)
		if attention {
			limit *= tensor
		}
	}
	r, err := launch.Read(line)
	if strings.Contains(line, "--enable-dp-attention") && tensor%data != 0 {
		if err == nil || !strings.Contains(err.Error(), "does not divide") {
			t.Fatalf("%s: %v", line, err)
		}
		return
	}
	testkit.OK(t, err)
	set := map[string]string{}
	for _, setting := range r.Settings {
		key, value, _ := strings.Cut(setting, "=")
		set[key] = value
	}
	got := 1
	for _, key := range []string{"parallelism.tensor", "parallelism.pipeline",
		"parallelism.data", "replicas"} {
		if n, err := strconv.Atoi(set[key]); err == nil {
			got *= n
		}
	}
	memory, err := units.ParseBytes(set["memory.cpu"])
	if err != nil || got != accelerators ||
		math.Abs(memory-float64(size*parts)*1e9) > float64(parts) {
		t.Fatalf("%s\nis read as %d accelerators with %g bytes, want %d, %d GB: %q", line, got,
			memory, accelerators, size*parts, r.Settings)
	}
	if set["batching.max-sequences"] != strconv.Itoa(limit) ||
		set["memory.tokens"] != strconv.Itoa(16*limit) {
		t.Fatalf("%s\nwith a limit of %d is read as %q", line, limit, r.Settings)
	}
	if degree := set["parallelism.expert"]; name == "vllm" &&
		(degree == strconv.Itoa(tensor)) != (experts && data == 1 && tensor > 1) {
		t.Fatalf("%s\nspreads experts over %q", line, degree)
	}
}

// An autoscaler has the least replicas of a policy, holds replicas for as long as the policy keeps
// them, up to an hour, and wants its target to a thousandth; what it does otherwise is said by the
// key. Without a policy, or without metrics of the engine, there is no autoscaler.
func TestAutoscalersDoWhatPoliciesAsk(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		target := float64(rapid.IntRange(1, 70_000).Draw(t, "thousandths")) / 1000
		least := rapid.IntRange(0, 5).Draw(t, "least")
		keep := rapid.IntRange(0, 8000).Draw(t, "keep")
		every := rapid.SampledFrom([]string{"15s", "10s"}).Draw(t, "every")
		policy := rapid.SampledFrom([]string{"outstanding", "queue", "schedule"}).Draw(t, "policy")
		s := &scenarios.Scaling{Policy: policy, Min: &least, Params: map[string]string{
			"target": fmt.Sprint(target), "per-replica": fmt.Sprint(target),
			"keep": fmt.Sprintf("%gs", float64(keep)/2)}}
		testkit.OK(t, s.Every.UnmarshalText([]byte(every)))
		for _, e := range engines.All() {
			a, said := e.Autoscaler(s), e.Unscaled("p", s)
			for _, note := range said {
				if !strings.HasPrefix(note, "fleet.pools p: scaling ") {
					t.Fatalf("note %q", note)
				}
			}
			if e.Waiting == "" {
				if a != nil || len(said) != 1 || !strings.Contains(said[0], "no autoscaler") {
					t.Fatalf("%s: %+v, %q", e.Name, a, said)
				}
				continue
			}
			if a.Least != max(1, least) || a.Hold != min((keep+1)/2, 3600) {
				t.Fatalf("%+v of %+v", a, s)
			}
			want := map[string]float64{e.Waiting: target}
			switch policy {
			case "outstanding":
				want[e.Running] = target
			case "schedule":
				want[e.Waiting] = 1
			}
			for _, m := range a.Metrics {
				digits, thousandths := strings.CutSuffix(m.Target, "m")
				n, err := strconv.ParseFloat(digits, 64)
				testkit.OK(t, err)
				if thousandths {
					n /= 1000
				}
				if math.Abs(n-want[m.Name]) > 1e-9 {
					t.Fatalf("%s %s, want %g", m.Name, m.Target, want[m.Name])
				}
				delete(want, m.Name)
			}
			for key, is := range map[string]bool{"every " + every: every != "15s",
				"min 0": least == 0,
				"keep ": keep > 7200, policy: true} {
				if slices.ContainsFunc(said, func(note string) bool {
					return strings.Contains(note, "scaling "+key)
				}) != is {
					t.Fatalf("%q, want %q: %t", said, key, is)
				}
			}
			if len(want) > 0 {
				t.Fatalf("no target for %v", want)
			}
		}
	})
	for _, e := range engines.All() {
		none := &scenarios.Scaling{}
		if a, said := e.Autoscaler(none), e.Unscaled("p", none); a != nil || len(said) > 0 {
			t.Errorf("without a policy: %+v, %q", a, said)
		}
	}
	for _, text := range []string{"0.0001", "2e9", "x"} {
		a := engines.All()[0].Autoscaler(&scenarios.Scaling{Policy: "queue",
			Params: map[string]string{"per-replica": text}})
		if a.Metrics[0].Target != "1" {
			t.Errorf("a target of %s is %s", text, a.Metrics[0].Target)
		}
	}
}

// A setting that an engine has no flag for adds notes that begin with its key, and only under such
// an engine; a scenario of what flags express has no note.
func TestWhatHasNoFlagIsSaid(t *testing.T) {
	const pools = "fleet.pools=[{role: prefill, replicas: 1}, {role: decode, replicas: 1}]"
	for _, c := range []struct{ setting, key, engines string }{
		{"routing=kv-aware", "", "vllm sglang trtllm"},
		{"replicas=2", "", "vllm sglang trtllm"},
		{"replicas=2; routing=kv-aware", "routing kv-aware: ", ""},
		{"batching.prefill-interval=2", "batching.prefill-interval 2: vLLM has it",
			"sglang trtllm"},
		{"batching.prefill-interval=1", "batching.prefill-interval 1: vLLM has it",
			"vllm sglang trtllm"},
		{"engine.preset=sglang", "engine.preset sglang is simulated", "sglang"},
		{"speculation={method: n-gram, match: 0.5, acceptance: 0.7}; parallelism={tensor: 2}",
			"parallelism", "vllm sglang trtllm"},
		{"engine.kv-cache=int8", "engine.kv-cache int8: ", ""},
		{"engine.kv-cache=fp8", "engine.kv-cache", "vllm sglang trtllm"},
		{pools, "fleet.pools: a request goes to prefill", "sglang trtllm"},
		{pools, "fleet.pools: clients need a proxy", "vllm"},
		{pools, "engine.scheduling: under TensorRT-LLM", "vllm sglang"},
		{"batching=priority", "batching priority: only vLLM", "vllm"},
		{"batching=orca", "batching orca: ", ""},
		{"fleet.pools=[{name: a, replicas: 1}, {name: b, replicas: 1, hardware: l40s}]",
			"fleet.pools: where a cluster has several", ""},
		{"fleet.pools=[{name: a, replicas: 1}, {name: b, replicas: 1}]", "fleet.pools",
			"vllm sglang trtllm"},
		{"parallelism={tensor: 1, data: 2}; model=deepseek-v2-lite; batching.max-sequences=9",
			"batching.max-sequences 9: each of 2 ranks has a limit of its own, 5", "sglang"},
		{"parallelism={tensor: 1, data: 2}; model=deepseek-v2-lite; batching.max-sequences=10",
			"batching.max-sequences", "vllm sglang trtllm"},
		{"model=llama-2-7b; engine.weights=mxfp4", "engine.weights mxfp4: no published", ""},
	} {
		for _, e := range engines.All() {
			settings := []string{"model=llama-3.1-8b", "hardware=h200-sxm"}
			if !strings.HasPrefix(c.setting, "batching") {
				settings = append(settings, "engine.preset="+map[string]string{"vllm": "vllm-v1",
					"sglang": "sglang", "trtllm": "trtllm"}[e.Name])
			}
			settings = append(settings, strings.Split(c.setting, "; ")...)
			simulation, err := build(settings)
			if err != nil {
				t.Errorf("%s, %s: %v", c.setting, e.Name, err)
				continue
			}
			notes := engines.Missing(simulation, e, engines.Groups(simulation))
			said := slices.ContainsFunc(notes, func(note string) bool {
				return c.key != "" && strings.HasPrefix(note, c.key)
			})
			silent := strings.Contains(c.engines, e.Name)
			if said == silent || c.key == "" && len(notes) > 0 {
				t.Errorf("%s under %s: notes %q, want one with %q: %t", c.setting, e.Name, notes,
					c.key, !silent)
			}
			if !slices.IsSorted(notes) || len(slices.Compact(slices.Clone(notes))) != len(notes) {
				t.Errorf("%s under %s: notes %q", c.setting, e.Name, notes)
			}
		}
	}
}

// Each published EAGLE head is written for its model, and read as a head of it.
func TestEachPublishedHeadIsWritten(t *testing.T) {
	for model, head := range map[string]string{"llama-2-7b": "llama2-chat-7B",
		"llama-2-13b": "llama2-chat-13B", "llama-2-70b": "llama2-chat-70B",
		"llama-3-8b": "LLaMA3-Instruct-8B", "llama-3-70b": "LLaMA3-Instruct-70B",
		"mixtral-8x7b": "mixtral-instruct-8x7B"} {
		simulation := built(t, []string{"model=" + model, "hardware=h200-sxm",
			"parallelism.tensor=4", "speculation={method: eagle, acceptance: 0.7}"})
		b, err := launch.NewBundle(simulation, "vllm")
		testkit.OK(t, err)
		script := text(t, &b.Servers[0])
		r, err := launch.Read(script, "speculation.acceptance=0.7")
		if err != nil || !strings.Contains(script, head) ||
			!slices.Contains(r.Settings, "speculation.method=eagle") {
			t.Errorf("%s: %s\n%+v, %v", model, script, r, err)
		}
	}
}

// Events of what is cached are asked of replicas that keep prompts, for a router that listens, and
// change nothing else.
func TestEventsAreForRoutersThatListen(t *testing.T) {
	simulation := built(t, []string{"model=llama-3.1-8b", "hardware=h200-sxm",
		"fleet.pools=[{role: prefill, replicas: 1}, {role: decode, replicas: 1}]"})
	for _, g := range engines.Groups(simulation) {
		for _, e := range engines.All() {
			quiet, _ := e.WorkerWords(&g.Replica, false)
			words, _ := e.WorkerWords(&g.Replica, true)
			added := slices.DeleteFunc(slices.Clone(words), func(word string) bool {
				return slices.Contains(quiet, word)
			})
			wants := e.Name != "vllm" || g.Role != "decode"
			if wants != (len(added) > 0) || wants && !strings.Contains(added[0], "events") ||
				len(words) != len(quiet)+len(added) {
				t.Errorf("%s, %s: %q adds %q", e.Name, g.Role, words, added)
			}
		}
	}
}

// The group of a pool has the sections that the pool gives, and the scenario's where it gives none.
func TestGroupsHaveTheirOwnSections(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		settings := []string{"model=llama-3.1-8b", "hardware=h200-sxm", "engine.graph=32",
			"parallelism.tensor=2", "batching.max-sequences=24", "memory.utilization=0.8"}
		own, pools := [2][]bool{}, ""
		for i := range own {
			pools += fmt.Sprintf(", {role: %s, replicas: %d", []string{"prefill", "decode"}[i], i+2)
			for j, section := range []string{"hardware: h100-sxm", "engine: {graph: 64}",
				"parallelism: {tensor: 4, pipeline: 2}",
				"batching: {max-sequences: 48}",
				"memory: {utilization: 0.9}", "scaling: {policy: queue, min: 1}",
				"engine: {eager: true}", fmt.Sprintf("name: mine%d", i)} {
				given := rapid.Bool().Draw(t, section) && (j != 6 || !own[i][1])
				if own[i] = append(own[i], given); given {
					pools += ", " + section
				}
			}
			pools += "}"
		}
		groups := engines.Groups(built(t, append(settings, "fleet.pools=["+pools[2:]+"]")))
		for i := range own {
			choose := func(j int, yes, no any) any {
				if own[i][j] {
					return yes
				}
				return no
			}
			g, role := &groups[i], []string{"prefill", "decode"}[i]
			graph := choose(1, 64, choose(6, 0, 32))
			for what, pair := range map[string][2]any{
				"accelerator": {g.Hardware.Accelerator, choose(0, "h100-sxm", "h200-sxm")},
				"graph":       {g.Graph, graph}, "eager": {g.Engine.Eager, own[i][6]},
				"tensor":       {g.Parallelism.Tensor, choose(2, 4, 2)},
				"sequences":    {g.Batching.Params["max-sequences"], choose(3, "48", "24")},
				"utilization":  {fmt.Sprint(g.Memory.Utilization), choose(4, "0.9", "0.8")},
				"scaling":      {g.Scaling.Policy, choose(5, "queue", "")},
				"pool":         {g.Pool, choose(7, fmt.Sprintf("mine%d", i), "")},
				"role":         {g.Role, role},
				"name":         {g.Name, fmt.Sprintf("%s-%d", role, i)},
				"replicas":     {g.Replicas, i + 2},
				"accelerators": {g.Accelerators(), choose(2, 8, 2)}} {
				if pair[0] != pair[1] {
					t.Fatalf("%s of pool %d is %v, want %v: %s", what, i, pair[0], pair[1], pools)
				}
			}
		}
	})
}

// Only a replica that computes a phase alone is told by what it transfers KV caches; a draft model
// is not quantised with its model.
func TestPhasesTransfer(t *testing.T) {
	for _, pools := range []string{"[{name: a, replicas: 1}]",
		"[{role: prefill, replicas: 1}, {role: decode, replicas: 1}]"} {
		simulation := built(t, []string{"model=qwen3-8b", "hardware=h200-sxm",
			"engine.weights=fp8", "speculation={method: draft-model, draft: qwen3-0.6b, " +
				"acceptance: 0.7}", "fleet.pools=" + pools})
		for _, g := range engines.Groups(simulation) {
			for _, e := range engines.All() {
				words, config := e.WorkerWords(&g.Replica, false)
				text := fmt.Sprint(words, config)
				transfers := strings.Contains(text, "-transfer-") ||
					strings.Contains(text, "transceiver")
				if transfers != (g.Role != "mixed") {
					t.Errorf("%s, %s: %s", e.Name, g.Role, text)
				}
				if strings.Contains(text, "unquant") != (e.Name == "sglang") {
					t.Errorf("%s, %s: %s", e.Name, g.Role, text)
				}
			}
		}
	}
}

// An option that sets a parameter of an engine's own batching policy is called as the parameter's
// tag says, and is written where the parameter is not the policy's default, and only there.
func TestParametersHaveTheOptionsOfTheirTags(t *testing.T) {
	presets := map[string]string{"vllm": "vllm-v1", "sglang": "sglang", "trtllm": "trtllm"}
	other := map[string]string{"chunk-limit": "512", "receive-interval": "4", "wait-steps": "3",
		"wait-tokens": "0.5", "rank-wait": "7", "prefill-interval": "2"}
	found := 0
	for _, e := range engines.All() {
		family := &policies.Default().Batching
		own := slices.IndexFunc(family.Policies, func(p policies.Policy[sim.Scheduler]) bool {
			return p.Name == presets[e.Name]
		})
		for _, s := range family.Policies[own].Params() {
			name, value := s.Tag.Get("engine"), other[s.Name]
			flag, known := e.Table.Flag("batching." + s.Name)
			if name == "" || value == "" || !known {
				continue
			}
			found++
			if !strings.Contains(strings.ReplaceAll(flag, "-", "_"), name) {
				t.Errorf("%s: batching.%s is %s by its tag, and its option %s", e.Name, s.Name,
					name, flag)
			}
			for setting, want := range map[string]bool{s.Default: false, value: true} {
				groups := engines.Groups(built(t, []string{"model=llama-3.1-8b",
					"hardware=h200-sxm", "engine.preset=" + presets[e.Name],
					"batching=" + presets[e.Name], "batching." + s.Name + "=" + setting}))
				words, config := e.Words(&groups[0].Replica)
				section, _, _ := strings.Cut(flag, ".")
				written := slices.Contains(words, flag) ||
					strings.Contains(config, strings.TrimPrefix(section, "."))
				if want = want && s.Name != "prefill-interval"; written != want { // since 0.25
					t.Errorf("%s: batching.%s=%s: %s is written: %t", e.Name, s.Name, setting,
						flag, written)
				}
			}
		}
	}
	if found < 6 {
		t.Errorf("%d parameters have an option", found)
	}
}

// The tree of a draft is read as it was meant: width tokens after the text, and width after each of
// width tokens at each further depth, unless a number of tokens is given.
func TestTreesOfDrafts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		width, depth := rapid.IntRange(1, 3).Draw(t, "width"), rapid.IntRange(1, 4).Draw(t, "depth")
		whole := width
		for range depth - 1 {
			whole += width * width
		}
		nodes := rapid.IntRange(0, whole).Draw(t, "nodes")
		tree := fmt.Sprintf("width: %d", width)
		if nodes > 0 {
			tree += fmt.Sprintf(", nodes: %d", nodes)
		}
		simulation, err := build([]string{"model=llama-3-8b", "hardware=h200-sxm",
			"engine.preset=sglang", fmt.Sprintf("speculation={method: eagle, acceptance: 0.7, "+
				"tokens: %d, tree: {%s}}", depth, tree)})
		if err != nil {
			t.Skip(err)
		}
		b, err := launch.NewBundle(simulation, "sglang")
		testkit.OK(t, err)
		r, err := launch.Read(text(t, &b.Servers[0]), "speculation.acceptance=0.7")
		testkit.OK(t, err)
		set := fmt.Sprint(r.Settings)
		if strings.Contains(set, fmt.Sprintf("speculation.tree.width=%d", width)) != (width > 1) ||
			!strings.Contains(set, fmt.Sprintf("speculation.tokens=%d", depth)) ||
			strings.Contains(set, fmt.Sprintf("speculation.tree.nodes=%d", nodes)) !=
				(width > 1 && nodes > 0 && nodes != whole) {
			t.Fatalf("%s to a depth of %d, of %d tokens, is read as %s", tree, depth, whole, set)
		}
	})
}
