package launch

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/llmsim/llmsim/internal/files/filestest"
	"github.com/llmsim/llmsim/policies"
	"github.com/llmsim/llmsim/scenarios"
)

// draw makes up what an engine is asked for, as settings of a scenario.
func draw(t *rapid.T, e engine) []string {
	n := func(name string, low, high int) string {
		return strconv.Itoa(rapid.IntRange(low, high).Draw(t, name))
	}
	tensor := 1 << rapid.IntRange(0, 3).Draw(t, "tensor")
	settings := []string{
		"model=deepseek-v2-lite", "hardware=h200-sxm", "memory.tokens=1000000",
		"engine.max-model-len=" + n("len", 100, 5000),
		"batching.max-sequences=" + eight(n("sequences", 1, 64)), "memory.utilization=0." +
			n("utilization", 51, 95),
	}
	switch e.name {
	case "vllm": // limits are those of 8 ranks at most, each of which has a share
		settings = append(settings, "batching.token-budget="+eight(n("budget", 512, 9000)),
			"memory.policy="+rapid.SampledFrom([]string{"paged", "prefix-cache"}).Draw(t, "memory"))
	case "sglang":
		settings = append(settings, "engine.preset=sglang", "batching.policy=sglang",
			"batching.chunk="+n("chunk", 512, 9000),
			"memory.policy="+rapid.SampledFrom([]string{"paged", "radix"}).Draw(t, "memory"))
	case "trtllm":
		settings = append(settings, "engine.preset=trtllm", "batching.policy=trtllm",
			"memory.policy=prefix-cache", "batching.token-budget="+n("budget", 512, 9000))
	}
	if data := 1 << rapid.IntRange(0, 3).Draw(t, "data"); data > 1 && e.name != "trtllm" {
		settings = append(settings, fmt.Sprintf("parallelism={tensor: %d, data: %d}", tensor, data))
	} else {
		settings = append(settings, fmt.Sprintf("parallelism={tensor: %d, pipeline: %s}", tensor,
			n("pipeline", 1, max(1, min(2, 8/tensor)))))
	}
	return settings
}

// eight returns eight times a number.
func eight(digits string) string {
	n, _ := strconv.Atoi(digits)
	return strconv.Itoa(8 * n)
}

// built returns the scenario of some settings with every default filled in.
func built(t rapid.TB, settings []string) *scenarios.Simulation {
	t.Helper()
	file, err := scenarios.Parse("drawn", []byte("workload: {requests: 1}"), settings...)
	if err != nil {
		t.Fatalf("%q: %v", settings, err)
	}
	simulation, err := file.Build(policies.Default())
	if err != nil {
		t.Fatalf("%q: %v", settings, err)
	}
	simulation.Source.Close()
	return simulation
}

// A command that is written for a scenario is read as the same scenario.
func TestACommandIsReadAsItWasMeant(t *testing.T) {
	for _, e := range engines() {
		t.Run(e.name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				meant := built(t, draw(t, e))
				servers, _, err := Fleet(&meant.Scenario, meant.Model, e.name)
				if err != nil {
					t.Fatal(err)
				}
				line, err := servers[0].Line()
				if err != nil {
					t.Fatal(err)
				}
				reading, err := Read(line)
				if err != nil {
					t.Fatalf("%s: %v", line, err)
				}
				got := built(t, append(reading.Settings, "hardware=h200-sxm",
					"memory.tokens=1000000"))
				a, b := meant.Scenario, got.Scenario
				if a.Parallelism != b.Parallelism || a.Engine.MaxModelLen != b.Engine.MaxModelLen ||
					a.Memory.Policy != b.Memory.Policy ||
					a.Memory.Utilization != b.Memory.Utilization ||
					a.Batching.Policy != b.Batching.Policy || got.Model.Name != meant.Model.Name {
					t.Fatalf("%s\nmeans %+v %+v %+v\nwas   %+v %+v %+v", line, b.Parallelism,
						b.Batching, b.Memory, a.Parallelism, a.Batching, a.Memory)
				}
				for _, key := range []string{"max-sequences", "token-budget", "chunk"} {
					if x, y := a.Batching.Params[key], b.Batching.Params[key]; x != y {
						t.Fatalf("%s: %s is %s, was %s", line, key, y, x)
					}
				}
			})
		})
	}
}

