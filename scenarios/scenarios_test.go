package scenarios

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/llmsim/llmsim/internal/strict"
	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/policies"
	"github.com/llmsim/llmsim/sim"
)

// tinyTrace is a trace in our own format, for scenarios that replay one.
const tinyTrace = "arrival_s,prompt_tokens,output_tokens,class\n" +
	"0,10,5,chat\n0.5,3000,20,chat\n0.75,200000,2,chat\n"

func writeTrace(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "trace.csv")
	testkit.OK(t, os.WriteFile(path, []byte(tinyTrace), 0o666))
	return path
}

func build(t *testing.T, f *File, err error) *Simulation {
	t.Helper()
	testkit.OK(t, err)
	s, err := f.Build(policies.Default())
	testkit.OK(t, err)
	return s
}

func run(t *testing.T, s *Simulation) *Result {
	t.Helper()
	r, err := s.Run(context.Background())
	testkit.OK(t, err)
	return r
}

// Every shipped scenario is short and commented, runs, and passes its own schema; with all defaults
// written out, it is accepted again, explains itself in the same words, and gives the same result.
func TestShippedScenarios(t *testing.T) {
	keepCatalogues(t)
	schema, err := scenarioSchema(t).Resolve(nil)
	testkit.OK(t, err)
	fewer := map[string][]string{"autoscaling": {"workload.duration=3h"},
		"papers/queue": {"workload.requests=30000"}, "speed": {"workload.requests=10000"}}
	for _, name := range Shipped() {
		t.Run(name, func(t *testing.T) {
			text, err := ReadShipped(name)
			testkit.OK(t, err)
			if lines := bytes.Count(text, []byte("\n")); lines >= 40 || text[0] != '#' {
				t.Errorf("%d lines, starting with %q; want fewer than 40, the first a comment",
					lines, text[0])
			}
			var overrides []string
			if bytes.Contains(text, []byte("trace:")) {
				overrides = []string{"workload.trace.file=" + writeTrace(t)}
			}
			if testing.Short() {
				overrides = append(overrides, fewer[name]...)
			}
			f, err := Load(name, overrides...)
			first := build(t, f, err)
			explained, err := first.Explain()
			testkit.OK(t, err)
			f, err = Parse("explained.yaml", explained)
			second := build(t, f, err)
			for _, form := range []any{f.Scenario, second.Scenario} {
				if plain, err := strict.Plain(form); err != nil || schema.Validate(plain) != nil {
					t.Errorf("the schema refuses it: %v, %v", err, schema.Validate(plain))
				}
			}
			if diff := cmp.Diff(first.Scenario, second.Scenario); diff != "" {
				t.Errorf("not the same with defaults written out:\n%s", diff)
			}
			if diff := cmp.Diff(run(t, first), run(t, second)); diff != "" {
				t.Errorf("not the same result with defaults written out:\n%s", diff)
			}
		})
	}
}

func TestSchemaRefusesWhatTheReaderRefuses(t *testing.T) {
	schema, err := scenarioSchema(t).Resolve(nil)
	testkit.OK(t, err)
	for _, bad := range []string{
		`{"hardware": "l4"}`,
		`{"model": "a", "hardware": "l4", "modle": "b"}`,
		`{"model": "a", "hardware": "l4", "workload": {"rate": "2 apples"}}`,
		`{"model": "a", "hardware": "l4", "workload": {"prompt": {"distribution": "gauss"}}}`,
		`{"model": "a", "hardware": "l4", "workload": {"classes": []}}`,
		`{"model": "a", "hardware": "l4", "replicas": 0}`,
	} {
		var plain any
		testkit.OK(t, json.Unmarshal([]byte(bad), &plain))
		if schema.Validate(plain) == nil {
			t.Errorf("the schema accepts %s", bad)
		}
		if f, err := Parse("bad.yaml", []byte(bad)); !IsInputError(err) {
			t.Errorf("%s: the reader accepts %v (%v)", bad, f, err)
		}
	}
}

