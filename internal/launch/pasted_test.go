package launch_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/llmsim/llmsim/internal/launch"
	"github.com/llmsim/llmsim/internal/testkit"
)

// label is what a person reads in a pasted entry, as start_commands.labels.json says it.
type label struct {
	Model string
	TP    int
	PP    int
	// Ranks is set where attention is spread over data-parallel ranks, and Pools has the
	// accelerators of each pool: then TP counts those of a replica, or of the first pool.
	Ranks bool           `json:"dpa"`
	Pools map[string]int `json:"pools"`
	// Expected is set where a person would expect the entry to be read.
	Expected bool `json:"exp"`
}

// entry is a line of start_commands.jsonl.
type entry struct {
	ID       string
	Kind     string
	Text     string
	Assigned map[string]string `json:"variables_assigned_above"`
}

// variables returns what a reader of the whole script knows: what it sets above the excerpt, and
// the sizes that its caller gives.
func (e *entry) variables(l label) map[string]string {
	given := map[string]string{}
	for name, value := range e.Assigned {
		if value, _, _ = strings.Cut(value, " #"); !strings.Contains(value, "$") {
			given[name] = strings.TrimSpace(value)
		}
	}
	if e.Kind == "slurm-script" || e.Kind == "trtllm" {
		for _, name := range []string{"MODEL", "MODEL_PATH"} {
			if given[name] == "" {
				given[name] = l.Model
			}
		}
		given["TP"], given["EP_SIZE"] = strconv.Itoa(l.TP), "1"
	}
	return given
}

// Of the commands and manifests that people have, most of those are read of which a person expects
// it, with the sizes that they state. A kind is read no less than it was.
func TestPastedEntries(t *testing.T) {
	dir := testkit.Shared(t, "pasted")
	var labels map[string]label
	testkit.OK(t, json.Unmarshal(testkit.Read(t, dir+"/start_commands.labels.json"), &labels))
	lines := strings.TrimSpace(string(testkit.Read(t, dir+"/start_commands.jsonl")))
	shell := map[string]bool{"slurm-script": true, "llama-server": true, "vllm-cli": true}
	expected, read := map[string]int{}, map[string]int{}
	for line := range strings.Lines(lines) {
		var e entry
		testkit.OK(t, json.Unmarshal([]byte(line), &e))
		l := labels[e.ID]
		text := e.Text
		for _, name := range slices.Sorted(maps.Keys(e.Assigned)) {
			if v := e.Assigned[name]; strings.Contains(v, "$") && shell[e.Kind] {
				text = fmt.Sprintf("%s=\"%s\"\n%s", name, v, text)
			}
		}
		r, err := launch.ReadFileOrText(text+"\n", e.variables(l))
		if l.Expected {
			expected[e.Kind]++
		}
		if err != nil {
			if l.Expected {
				t.Logf("%s is not read: %v", e.ID, err)
			}
			continue
		}
		if l.Expected {
			read[e.Kind]++
			checkSizes(t, e.ID, l, r)
		}
	}
	all, of := 0, 0
	for _, kind := range slices.Sorted(maps.Keys(expected)) {
		t.Logf("%s: %d of %d", kind, read[kind], expected[kind])
		if 10*read[kind] < 7*expected[kind] {
			t.Errorf("%s: %d of %d are read, fewer than 70%%", kind, read[kind], expected[kind])
		}
		all, of = all+read[kind], of+expected[kind]
	}
	if 100*all < 95*of {
		t.Errorf("%d of %d are read, fewer than 95%%", all, of)
	}
}

// checkSizes fails where a reading has other sizes than its label.
func checkSizes(t *testing.T, id string, l label, r *launch.Reading) {
	t.Helper()
	sizes := map[string]int{}
	for _, set := range r.Settings {
		key, value, _ := strings.Cut(set, "=")
		if n, err := strconv.Atoi(value); err == nil {
			sizes[key] = n
		}
	}
	tensor := max(1, sizes["parallelism.tensor"])
	if l.Ranks {
		tensor *= max(1, sizes["parallelism.data"])
	}
	if len(l.Pools) == 0 && l.TP > 0 && tensor != l.TP {
		t.Errorf("%s: tensor %d, want %d", id, tensor, l.TP)
	}
	if pipeline := max(1, sizes["parallelism.pipeline"]); len(l.Pools) == 0 && l.PP > 0 &&
		pipeline != l.PP {
		t.Errorf("%s: pipeline %d, want %d", id, pipeline, l.PP)
	}
	for pool, accelerators := range l.Pools {
		if !hasPool(r, pool, accelerators) {
			t.Errorf("%s: pool %s of %d accelerators a replica is not in %s", id, pool,
				accelerators, r.Settings)
		}
	}
}

// hasPool reports whether a reading has a pool of a role with that number of accelerators a
// replica.
func hasPool(r *launch.Reading, role string, accelerators int) bool {
	shared := map[string]string{}
	var pools string
	for _, set := range r.Settings {
		key, value, _ := strings.Cut(set, "=")
		shared[key] = value
		if key == "fleet.pools" {
			pools = value
		}
	}
	_, pool, found := strings.Cut(pools, "role: "+role)
	pool, _, _ = strings.Cut(pool, "role: ")
	product := 1
	for _, size := range []string{"tensor", "pipeline", "data"} {
		n, err := strconv.Atoi(shared["parallelism."+size])
		if _, after, own := strings.Cut(pool, size+": "); own {
			_, err = fmt.Sscanf(after, "%d", &n)
		}
		if err == nil {
			product *= n
		}
	}
	return found && product == accelerators
}

