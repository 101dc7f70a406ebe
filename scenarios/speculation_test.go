package scenarios

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/policies"
)

const drafted = `
model: llama-3.1-8b
hardware: h100-sxm
engine: {max-model-len: 4096}
workload: {arrivals: {process: closed-loop, users: 4}, prompt: 200, output: 300, requests: 40}
`

// measuredTable is what the engine writes, see package internal/engine/generate.
const measuredTable = `{"drafter": "ngram-2-4", "algorithm": "chen", "gamma": 2, "temperature": 1, "steps": 1000, "tokens": 1460,
"accepted": [800, 80, 120], "positions": [{"position": 1, "drafted": 400, "accepted": 200, "acceptance_rate": 0.5},
{"position": 2, "drafted": 200, "accepted": 120, "acceptance_rate": 0.6}], "tokens_per_step": 1.46}`

func writeTable(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "acceptance.json")
	testkit.OK(t, os.WriteFile(path, []byte(measuredTable), 0o666))
	return path
}

func runText(t *testing.T, text string, overrides ...string) *Result {
	t.Helper()
	f, err := Parse("s.yaml", []byte(text), overrides...)
	return run(t, build(t, f, err))
}

// Every method runs, gives the tokens that its law says, saves what it should and says what it
// costs.
func TestMethods(t *testing.T) {
	table := writeTable(t)
	for _, c := range []struct {
		name, section string
		tokens        float64 // a step
		draft         [2]float64
	}{
		{"draft model", "{method: draft-model, draft: llama-3.2-1b, acceptance: 0.7}", 2.77,
			[2]float64{0.3, 0.7}},
		{"own accelerators", "{method: draft-model, draft: llama-3.2-1b, accelerator: l40s, " +
			"ahead: true, acceptance: 0.7}", 2.77, [2]float64{0.3, 0.85}},
		{"eagle", "{method: eagle, vocabulary: 32000, tokens: 3, acceptance: 0.8}", 2.95,
			[2]float64{0.1, 0.3}},
		{"published head", "{method: eagle, head: yuhuili/EAGLE3-LLaMA3.1-Instruct-8B, tokens: 3}",
			2.95, [2]float64{0.1, 0.3}},
		{"eagle tree", "{method: eagle, tokens: 6, tree: {width: 10, nodes: 59}, acceptance: " +
			"{law: by-position, positions: [0.71, 0.67, 0.63, 0.6, 0.57, 0.54, 0.51]}}", 4.0,
			[2]float64{0.2, 0.6}},
		{"mtp", "{method: mtp, tokens: 1, acceptance: 0.85}", 1.85, [2]float64{0.03, 0.2}},
		{"medusa", "{method: medusa, tokens: 4, tree: {width: 4, nodes: 16}, acceptance: 0.55}",
			2.70, [2]float64{0.1, 0.4}},
		{"n-gram", "{method: n-gram, tokens: 2, acceptance: {law: measured, file: " + table + "}}",
			1 + 0.4*(0.5+0.3), [2]float64{0, 0.01}},
		{"layer skip", "{method: layer-skip, layers: 16, tokens: 2, acceptance: 0.8}", 2.44,
			[2]float64{0.4, 0.6}},
		{"requests differ", "{method: eagle, tokens: 3, acceptance: {law: beta, mean: 0.7, " +
			"std: 0.2}}", 2.55, [2]float64{0.1, 0.4}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := runText(t, drafted+"speculation: "+c.section, "workload.requests=400")
			if math.Abs(r.TokensPerStep/c.tokens-1) > 0.06 {
				t.Errorf("%.3f tokens a step, want about %g", r.TokensPerStep, c.tokens)
			}
			if r.DraftTime < c.draft[0] || r.DraftTime > c.draft[1] {
				t.Errorf("drafting takes %.3f of the time, want %v", r.DraftTime, c.draft)
			}
			if r.WastedFLOPs <= 0 || r.WastedFLOPs >= 1 || r.Speedup == nil ||
				r.Speedup.TPOT < 0.5 || r.Speedup.TPOT > c.tokens {
				t.Errorf("%g of the arithmetic wasted, %+v", r.WastedFLOPs, r.Speedup)
			}
			if got := 1 + float64(r.AcceptedTokens)/float64(r.Drafts); r.AcceptanceLength != got ||
				len(r.PerPosition) == 0 {
				t.Errorf("acceptance length %g, want %g; by position %v", r.AcceptanceLength, got,
					r.PerPosition)
			}
		})
	}
}