func TestBadScenarios(t *testing.T) {
	const good = "model: llama-2-7b\nhardware: a100-80gb-sxm\n"
	trace := writeTrace(t)
	for _, c := range []struct{ name, yaml, want string }{
		{"model", "model: lama-2-7b\nhardware: l4\n",
			`s.yaml:1: model: unknown model "lama-2-7b"; did you mean llama-2-7b`},
		{"config", "model: nowhere/config.json\nhardware: l4\n",
			"s.yaml:1: model: nowhere/config.json: no such file or directory"},
		{"hardware", "model: llama-2-7b\nhardware: a100-80gb-sxn\n",
			`s.yaml:2: hardware.accelerator: unknown accelerator "a100-80gb-sxn"; did you mean a100-80gb-sxm`},
		{"link", "model: llama-2-7b\nhardware: {accelerator: l4, link: nvlnk4}\n",
			`s.yaml:2: hardware.link: unknown link "nvlnk4"; did you mean nvlink4`},
		{"engine", good + "engine: vlm-v1\n", `s.yaml:3: engine.preset: `},
		{"policy", good + "batching: vllm-v2\n",
			`s.yaml:3: batching.policy: unknown batching policy "vllm-v2"; did you mean vllm-v1`},
		{"parameter", good + "batching:\n  policy: vllm-v1\n  max-sequence: 3\n",
			`s.yaml:5: batching.max-sequence: unknown parameter "max-sequence"; did you mean max-sequences`},
		{"parameter value", good + "batching: {max-sequences: many}\n",
			`s.yaml:3: batching.max-sequences: found "many"; want a whole number`},
		{"parameters together", good + "batching: {max-sequences: 64, token-budget: 32}\n",
			"s.yaml:3: batching: token-budget is 32, want at least max-sequences (64)"},
		{"does not fit", "model: llama-2-70b\nhardware: a100-80gb-sxm\nparallelism: {tensor: 1}\n",
			"It would fit with tensor parallelism 2, or on"},
		{"heads", good + "parallelism: {tensor: 3}\n",
			"s.yaml:3: parallelism: tensor parallelism 3 does not divide the 32 attention heads"},
		{"context of the model", good + "engine: {max-model-len: 5000}\n",
			"s.yaml:3: engine.max-model-len: found 5000; llama-2-7b was made for contexts of at " +
				"most 4096 tokens"},
		{"context of the cache",
			"model: llama-3.1-8b\nhardware: l4\nparallelism: 1\nengine: {max-model-len: 100000}\n",
			"s.yaml:4: engine.max-model-len: found 100000; the KV cache holds"},
		{"fixed lengths", good + "workload: {prompt: 4000, output: 100}\n",
			"s.yaml:3: workload.prompt: prompt and output are 4100 tokens or more together; " +
				"llama-2-7b is served with contexts of at most 4096"},
		{"fixed lengths and a small cache", "model: llama-3.3-70b\nhardware: a100-40gb-sxm\n" +
			"parallelism: {tensor: 4}\nworkload: {prompt: 1000, output: 300}\n",
			"s.yaml: memory: the KV cache of llama-3.3-70b holds 320 tokens; workload.prompt and " +
				".output are 1300 or more together"},
		{"bounds", good + "workload:\n  prompt: {distribution: uniform, min: 20, max: 10}\n",
			"s.yaml:4: workload.prompt: uniform in [20, 10]: min 20 is above max 10"},
		{"endless", good + "workload: {arrivals: at-once, duration: 5m}\n", "workload without end"},
		{"rate of a closed loop",
			good + "workload: {rate: 2/s, arrivals: {process: closed-loop, users: 3}}\n",
			"s.yaml:3: workload.rate: has no meaning where arrivals are closed-loop"},
		{"trace is missing", good + "workload: {trace: nowhere.csv}\n",
			"s.yaml:3: workload.trace.file: nowhere.csv: no such file or directory. Recorded " +
				"traces do not come with llmsim"},
		{"trace and lengths", good + "workload:\n  prompt: 3\n  trace: " + trace + "\n",
			"s.yaml:4: workload.prompt: has no meaning beside a trace"},
		{"repeat", good + "workload:\n  trace: {file: " + trace + ", repeat: true}\n",
			"s.yaml:4: workload.trace.repeat: needs a rate or arrivals"},
		{"lengths file", good +
			"workload: {prompt: {distribution: empirical, file: nowhere.txt}}\n",
			"s.yaml:3: workload.prompt: nowhere.txt: no such file or directory"},
		{"hardware file", "model: llama-2-7b\nhardware: {accelerator: mine, file: nowhere.yaml}\n",
			"s.yaml:2: hardware.file: nowhere.yaml: no such file or directory"},
	} {
		t.Run(c.name, func(t *testing.T) {
			f, err := Parse("s.yaml", []byte(c.yaml))
			if err == nil {
				_, err = f.Build(policies.Default())
			}
			if !IsInputError(err) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got  %v\nwant %s", err, c.want)
			}
		})
	}
}