func TestRead(t *testing.T) {
	manifest := `
apiVersion: apps/v1
kind: Deployment
spec:
  template:
    spec:
      containers:
        - name: engine
          command: [sh, -c]
          args: ["export A=1; vllm serve m -tp 2 --max-model-len 32k"]
---
kind: Service
`
	// as github.com/kubernetes-sigs/wg-serving/pull/72 has it, shortened, with a second container
	const gke = `
apiVersion: apps/v1
kind: Deployment
spec:
  template:
    spec:
      containers:
      - name: inference-server
        image: vllm/vllm-openai:v0.8.5
        args: [--model=$(MODEL_ID), --tensor-parallel-size=$(TENSOR_PARALLEL_SIZE)]
        env:
        - {name: MODEL_ID, value: TinyLlama/TinyLlama-1.1b}
        - {name: HUGGING_FACE_HUB_TOKEN, valueFrom: {secretKeyRef: {key: token, name: hf}}}
        - {name: TENSOR_PARALLEL_SIZE, value: "2"}
      - name: metrics
        image: prom/statsd-exporter
        args: [--log.level=info]
`
	for _, c := range []struct{ text, settings, note string }{
		{"vllm serve m -tp 4", "memory.policy=prefix-cache model=m parallelism.tensor=4", ""},
		{"A=1 exec /usr/bin/vllm serve m \\\n  --max_model_len=128K --dtype auto",
			"engine.max-model-len=131072 memory.policy=prefix-cache model=m", ""},
		{"vllm serve m -tp 2 -dp 4 -ep",
			"memory.policy=prefix-cache model=m parallelism.data=4 parallelism.tensor=2", ""},
		{"vllm serve m -tp 8 -ep --no-enable-prefix-caching",
			"memory.policy=paged model=m parallelism.expert=8 parallelism.tensor=8", ""},
		{"vllm serve m -dp 4", "memory.policy=prefix-cache model=m replicas=4",
			"read as 4 replicas"},
		{"vllm serve m --frobnicate 3 --seed 1", "memory.policy=prefix-cache model=m",
			"--frobnicate is not known"},
		{"python3 -m sglang.launch_server --model-path m --tp 8 --dp 8 --enable-dp-attention",
			"batching.policy=sglang engine.preset=sglang memory.policy=radix model=m " +
				"parallelism.data=8 parallelism.expert=1 parallelism.tensor=1", ""},
		{"python3 -m sglang.launch_server --model-path m --tp 8 --dp 8 " +
			"--enable-dp-attention --ep 8",
			"batching.policy=sglang engine.preset=sglang memory.policy=radix model=m " +
				"parallelism.data=8 parallelism.tensor=1", ""},
		{"python3 -m sglang.launch_server --model-path m --tp 72 --dp 72 --enable-dp-attention " +
			"--moe-a2a-backend deepep --ep-num-redundant-experts 32 --enable-two-batch-overlap",
			"batching.policy=sglang engine.preset=sglang memory.policy=radix model=m " +
				"parallelism.data=72 parallelism.overlap=two-batch " +
				"parallelism.redundant-experts=32 parallelism.tensor=1", ""},
		// as docs.vllm.ai/en/v0.15.1/deployment/docker has it
		{`docker run --runtime nvidia --gpus all -v ~/.cache/huggingface:/root/.cache/huggingface \
			--env "HF_TOKEN=$HF_TOKEN" -p 8000:8000 --ipc=host vllm/vllm-openai:latest \
			--model Qwen/Qwen3-0.6B`, "memory.policy=prefix-cache model=Qwen/Qwen3-0.6B", ""},
		{"sudo docker run lmsysorg/sglang:latest python3 -m sglang.launch_server --model m " +
			"--api-key $KEY", "batching.policy=sglang engine.preset=sglang memory.policy=radix " +
			"model=m", ""},
		// as huggingface.co/lukealonso/MiniMax-M2.7-NVFP4/discussions/10 has it, but for the model
		{"CUDA_VISIBLE_DEVICES=0,1 vllm serve m --port 23333 --trust-remote-code " +
			"--tensor-parallel-size 2 --enable-auto-tool-choice --disable-custom-all-reduce " +
			"--enable_expert_parallel --gpu-memory-utilization 0.95 --max-num-seqs 8 " +
			"--kv-cache-dtype turboquant_k8v4 --max-model-len 130k",
			"batching.max-sequences=8 engine.max-model-len=130000 memory.policy=prefix-cache " +
				"memory.utilization=0.95 model=m parallelism.expert=2 parallelism.tensor=2",
			"turboquant_k8v4 is not known as a number format"},
		{"vllm serve m -tp 2 -dp 4 -ep --max-num-seqs 64 --max-num-batched-tokens 4k",
			"batching.max-sequences=256 batching.token-budget=16000 memory.policy=prefix-cache " +
				"model=m parallelism.data=4 parallelism.tensor=2", ""},
		{"vllm serve m --max-num-seq 64", "memory.policy=prefix-cache model=m",
			"did you mean --max-num-seqs?"},
		{gke, "memory.policy=prefix-cache model=TinyLlama/TinyLlama-1.1b parallelism.tensor=2", ""},
		{"#!/bin/sh\nset -e\ncd /x\nvllm serve 'a model'\n",
			"memory.policy=prefix-cache model=a model", ""},
		{manifest, "engine.max-model-len=32000 memory.policy=prefix-cache model=m " +
			"parallelism.tensor=2", ""},
	} {
		r, err := Read("\ufeff" + c.text) // as some editors begin files
		if err != nil {
			t.Errorf("%s: %v", c.text, err)
			continue
		}
		if got := strings.Join(r.Settings, " "); got != c.settings {
			t.Errorf("%s\nread as %s\nwant    %s", c.text, got, c.settings)
		}
		if c.note != "" && !slices.ContainsFunc(r.Notes,
			func(n string) bool { return strings.Contains(n, c.note) }) {
			t.Errorf("%s: notes %q do not have %q", c.text, r.Notes, c.note)
		} else if c.note == "" && len(r.Notes) > 0 {
			t.Errorf("%s: notes %q", c.text, r.Notes)
		}
	}
}

func TestReadRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"echo hello":                      "no command that starts an engine",
		"vllm serve":                      "names no model",
		"vllm serve $MODEL":               "line 1 has a variable",
		"vllm serve m\\\n -tp $TP":        "-tp: line 2 has a variable",
		"vllm serve m -tp none":           "whole number",
		"vllm serve m -tp":                "needs a value",
		"vllm serve a b":                  `found "b" beside the model a`,
		"vllm serve a; vllm serve b":      "found 2 commands",
		"vllm serve 'a":                   "neither a command",
		strings.Repeat("x", mostText+1):   "more than",
		"vllm serve m --max-model-len 9z": "count of tokens",
	} {
		if _, err := Read(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.60s: error %v, want one with %q", text, err, want)
		}
	}
}

// Whatever text is given, Read ends, and what it reads is written on one line for each key.
func FuzzRead(f *testing.F) {
	f.Add("vllm serve m -tp 4")
	f.Add("kind: Pod\nspec: {containers: [{command: [vllm, serve, m]}]}")
	f.Fuzz(func(t *testing.T, text string) {
		var r *Reading
		var err error
		filestest.Bounded(t, len(text), func() { r, err = Read(text) })
		if err != nil {
			return
		}
		for _, s := range r.Settings {
			if !strings.Contains(s, "=") {
				t.Errorf("%q is no setting", s)
			}
		}
	})
}

// Pools that differ have configuration files that differ, and each command names its own.
func TestEachPoolHasItsConfiguration(t *testing.T) {
	simulation := built(t, []string{"model=deepseek-v2-lite", "hardware=h200-sxm",
		"memory=prefix-cache",
		"fleet.pools=[{role: prefill, replicas: 2, parallelism: {tensor: 2}}, {role: decode, " +
			"replicas: 1, parallelism: {tensor: 1, data: 4}}]"})
	servers, _, err := Fleet(&simulation.Scenario, simulation.Model, "trtllm")
	if err != nil {
		t.Fatal(err)
	}
	if servers[0].Config == servers[1].Config || servers[0].ConfigFile == servers[1].ConfigFile {
		t.Errorf("both pools read %s:\n%s", servers[0].ConfigFile, servers[0].Config)
	}
	for i := range servers {
		if !slices.Contains(servers[i].Command, servers[i].ConfigFile) {
			t.Errorf("%q does not name %s", servers[i].Command, servers[i].ConfigFile)
		}
	}
}

// What the flags of an engine cannot say of how experts are spread is said beside the command.
func TestParallelismWithoutFlagsIsSaid(t *testing.T) {
	simulation := built(t, []string{"model=deepseek-v2-lite", "hardware=h200-sxm",
		"memory=prefix-cache",
		"parallelism={tensor: 1, data: 4, redundant-experts: 4, overlap: two-batch}"})
	for engine, want := range map[string]int{"sglang": 0, "vllm": 1, "trtllm": 2} {
		_, missing, err := Fleet(&simulation.Scenario, simulation.Model, engine)
		if err != nil {
			t.Fatal(err)
		}
		said := 0
		for _, m := range missing {
			if strings.HasPrefix(m, "parallelism.") {
				said++
			}
		}
		if said != want {
			t.Errorf("%s: %q, want %d of parallelism", engine, missing, want)
		}
	}
}

// A name that people gave cannot break out of a command or a manifest.
func TestNamesAreQuoted(t *testing.T) {
	simulation := built(t, []string{"model=llama-3.1-8b", "hardware=h100-sxm"})
	s := simulation.Scenario
	s.Model = `x"; rm -rf / #'$(reboot)`
	simulation.Model.Aliases = nil
	b, err := NewBundle(&s, simulation.Model, "vllm")
	if err != nil {
		t.Fatal(err)
	}
	script, err := b.Script()
	if err != nil {
		t.Fatal(err)
	}
	r, err := Read(script)
	if err != nil || !slices.Contains(r.Settings, "model="+s.Model) {
		t.Errorf("%v %v:\n%s", r, err, script)
	}
	manifests, err := b.Manifests()
	if err != nil {
		t.Fatal(err)
	}
	if r, err = Read(manifests); err != nil || !slices.Contains(r.Settings, "model="+s.Model) {
		t.Errorf("%v %v:\n%s", r, err, manifests)
	}
}