// What fields give in place of words is read as the words that the operator makes of them.
func TestFieldsAreReadAsTheirWords(t *testing.T) {
	want, err := launch.Read("vllm serve Qwen/Qwen3-32B --tensor-parallel-size 4 " +
		"--max-model-len 8192")
	testkit.OK(t, err)
	for name, text := range map[string]string{
		"production-stack": `servingEngineSpec:
  modelSpec:
  - {name: q, modelURL: Qwen/Qwen3-32B, replicaCount: 1,
     vllmConfig: {tensorParallelSize: 4, maxModelLen: 8192}}`,
		"production-stack, further arguments": `servingEngineSpec:
  modelSpec:
  - {name: q, modelURL: Qwen/Qwen3-32B,
     vllmConfig: {maxModelLen: 8192, extraArgs: [--tensor-parallel-size, "4"]}}`,
		"KubeAI": `kind: Model
spec: {url: "hf://Qwen/Qwen3-32B", engine: VLLM, args: [-tp=4, --max-model-len=8192]}`,
		"KubeAI's chart": `catalog:
  q: {url: "hf://Qwen/Qwen3-32B", engine: VLLM, args: [-tp=4, --max-model-len=8192]}`,
		"KServe": `kind: InferenceService
spec: {predictor: {model: {modelFormat: {name: huggingface}, args: [--model_name=q,
  --model_id=Qwen/Qwen3-32B, --tensor-parallel-size=4, --max-model-len=8192]}}}`,
		"KServe, LLM": `kind: LLMInferenceService
spec: {model: {uri: "hf://Qwen/Qwen3-32B"}, parallelism: {tensor: 4}, template: {containers:
  [{name: main, env: [{name: VLLM_ADDITIONAL_ARGS, value: "--max-model-len 8192"}]}]}}`,
		"llm-d": `modelArtifacts: {uri: "hf://Qwen/Qwen3-32B"}
decode: {parallelism: {tensor: 4}, containers: [{name: vllm, modelCommand: vllmServe,
  args: [--max-model-len, "8192"]}]}`,
		"srt-slurm": `model: {path: Qwen/Qwen3-32B}
backend: {type: vllm, vllm_config: {aggregated: {tensor-parallel-size: 4, max-model-len: 8192}}}`,
		"Ray": `from ray.serve.llm import LLMConfig  # it's read, not run
c = LLMConfig(model_loading_config=dict(model_id='q', model_source="Qwen/" "Qwen3-32B"),
    engine_kwargs={"tensor_parallel_size": int(os.getenv("TP", "4")), 'max_model_len': 8_192,},)`,
		"Ray, YAML": `applications:
- args: {llm_configs: [{model_loading_config: {model_id: Qwen/Qwen3-32B},
    engine_kwargs: {tensor_parallel_size: 4, max_model_len: 8192}}]}`,
		"compose": `services:
  q: {image: vllm/vllm-openai, environment: [A=1],
    entrypoint: [bash, -c, 'if true; then exec vllm serve "$$@"; fi', --],
    command: [--model, Qwen/Qwen3-32B, -tp, "${TP:-4}", --max-model-len, "${LEN-8192}"]}`,
		"a shell in a container": `IMAGE=me/own:1
docker run -e LEN=8192 --entrypoint /bin/bash "$IMAGE" -lc "exec /opt/bin/vllm serve \
  Qwen/Qwen3-32B --tensor-parallel-size $(( 3 > 2 ? 4 : 2 )) --max-model-len \${LEN}"`,
		"an array": `ARGS=(--tensor-parallel-size 4 --max-model-len "${LEN:-8192}")
vllm serve "${MODEL:-Qwen/Qwen3-32B}" "${ARGS[@]}"`,
	} {
		r, err := launch.Read(text)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if !slices.Equal(r.Settings, want.Settings) {
			t.Errorf("%s: %v, want %v", name, r.Settings, want.Settings)
		}
	}
}

// Engines whose commands are only read have their model and sizes read.
func TestOtherEnginesAreRead(t *testing.T) {
	for text, want := range map[string]string{
		"lmdeploy serve api_server Qwen/Qwen3-32B --tp 4 --quant-policy 8": "engine.kv-cache=" +
			"int8 engine.preset=lmdeploy model=Qwen/Qwen3-32B parallelism.tensor=4",
		"./llama-server -m qwen3-32b.gguf -c 4096 -ngl 99 -ctk q8_0": "engine.kv-cache=int8 " +
			"engine.max-model-len=4096 engine.preset=llama.cpp model=qwen3-32b.gguf",
		"docker run -p 1:1 ghcr.io/huggingface/text-generation-inference:3.3.5 --model-id " +
			"Qwen/Qwen3-32B --num-shard 4": "model=Qwen/Qwen3-32B parallelism.tensor=4",
	} {
		r, err := launch.Read(text)
		if err != nil || strings.Join(r.Settings, " ") != want {
			t.Errorf("%s: %v, %v, want %s", text, r, err, want)
		}
	}
}