// A scenario that says nothing about load, SLO or seed runs, and says what it assumed.
func TestDefaults(t *testing.T) {
	f, err := Parse("s.yaml", []byte("model: llama-3.1-8b\nhardware: h100-sxm\n"))
	s := build(t, f, err)
	r := run(t, s)
	if r.Completed != defaultRequests {
		t.Errorf("%d requests completed, want %d", r.Completed, defaultRequests)
	}
	text, err := s.Explain()
	testkit.OK(t, err)
	for _, line := range []string{"rate: 1/s # default", "ttft: 2s # default",
		"tensor: 1 # default", "max-model-len: 131072 # default", "seed: 0 # default"} {
		if !strings.Contains(string(text), line) {
			t.Errorf("the explanation lacks %q:\n%s", line, text)
		}
	}
}

// The default parallelism is the smallest that holds the model: 70 billion parameters in fp16 take
// two 80-GB accelerators.
func TestDefaultParallelism(t *testing.T) {
	for model, want := range map[string]int{"llama-2-7b": 1, "llama-2-70b": 2} {
		f, err := Parse("s.yaml", []byte("model: "+model+"\nhardware: a100-80gb-sxm\n"))
		if got := build(t, f, err).Scenario.Parallelism.Tensor; got != want {
			t.Errorf("%s: tensor parallelism %d, want %d", model, got, want)
		}
	}
}

func TestClassesInherit(t *testing.T) {
	f, err := Parse("s.yaml", []byte(`
model: llama-2-7b
hardware: a100-80gb-sxm
workload:
  prompt: 100
  output: 10
  requests: 400
  classes:
    - {name: short}
    - {name: long, share: 3, output: 40, slo: {e2e: 1h}}
`))
	r := run(t, build(t, f, err))
	short, long := r.Classes["short"], r.Classes["long"]
	if short.TotalOutputTokens != 10*short.Completed ||
		long.TotalOutputTokens != 40*long.Completed || r.TotalInputTokens != 100*400 {
		t.Errorf("lengths are not inherited or overridden as written: %+v %+v", short, long)
	}
	if long.Completed < 2*short.Completed || short.Completed+long.Completed != 400 {
		t.Errorf("%d short and %d long requests, want about one in four short", short.Completed,
			long.Completed)
	}
}

// A trace from the command line takes the place of drawn requests; those too long for the model are
// turned away and counted.
func TestTraceFromTheCommandLine(t *testing.T) {
	f, err := Load("llama2-70b", "workload.trace="+writeTrace(t))
	r := run(t, build(t, f, err))
	if r.Completed != 2 || r.Rejected != 1 || r.TotalInputTokens != 3010 ||
		r.TotalOutputTokens != 25 {
		t.Errorf("completed %d, rejected %d, %d tokens in, %d out", r.Completed, r.Rejected,
			r.TotalInputTokens, r.TotalOutputTokens)
	}
	if !strings.Contains(strings.Join(r.Warnings, "\n"), "1 requests were turned away") {
		t.Errorf("warnings %q do not tell of the request that is too long", r.Warnings)
	}
	f, err = Load("llama2-70b", "workload.trace="+writeTrace(t), "workload.requests=1")
	if r := run(t, build(t, f, err)); r.Completed != 1 {
		t.Errorf("completed %d, want the first only", r.Completed)
	}
}