// Drafts of no tokens change nothing but the schedule and the memory: with both as they are, the
// result is that of the scenario without.
func TestNoDraftsChangeNothing(t *testing.T) {
	with := runText(t, drafted+
		"speculation: {method: n-gram, acceptance: 0.5, baseline: skip, length: {policy: "+
		"by-batch, schedule: '1:0'}}", "engine.preset=vllm-v1-sync")
	without := runText(t, drafted, "engine.preset=vllm-v1-sync")
	if with.Drafts != 0 || with.TokensPerStep != 1 || with.Speedup != nil {
		t.Errorf("drafts: %+v", with.SpeculationResult)
	}
	if diff := cmp.Diff(without.Summary, with.Summary); diff != "" {
		t.Errorf("without (-) and with no drafts (+):\n%s", diff)
	}
}

// Whatever the parts, the same seed gives the same result, all requests are answered, and the
// summary holds together.
func TestSpeculationComposes(t *testing.T) {
	registry := policies.Default()
	rapid.Check(t, func(t *rapid.T) {
		text := drafted + "speculation: {baseline: skip, acceptance: 0.6, tokens: " +
			rapid.SampledFrom([]string{"1", "3", "8"}).Draw(t, "tokens") +
			", method: " + rapid.SampledFrom([]string{"eagle", "mtp", "medusa", "n-gram",
			"layer-skip, layers: 9", "draft-model, draft: llama-3.2-1b"}).Draw(t, "method") +
			", length: " + registry.Drafting.Policies[rapid.IntRange(0,
			len(registry.Drafting.Policies)-1).Draw(t, "length")].Name + "}\n"
		overrides := []string{
			"batching.policy=" +
				registry.Batching.Policies[rapid.IntRange(0,
					len(registry.Batching.Policies)-1).Draw(t, "batching")].Name,
			"memory.policy=" +
				rapid.SampledFrom([]string{"paged", "prefix-cache", "contiguous"}).Draw(t,
					"memory"),
			"parallelism.tensor=" + rapid.SampledFrom([]string{"1", "2"}).Draw(t, "tensor"),
			"seed=" + rapid.StringMatching("[1-9]").Draw(t, "seed"),
		}
		if rapid.Bool().Draw(t, "disaggregated") {
			overrides = append(overrides,
				"fleet.pools=[{role: prefill, replicas: 1}, {role: decode, replicas: 2}]")
		}
		both := [2]*Result{}
		for i := range both {
			f, err := Parse("s.yaml", []byte(text), overrides...)
			testkit.OK(t, err)
			s, err := f.Build(registry)
			testkit.OK(t, err)
			if both[i], err = s.Run(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		r := both[0]
		if diff := cmp.Diff(r, both[1]); diff != "" {
			t.Fatalf("two runs of the same differ:\n%s", diff)
		}
		if r.Completed != 40 || r.TotalOutputTokens != 40*300 || r.AcceptedTokens > r.DraftTokens ||
			r.TokensPerStep < 1 {
			t.Fatalf("%d requests, %d tokens: %+v", r.Completed, r.TotalOutputTokens,
				r.SpeculationResult)
		}
	})
}

// A drafter on the same accelerators takes its part of the memory, one with its own does not.
func TestDrafterTakesMemory(t *testing.T) {
	tokens := func(section string) int {
		f, err := Parse("s.yaml", []byte(drafted+section))
		return build(t, f, err).Memory.Tokens
	}
	without := tokens("")
	for section, share := range map[string][2]float64{
		"{method: draft-model, draft: llama-3.2-1b, acceptance: 0.7}": {
			0.70, 0.80}, // 2.5 of 56 GB, and 32 beside 128 KiB a token
		"{method: draft-model, draft: llama-3.2-1b, accelerator: h200, acceptance: 0.7}": {1, 1},
		"{method: eagle, vocabulary: 32000, acceptance: 0.7}": {
			0.94, 0.97}, // a layer of 32, and 0.8 GB
		"{method: n-gram, acceptance: 0.7}":                {1, 1},
		"{method: layer-skip, layers: 8, acceptance: 0.7}": {1, 1},
		"{method: medusa, acceptance: 0.7}": {
			0.90, 0.95}, // four heads of 1.05 GB
		"{method: draft-model, draft: llama-3.2-1b, weights: fp8, acceptance: 0.7}": {
			0.71, 0.81},
		"{method: mtp, acceptance: 0.7}": {
			0.95, 0.98},
		"{method: draft-model, draft: llama-3.2-1b, accelerator: l40s, acceptance: 0.7}": {1, 1},
		"{method: draft-model, draft: llama-3.1-8b, accelerator: l40s, acceptance: 0.99}": {
			0.3, 0.6}, // whose own memory binds
	} {
		got := float64(tokens("speculation: "+section)) / float64(without)
		if got < share[0]-1e-9 || got > share[1]+1e-9 {
			t.Errorf("%s: %.3f of the KV tokens are left, want %v", section, got, share)
		}
	}
}

// A prediction module over data-parallel ranks saves what its tokens save, less what verifying and
// drafting cost, and each rank has its part of the experts.
func TestModuleOfDataParallelRanks(t *testing.T) {
	const text = "model: deepseek-v3\nhardware: h200-sxm\nparallelism: {tensor: 1, data: 16}\n" +
		"engine: {max-model-len: 8192}\nbatching: {max-sequences: 512}\nworkload: {arrivals: " +
		"{process: closed-loop, users: 128}, prompt: 200, output: 100, requests: 256}\n"
	plain := runText(t, text)
	drafts := func(rate string) *Result {
		return runText(t, text,
			"speculation={method: mtp, tokens: 1, acceptance: {rate: "+rate+"}}")
	}
	hardly, mostly := drafts("0.001"), drafts("0.9")
	if hardly.MeanTPOT <= plain.MeanTPOT {
		t.Errorf("drafts that are hardly ever accepted take %g ms a token, %g without",
			hardly.MeanTPOT, plain.MeanTPOT)
	}
	if gain := plain.MeanTPOT / mostly.MeanTPOT; gain <= 1.2 || gain >= 1.9 {
		t.Errorf("drafts of which nine of ten are accepted gain %g, want 1.2 to 1.9", gain)
	}
	f, err := Parse("s.yaml", []byte(text),
		"speculation={method: mtp, tokens: 1, acceptance: {rate: 0.9}}")
	testkit.OK(t, err)
	m, err := f.Memory(policies.Default())
	testkit.OK(t, err)
	// A sixteenth of 11.27 GB of experts, and some 0.2 to 0.4 GB that every rank has.
	if got := m.Plan.Draft / 1e9; got < 0.9 || got > 1.1 {
		t.Errorf("the module takes %.2f GB of each rank, want 0.9 to 1.1", got)
	}
}

// A head that is named gives its measured acceptance and its vocabulary, with the source in a note;
// what is given stays.
func TestHeadsGiveTheirAcceptance(t *testing.T) {
	const head = "speculation={method: eagle, head: yuhuili/EAGLE3-LLaMA3.1-Instruct-8B, tokens: 3"
	named := runText(t, drafted, head+"}")
	given := runText(t, drafted, "speculation={method: eagle, vocabulary: 32000, tokens: 3, "+
		"acceptance: 0.8}")
	if named.MeanTPOT != given.MeanTPOT || *named.Speedup != *given.Speedup {
		t.Errorf("TPOT %g and %g", named.MeanTPOT, given.MeanTPOT)
	}
	if words := strings.Join(named.Warnings, "\n"); !strings.Contains(words, "2503.01840") {
		t.Errorf("no source in %q", words)
	}
	own := runText(t, drafted, head+", acceptance: 0.3}")
	if words := strings.Join(own.Warnings, "\n"); strings.Contains(words, "2503.01840") ||
		own.MeanTPOT <= named.MeanTPOT {
		t.Errorf("TPOT %g with fewer accepted tokens; %q", own.MeanTPOT, words)
	}
}

func TestBadSpeculation(t *testing.T) {
	for _, c := range []struct{ section, override, want string }{
		{"{method: eagle}", "", "s.yaml:6: speculation.acceptance: must be given, such as 0.7, " +
			"or speculation.head: measured for llama-3.1-8b are " +
			"yuhuili/EAGLE-LLaMA3.1-Instruct-8B, yuhuili/EAGLE3-LLaMA3.1-Instruct-8B"},
		{"{method: medusa}", "", "s.yaml:6: speculation.acceptance: must be given, such as 0.7: " +
			"no measured acceptance of medusa is known for llama-3.1-8b"},
		{"{method: eagle, head: yuhuili/EAGLE3-LLaMA3.1-8B}", "", "speculation.head: unknown " +
			`head "yuhuili/EAGLE3-LLaMA3.1-8B"; known: yuhuili/EAGLE`},
		{"{method: eagle, head: Inferact/MiniMax-M3-EAGLE3}", "", "speculation.head: found " +
			"Inferact/MiniMax-M3-EAGLE3, which is for minimax-m3 and method eagle; here the model"},
		{"{method: eagel, acceptance: 0.5}", "",
			`speculation.method: found "eagel"; did you mean eagle?`},
		{"{method: draft-model, acceptance: 0.5}", "",
			"speculation.draft: must be given where method is draft-model"},
		{"{method: eagle, draft: llama-3.2-1b, acceptance: 0.5}", "",
			"speculation.draft: applies only where method is draft-model; here it is eagle"},
		{"{method: draft-model, draft: llama-3.2-2b, acceptance: 0.5}", "",
			`speculation.draft: unknown model "llama-3.2-2b"; did you mean llama-3.2-1b`},
		{"{method: draft-model, draft: llama-2-7b, acceptance: 0.5}", "",
			"speculation.draft: llama-2-7b has 32000 tokens and llama-3.1-8b has 128256: a draft " +
				"must be in the model's own tokens. It could be llama-3.2-1b"},
		{"{method: eagle, acceptance: 0.5}", "parallelism.data=2",
			"speculation.method: found eagle; of data-parallel ranks only drafts of mtp"},
		{"{method: eagle, acceptance: 0.5}", "parallelism.pipeline=2",
			"parallelism.pipeline: found 2; drafts are verified in a replica of one stage"},
		{"{method: draft-model, draft: llama-3.2-1b, ahead: true, acceptance: 0.5}", "",
			"speculation.ahead: needs accelerators of the draft model's own"},
		{"{method: draft-model, draft: llama-3.2-1b, tensor: 2, acceptance: 0.5}", "",
			"speculation.tensor: found 2; the model has 1 accelerators"},
		{"{method: draft-model, draft: llama-3.1-70b, accelerator: l4, acceptance: 0.5}", "",
			"speculation.accelerator: llama-3.1-70b does not fit"},
		{"{method: layer-skip, layers: 32, acceptance: 0.5}", "",
			"speculation.layers: found 32; allowed: 1 to 31"},
		{"{method: eagle, vocabulary: 200000, acceptance: 0.5}", "",
			"speculation.vocabulary: found 200000; llama-3.1-8b has 128256 tokens"},
		{"{method: eagle, acceptance: 1.5}", "",
			"speculation.acceptance.rate: found 1.5; must be at most 1"},
		{"{method: eagle, acceptance: {law: by-position, positions: [0.5, -1]}}", "",
			"speculation.acceptance.positions.1: found -1; must be at least 0"},
		{"{method: eagle, acceptance: {law: beta, mean: 0.7, std: 0.45}}", "",
			"speculation.acceptance: the standard deviation of the acceptance rate is 0.45; with " +
				"a mean of 0.7 it must be more than 0 and at most"},
		{"{method: eagle, acceptance: {law: measured, file: nowhere.json}}", "",
			"speculation.acceptance: nowhere.json: no such file"},
		{"{method: eagle, tokens: 5, tree: {width: 2, nodes: 3}, acceptance: 0.5}", "",
			"speculation.tree: 3 tokens to verify are fewer than the 5 tokens in a row"},
		{"{method: n-gram, tree: {width: 2}, acceptance: 0.5}", "",
			"speculation.tree: applies only where method is draft-model or eagle or medusa"},
		{"{method: n-gram, scheduling: asynchronous, acceptance: 0.5}", "",
			"speculation.scheduling: found asynchronous; n-gram drafts from tokens that the host " +
				"must have seen"},
		{"{method: eagle, scheduling: asynchronous, acceptance: 0.5}", "engine.preset=vllm-v1-sync",
			"speculation.scheduling: found asynchronous; the engine vllm-v1-sync schedules step " +
				"by step"},
		{"{method: eagle, length: best, acceptance: 0.5}", "",
			`speculation.length.policy: unknown draft-length policy "best"`},
		{"{method: eagle, length: {policy: by-batch, schedule: '8:3, 4:1'}, acceptance: 0.5}", "",
			"speculation.length.schedule: 4 sequences come after 8"},
		{"{method: eagle, length: {policy: adaptive, initial: 2}, acceptance: 0.5}", "",
			"speculation.length: initial acceptance is 2"},
	} {
		var overrides []string
		if c.override != "" {
			overrides = []string{c.override}
		}
		f, err := Parse("s.yaml", []byte(drafted+"speculation: "+c.section), overrides...)
		if err == nil {
			_, err = f.Build(policies.Default())
		}
		if !IsInputError(err) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s:\ngot  %v\nwant %s", c.section, err, c.want)
		}
	}
}

// Where a scenario does not run without its drafts, its own figures are given all the same, and a
// note says why there is no speed-up. The cache has a fixed number of tokens here. Without the
// drafts' keys and values tokens are smaller, the hybrid's state takes the place of more of them,
// and the longest context is shorter.
func TestBaselinesThatDoNotRunAreNoted(t *testing.T) {
	r := runYAML(t, `model: qwen3-next-80b-a3b
hardware: a100-80gb-pcie
memory: {policy: prefix-cache, block-size: 64, tokens: 4267}
speculation: {method: mtp, acceptance: 0.8}
workload: {requests: 1, prompt: 33, output: 9}
`)
	const words = "the speed-up by drafts is not known"
	if r.Completed != 1 || r.Speedup != nil ||
		!strings.Contains(strings.Join(r.Warnings, "\n"), words) {
		t.Errorf("%d completed, speed-up %+v, notes %q", r.Completed, r.Speedup, r.Warnings)
	}
}

// The memory, the steps and the simulation of a scenario hold the same tokens, also where a draft
// model's own accelerator holds fewer than the model's.
func TestDraftModelsElsewhereLimitTheCacheOnce(t *testing.T) {
	for _, own := range []string{"", ", accelerator: h200-sxm", ", accelerator: rtx-5090-laptop"} {
		f, err := Parse("t.yaml", []byte("model: llama-3.1-8b\nhardware: h100-sxm\nspeculation: "+
			"{draft: llama-3.2-1b, acceptance: 0.8"+own+"}\nworkload: {requests: 1}\n"))
		s := build(t, f, err)
		steps, err := f.Steps(policies.Default())
		testkit.OK(t, err)
		memory, err := f.Memory(policies.Default())
		testkit.OK(t, err)
		if n := s.Servers()[0].Plan.Tokens; steps.Memory.Tokens != n || memory.Plan.Tokens != n {
			t.Errorf("drafts%s: the cache holds %d tokens, of steps %d, of memory %d", own, n,
				steps.Memory.Tokens, memory.Plan.Tokens)
		}
	}
}