// Users send what they send, whatever the memory of servers: where it holds less than the longest
// context, what is longer is turned away, and requests that are all too long are refused.
func TestWhatIsSentDoesNotDependOnMemory(t *testing.T) {
	const text = "model: llama-3.3-70b\nhardware: a100-%dgb-sxm\nparallelism: {tensor: 4}\n" +
		"workload: {rate: 0.5/s, requests: 200, " +
		"prompt: {distribution: lognormal, mean: 900, cv: 2}, " +
		"output: {distribution: exponential, mean: 60}}\n"
	var sent [2][2]int
	for i, memory := range []int{40, 80} {
		f, err := Parse("s.yaml", fmt.Appendf(nil, text, memory))
		testkit.OK(t, err)
		s := build(t, f, nil)
		for r := (sim.Request{}); s.Source.NextArrival() != sim.Never; {
			s.Source.Next(&r)
			sent[i][0] += r.Prompt
			sent[i][1] += r.Output
		}
		r := run(t, build(t, f, nil))
		if long := r.Rejected > 0; long != (memory == 40) || r.Completed == 0 {
			t.Errorf("with %d GB, %d requests are answered and %d turned away", memory, r.Completed,
				r.Rejected)
		}
	}
	if sent[0] != sent[1] {
		t.Errorf("tokens of prompts and answers are %v with 40 GB, %v with 80 GB", sent[0], sent[1])
	}
}

// The totals of the public Azure trace come out: 19,366 requests (AzureLLMInferenceTrace_conv.csv).
func TestAzureTotals(t *testing.T) {
	path := testkit.Shared(t, "traces", "AzureLLMInferenceTrace_conv.csv")
	f, err := Load("azure-replay", "workload.trace.file="+path)
	r := run(t, build(t, f, err))
	if r.Completed != 19366 || r.Rejected != 0 {
		t.Errorf("completed %d, rejected %d, want 19366 and 0", r.Completed, r.Rejected)
	}
}

func TestCorruptTraceIsBadInput(t *testing.T) {
	path := filepath.Join(t.TempDir(), "trace.csv")
	testkit.OK(t, os.WriteFile(path,
		[]byte("arrival_s,prompt_tokens,output_tokens\n0,10,5\n1,ten,5\n"), 0o666))
	f, err := Load("llama2-70b", "workload.trace="+path)
	_, err = build(t, f, err).Run(context.Background())
	if !IsInputError(err) || !strings.Contains(err.Error(), path+":3: ") {
		t.Errorf("got %v, want an input error that names line 3", err)
	}
}

func TestCancellation(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	f, err := Load("llama2-70b")
	if _, err = build(t, f, err).Run(ctx); !errors.Is(err, context.Canceled) || IsInputError(err) {
		t.Errorf("got %v, want the context's error", err)
	}
}

// Quantities survive being written and read, to the last digit.
func TestQuantitiesRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		span := Span(rapid.Int64Range(0, 1<<62).Draw(t, "span"))
		text, err := span.MarshalText()
		testkit.OK(t, err)
		var again Span
		if err := again.UnmarshalText(text); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		// A duration in seconds is rounded twice on its way to the clock: beyond 2^51 ticks (6
		// hours) that may cost its last digit.
		if diff := int64(span - again); span < 1<<51 && diff != 0 || diff > 1<<10 || diff < -1<<10 {
			t.Fatalf("%d ticks are written %s and read as %d", span, text, again)
		}
		rate := PerSecond(rapid.Float64Range(1e-6, 1e9).Draw(t, "rate"))
		text, err = rate.MarshalText()
		testkit.OK(t, err)
		var rateAgain PerSecond
		if err := rateAgain.UnmarshalText(text); err != nil || rateAgain != rate {
			t.Fatalf("%v is written %s and read as %v (%v)", float64(rate), text,
				float64(rateAgain), err)
		}
	})
}
