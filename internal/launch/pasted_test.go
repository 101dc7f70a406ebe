package launch_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
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
	DP    int
	// Ranks is set where attention is spread over data-parallel ranks, and Pools has the
	// accelerators of each pool: then TP counts those of a replica, or of the first pool.
	Ranks bool           `json:"dpa"`
	Pools map[string]int `json:"pools"`
	// Expert is the number of accelerators over which experts are spread, and Spread says that they
	// are.
	Expert int  `json:"ep"`
	Spread bool `json:"ep_on"`
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
// the sizes and drafts that its caller gives.
func (e *entry) variables(l label) map[string]string {
	given := map[string]string{"SPEC_CONFIG": `{"method":"mtp","num_speculative_tokens":3}`}
	for name, value := range e.Assigned {
		if value, _, _ = strings.Cut(value, " #"); !strings.ContainsAny(value, "$(") {
			given[name] = strings.TrimSpace(value)
		}
	}
	if e.Kind == "slurm-script" || e.Kind == "trtllm" {
		for _, name := range []string{"MODEL", "MODEL_PATH"} {
			if given[name] == "" {
				given[name] = l.Model
			}
		}
		given["TP"], given["EP_SIZE"] = strconv.Itoa(max(1, l.TP)*max(1, l.DP)), "1"
	}
	return given
}

// pastedEntries calls check for each pasted entry, with the text that a reader of it has.
func pastedEntries(t *testing.T, check func(e *entry, l label, text string)) {
	dir := testkit.Shared(t, "pasted")
	var labels map[string]label
	testkit.OK(t, json.Unmarshal(testkit.Read(t, dir+"/start_commands.labels.json"), &labels))
	lines := strings.TrimSpace(string(testkit.Read(t, dir+"/start_commands.jsonl")))
	shell := map[string]bool{"slurm-script": true, "llama-server": true, "vllm-cli": true}
	for line := range strings.Lines(lines) {
		var e entry
		testkit.OK(t, json.Unmarshal([]byte(line), &e))
		text := e.Text
		for _, name := range slices.Sorted(maps.Keys(e.Assigned)) {
			if v := e.Assigned[name]; strings.ContainsAny(v, "$(") && shell[e.Kind] {
				if !strings.HasPrefix(v, "(") { // which is an array
					v = `"` + v + `"`
				}
				text = name + "=" + v + "\n" + text
			}
		}
		check(&e, labels[e.ID], text+"\n")
	}
}

// read reads an entry, and gives what it is asked for, of drafts and of caches.
func (e *entry) read(text string, l label) (r *launch.Reading, given []string, err error) {
	answers := []string{"fleet.pools.1.speculation.acceptance=0.7", "speculation.acceptance=0.7",
		"memory.cpu=1TB", "memory.tokens=1000000"}
	for {
		r, err = launch.ReadFileOrText(text, e.variables(l), given...)
		i := slices.IndexFunc(answers, func(answer string) bool {
			key, _, _ := strings.Cut(answer, "=")
			return err != nil && strings.Contains(err.Error(), "set "+key)
		})
		if i < 0 || slices.Contains(given, answers[i]) {
			return r, given, err
		}
		given = append(given, answers[i])
	}
}

// Of the commands and manifests that people have, most of those are read of which a person expects
// it, with the sizes that they state. A kind is read no less than it was.
func TestPastedEntries(t *testing.T) {
	expected, read := map[string]int{}, map[string]int{}
	pastedEntries(t, func(e *entry, l label, text string) {
		r, _, err := e.read(text, l)
		if l.Expected {
			expected[e.Kind]++
		}
		switch {
		case err != nil && l.Expected:
			t.Logf("%s is not read: %v", e.ID, err)
		case err == nil && l.Expected:
			read[e.Kind]++
			checkSizes(t, e.ID, l, r)
			checkStated(t, e, l, r)
		}
	})
	all, of := 0, 0
	page := string(testkit.Read(t, "../../docs/launching.md"))
	for _, kind := range slices.Sorted(maps.Keys(expected)) {
		row := fmt.Sprintf("| %s | %d | %d |", kind, read[kind], expected[kind])
		if t.Log(row); !strings.Contains(page, row+"\n") {
			t.Errorf("docs/launching.md lacks %s", row)
		}
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
	if data := max(1, sizes["parallelism.data"]); len(l.Pools) == 0 && l.DP > 0 && data != l.DP {
		t.Errorf("%s: data %d, want %d", id, data, l.DP)
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

// stated finds what a text gives as a number: the longest context, and the share of memory.
var stated = regexp.MustCompile(`(?:max[-_]model[-_]len|context[-_]length|max_seq_len|maxModelLen|` +
	`session-len|ctx-size|gpu[-_]memory[-_]utilization|mem[-_]fraction[-_]static|` +
	`gpuMemoryUtilization|free_gpu_memory_fraction|cache-max-entry-count)["']?[ =:\n"'-]+` +
	`(\d+(?:\.\d+)?)\b`)

// parallel finds the slots of llama-server.
var parallel = regexp.MustCompile(`--parallel (\d+)`)

// checkStated fails where a reading lacks a context or a share of memory that its text states, or
// spreads experts otherwise than its label says.
func checkStated(t *testing.T, e *entry, l label, r *launch.Reading) {
	t.Helper()
	read := strings.Join(r.Settings, " ")
	slots := parallel.FindStringSubmatch(e.Text)
	for _, found := range stated.FindAllStringSubmatch(e.Text, -1) {
		if context, err := strconv.Atoi(found[1]); err == nil && len(slots) > 0 &&
			e.Kind == "llama-server" { // each has its part
			n, _ := strconv.Atoi(slots[1])
			found[1] = fmt.Sprint(context / max(1, n))
		}
		if found[1] != "0" && !strings.Contains(read, found[1]) {
			t.Errorf("%s states %q, which is not in %s", e.ID, found[0], read)
		}
	}
	var expert, data int
	_, pools, _ := strings.Cut(read, "fleet.pools=")
	for _, set := range r.Settings {
		fmt.Sscanf(set, "parallelism.expert=%d", &expert)
		fmt.Sscanf(set, "parallelism.data=%d", &data)
	}
	sliced := expert == 1 || strings.Contains(pools, "expert: 1")
	spread := expert > 1 || strings.Contains(pools, "expert: ") && !sliced ||
		!sliced && (data > 1 || strings.Contains(pools, "data: "))
	if l.Spread && !spread || l.Expert == 1 && spread || l.Expert > 1 && !spread {
		t.Errorf("%s: experts are spread: %t, over %d; the label says %t, %d", e.ID, spread, expert,
			l.Spread, l.Expert)
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
		"placeholders": "vllm serve Qwen/Qwen3-32B --host <ip> --port {{ port }} -tp 4 " +
			"--max-model-len 8192 --api-key <your key>",
		"a prompt, and output": "(v) me@host:~$ vllm serve Qwen/Qwen3-32B -tp 4 \\ \n" +
			"  --max-model-len 8192 \\ # as much as fits\n  --port 8000\nINFO [x.py] up (1 s)",
		"PowerShell": "docker run --gpus all `\n vllm/vllm-openai:latest `\n --model " +
			"Qwen/Qwen3-32B `\n -tp 4 --max-model-len 8192",
		"a unit of systemd": `[Unit]
Description=LLM (vLLM)
[Service]
Environment=LEN=8192
ExecStart=/opt/bin/vllm serve Qwen/Qwen3-32B -tp 4 \
  --max-model-len ${LEN}
Restart=always`,
		"a container of systemd": `[Container]
Image=docker.io/vllm/vllm-openai:latest
AddDevice=nvidia.com/gpu=all
Exec=--model Qwen/Qwen3-32B -tp 4 --max-model-len 8192`,
		"a Dockerfile": `FROM vllm/vllm-openai
ENTRYPOINT ["vllm", "serve", "Qwen/Qwen3-32B"]
CMD ["-tp", "4", "--max-model-len", "8192"]`,
		"Python": `from vllm import LLM, SamplingParams
NAME = "Qwen/Qwen3-32B"  # (or another)
llm = LLM(NAME, tensor_parallel_size=4, max_model_len=8192)
print(llm.generate(["a (b"], SamplingParams(n=1)))`,
		"words of Python": `subprocess.Popen(["vllm", "serve", "Qwen/Qwen3-32B", "-tp", "4",
    "--max-model-len", "8192"])`,
		"RayService": `kind: RayService
spec:
  serveConfigV2: |
    applications:
    - args: {llm_configs: [{model_loading_config: {model_id: Qwen/Qwen3-32B},
        engine_kwargs: {tensor_parallel_size: 4, max_model_len: 8192}}]}`,
		"KServe, workers": `kind: InferenceService
spec: {predictor: {workerSpec: {tensorParallelSize: 4}, model: {args: [--max-model-len=8192],
  modelFormat: {name: huggingface}, storageUri: "hf://Qwen/Qwen3-32B"}}}`,
		"KServe, runtime": `kind: ServingRuntime
metadata: {name: r}
spec: {containers: [{name: c, image: x/vllm, command: [python, -m,
  vllm.entrypoints.openai.api_server], args: [--model=/mnt/models, --max-model-len=8192]}]}
---
kind: InferenceService
spec: {predictor: {model: {runtime: r, args: [-tp, "4"], storageUri: "hf://Qwen/Qwen3-32B"}}}`,
		"KServe, bases": `kind: LLMInferenceServiceConfig
metadata: {name: a}
spec: {model: {uri: "hf://Qwen/Qwen3-32B"}, parallelism: {tensor: 2}}
---
kind: LLMInferenceServiceConfig
metadata: {name: b}
spec: {template: {containers: [{name: main, command: [vllm, serve, /mnt/models], args: [-tp, "4",
  --max-model-len=8192]}]}}
---
kind: LLMInferenceService
spec: {baseRefs: [{name: a}, {name: b}], parallelism: {tensor: 4}}`,
		"KServe, OCI": `kind: InferenceService
spec: {predictor: {model: {modelFormat: {name: vLLM}, args: [-tp=4, --max-model-len=8192],
  storageUri: "oci://quay.io/x/modelcar-catalog:qwen3-32b"}}}`,
		"a variable of a ConfigMap": `kind: ConfigMap
metadata: {name: c}
data: {size: "4"}
---
kind: Pod
spec: {containers: [{command: [vllm, serve, Qwen/Qwen3-32B, -tp, $(TP), --max-model-len=8192],
  env: [{name: TP, valueFrom: {configMapKeyRef: {name: c, key: size}}}]}]}`,
		"dstack": `type: service
env: [HF_TOKEN, MODEL=Qwen/Qwen3-32B]
commands: [pip install vllm, "vllm serve $MODEL -tp 4 --max-model-len 8192"]`,
		"a file for --config": "model: Qwen/Qwen3-32B\ntensor-parallel-size: 4\n" +
			"max_model_len: 8192",
		"SkyPilot": `envs: {NAME: Qwen/Qwen3-32B}
run: |
  vllm serve $NAME --tensor-parallel-size 4 --max-model-len 8192`,
		"an array": `ARGS=(--tensor-parallel-size 4 --max-model-len "${LEN:-8192}")
vllm serve "${MODEL:-Qwen/Qwen3-32B}" "${ARGS[@]}"`,
	} {
		r, err := launch.Read(text)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		settings := slices.Clone(r.Settings)
		for i := range settings {
			settings[i] = strings.Replace(settings[i], "=qwen3-32b", "=Qwen/Qwen3-32B", 1)
		}
		if !slices.Equal(settings, want.Settings) {
			t.Errorf("%s: %v, want %v", name, r.Settings, want.Settings)
		}
	}
}

// What operators make of fields beside a container is read: drafters, stores in host memory, other
// engines, pools of LMCache, and accelerators.
func TestFieldsOfOperatorsAreRead(t *testing.T) {
	for text, want := range map[string]string{
		`kind: LLMInferenceService
spec: {model: {uri: "hf://Qwen/Qwen3-32B"}, kvCacheOffloading: {mode: cpu, cpu: {size: 10Gi}},
  speculator: {model: {uri: "hf://Qwen/Qwen3-0.6B"}, config: {method: draft_model,
    num_speculative_tokens: "3"}}, template: {containers: [{name: main, env: [{name:
    VLLM_ADDITIONAL_ARGS, value: "--model-loader-extra-config '{\"a\": true, \"b\": 9}'"}]}]}}`: "" +
			"memory.cpu=10GiB memory.policy=vllm-offload model=Qwen/Qwen3-32B " +
			"speculation.draft=Qwen/Qwen3-0.6B speculation.method=draft-model speculation.tokens=3",
		`kind: Model
spec: {url: "hf://Qwen/Qwen3-8B", engine: SGLang, resourceProfile: "nvidia-gpu-l4:2",
  args: [--tp=2]}`: "batching.policy=sglang engine.preset=sglang hardware=l4 " +
			"model=Qwen/Qwen3-8B parallelism.tensor=2",
		`kind: Model
spec: {url: "hf://Qwen/Qwen3-8B", env: {VLLM_USE_V1: 0}}`: "engine.preset=vllm-v0 " +
			"model=Qwen/Qwen3-8B",
		`kind: LLMInferenceService
spec: {model: {uri: "hf://Qwen/Qwen3-8B"}, template: {containers: [{name: main, env: [{name:
    VLLM_USE_V1, value: "0"}]}]}}`: "engine.preset=vllm-v0 model=Qwen/Qwen3-8B",
		`kind: InferenceService
spec: {predictor: {model: {storageUri: "hf://Qwen/Qwen3-8B", env: [{name: VLLM_USE_V1,
  value: "0"}]}}}`: "engine.preset=vllm-v0 model=Qwen/Qwen3-8B",
		`{modelArtifacts: {name: Qwen/Qwen3-8B}, decode: {containers: [{modelCommand: vllmServe,
  env: [{name: VLLM_USE_V1, value: "0"}]}]}}`: "engine.preset=vllm-v0 model=Qwen/Qwen3-8B",
		`kind: Model
spec: {url: "hf://Qwen/Qwen3-8B", engine: LlamaCpp}`: "batching.max-sequences=4 " +
			"engine.preset=llama.cpp model=Qwen/Qwen3-8B",
		`servingEngineSpec: {modelSpec: [
  {name: a, modelURL: Qwen/Qwen3-8B, lmcacheConfig: {enabled: true, kvRole: kv_producer}},
  {name: b, modelURL: Qwen/Qwen3-8B, lmcacheConfig: {enabled: true, kvRole: kv_consumer}}]}`: "" +
			"fleet.pools=[{role: prefill, replicas: 1}, {role: decode, replicas: 1}] " +
			"model=Qwen/Qwen3-8B",
		`LLMConfig(server_cls=SGLangServer, model_loading_config=dict(model_id="Qwen/Qwen3-8B"),
  engine_kwargs=dict(tp_size=2 * 2), placement_group_config=dict(b=[{"GPU": 1}] * 4))`: "" +
			"batching.policy=sglang engine.preset=sglang model=Qwen/Qwen3-8B parallelism.tensor=4",
		`kind: Pod
spec: {affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {
  nodeSelectorTerms: [{matchExpressions: [{key: nvidia.com/gpu.product, operator: In,
  values: [NVIDIA-B200]}]}]}}}, containers: [{command: [vllm, serve, Qwen/Qwen3-8B]}]}`: "" +
			"hardware=b200-sxm model=Qwen/Qwen3-8B",
	} {
		r, err := launch.Read(text, "speculation.acceptance=0.7")
		if err != nil || strings.Join(r.Settings, " ") != want {
			t.Errorf("%s: %v, %v, want %s", text, r, err, want)
		}
	}
}

// Ranks of contexts under LMDeploy end the command where they add to the cache: they share what
// copies of heads would take, of which Qwen3-235B-A22B has four, and 8 accelerators two copies
// each.
func TestSharesOfHeadsAreSaid(t *testing.T) {
	for words, want := range map[string]string{
		"Qwen/Qwen3-235B-A22B --tp 8 --cp 2":           "has 2 times as many tokens",
		"Qwen/Qwen3-235B-A22B --tp 8 --attn-cp-size 4": "has 2 times as many tokens",
		"Qwen/Qwen3-235B-A22B --tp 4 --cp 2":           "is as large",
		"Qwen/Qwen3-235B-A22B --tp 8":                  "",
	} {
		r, err := launch.Read("lmdeploy serve api_server " + words)
		_, given := launch.Read("lmdeploy serve api_server "+words, "memory.tokens=9")
		if given != nil {
			t.Errorf("%s with memory.tokens: %v", words, given)
		}
		said := fmt.Sprint(err)
		if err == nil {
			said = strings.Join(r.Notes, "\n")
		}
		if !strings.Contains(said, want) || want == "" && said != "" ||
			(err != nil) != strings.HasPrefix(want, "has ") {
			t.Errorf("%s: %v, %v, want %q", words, r, err, want)
		}
	}
}

// A command that starts some of the data-parallel ranks of a replica is not another replica.
func TestRanksOfOneReplicaAreOne(t *testing.T) {
	const command = "vllm serve Qwen/Qwen3-30B-A3B --data-parallel-size 2 "
	for _, rank := range []string{"--data-parallel-rank", "-dpr", "--data-parallel-start-rank"} {
		r, err := launch.Read("CUDA_VISIBLE_DEVICES=0 " + command + rank + " 0\n" +
			"CUDA_VISIBLE_DEVICES=1 " + command + rank + " 1 --port 8001")
		if err != nil || slices.Contains(r.Settings, "replicas=2") {
			t.Errorf("%s: %v, %v", rank, r, err)
		}
	}
}

// A program that starts others changes nothing of what is read of the command behind it, and one
// that prints or ends commands starts none.
func TestLaunchersChangeNothing(t *testing.T) {
	const command = "vllm serve Qwen/Qwen3-32B -tp 4"
	want, err := launch.Read(command)
	testkit.OK(t, err)
	for _, around := range []string{"numactl -N 0 %s", "ssh gpu 'cd /opt && nohup %s > log &'",
		`tmux new -d -s v "%s"`, "screen -dmS v %s", "srun -N 1 --gres=gpu:4 %s",
		"docker exec -d box %s", "singularity exec --nv v.sif %s", "taskset -c 0-9 %s",
		"kubectl exec pod -- %s", "conda run -n v %s", "poetry run %s", "wsl %s",
		"pylet submit '%s' --gpu-units 4", "CMD=\"%s $MORE\"\neval \"$CMD\"",
		"run() {\n local c=\"%s > $LOG 2>&1\"\n setsid bash -c \"$c\" &\n}",
		"CMD='%s'\nif [ -n \"$DEBUG\" ]; then CMD=\"$CMD $DEBUG\"; fi\n$CMD",
		"import os\nos.system(\"\"\"\n%s\n\"\"\")",
		"tp = 4\nrun(f\"vllm serve Qwen/Qwen3-32B -tp {tp}\", shell=True)"} {
		text := strings.ReplaceAll(around, "%s", command)
		r, err := launch.Read(text)
		if err != nil || !slices.Equal(r.Settings, want.Settings) {
			t.Errorf("%s: %v, %v, want %v", text, r, err, want.Settings)
		}
	}
	for _, other := range []string{"echo %s", `pkill -f "%s"`, "ps aux | grep '%s'",
		"pip install vllm"} {
		if r, err := launch.Read(strings.ReplaceAll(other, "%s", command)); err == nil {
			t.Errorf("%s is read as %v", other, r.Settings)
		}
	}
}

// What a scheduler is asked for is the hardware, and gives the numbers that a script counts.
func TestSchedulersSayTheMachine(t *testing.T) {
	const serve, counted = "vllm serve Qwen/Qwen3-32B -tp ", "$(nvidia-smi --list-gpus | wc -l)"
	sky := func(fields string) string {
		return "resources: {" + fields + "}\nenvs: {M: Qwen/Qwen3-32B}\nrun: |\n  python -u -m " +
			"vllm.entrypoints.openai.api_server --model $M -tp $SKYPILOT_NUM_GPUS_PER_NODE\n"
	}
	dstack := func(gpu string) string {
		return "type: service\nenv: [M=Qwen/Qwen3-32B]\ncommands:\n- pip install vllm\n" +
			"- vllm serve $M\n  -tp $DSTACK_GPUS_NUM\nresources: {gpu: " + gpu + "}\n"
	}
	for text, want := range map[string]string{
		"#SBATCH --gres=gpu:h100:4\n" + serve + counted:               "h100-sxm 4",
		"##SBATCH -G A100:2\nN=" + counted + "\n" + serve + "$N":      "a100-80gb-sxm 2",
		"#SBATCH --gpus=rtx_4090:4\n" + serve + "4":                   "rtx-4090 4",
		"#SBATCH --gres gpu:nvidia_rtx_a6000:4\n" + serve + "4":       "rtx-a6000 4",
		"#SBATCH --gres=gpu:A100_40GB:1\n" + serve + "1":              "a100-40gb-sxm 1",
		"#SBATCH --gpus-per-node 8\n" + serve + "$SLURM_GPUS_ON_NODE": " 8",
		"#SBATCH --gres=gpu:nvidia_h100_80gb_hbm3:2\n" + serve + "2":  "h100-sxm 2",
		"srun --gres=gpu:l40s:2 " + serve + "2":                       "l40s 2",
		"docker run --gpus 2 v " + serve + "1":                        " 1",
		sky("accelerators: H100:8"):                                   "h100-sxm 8",
		sky("accelerators: {A100: 4}"):                                "a100-40gb-sxm 4",
		sky("accelerators: {L4:8, A10g:8}"):                           " 8",
		sky("accelerators: [H100:8, H200:8]"):                         " 8",
		dstack("H200:8"):                                              "h200-sxm 8",
		dstack("24GB"):                                                " 1",
		dstack("A100:40GB:2"):                                         "a100-40gb-sxm 2",
		dstack("{name: MI300X, count: 8, memory: 192GB}"):             "mi300x 8",
	} {
		r, err := launch.Read(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		hardware, tensor := "", ""
		for _, set := range r.Settings {
			if name, ok := strings.CutPrefix(set, "hardware="); ok {
				hardware = name
			}
			if n, ok := strings.CutPrefix(set, "parallelism.tensor="); ok {
				tensor = n
			}
		}
		if got := hardware + " " + tensor; got != want {
			t.Errorf("%s: %s, want %s: %v", text, got, want, r.Settings)
		}
	}
	for text, want := range map[string]string{
		serve + counted:                   "--var GPUS=…",
		"N=$(count)\n" + serve + "$N":     "--var N=…",
		"vllm serve $1 -tp $2":            "--var 1=… --var 2=…",
		dstack("H100:2..4"):               "--var DSTACK_GPUS_NUM=…",
		sky("accelerators: {L4:8, H100}"): "--var SKYPILOT_NUM_GPUS_PER_NODE=…",
	} {
		if _, err := launch.Read(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}

// What a program adds to the words of a command, a release that is installed, and the replicas of
// an autoscaler that is not read are read or said.
func TestWhatProgramsAddIsReadOrSaid(t *testing.T) {
	const list = "n = 2\ncmd = [\n  \"vllm\", \"serve\", \"Qwen/Qwen3-32B\",\n]\n"
	const ray = "LLMConfig(model_loading_config=dict(model_id='Qwen/Qwen3-32B'), " +
		"deployment_config=dict(autoscaling_config=dict(min_replicas=1, max_replicas=4)))"
	for text, want := range map[string]string{
		list + "cmd += [\"-tp\", str(n)]\nrun(cmd)":      "parallelism.tensor=2",
		list + "cmd.extend([\"-tp\", \"4\"])":            "parallelism.tensor=4",
		list + "if fast:\n    cmd += [\"-tp\", \"4\"]":   "line 6 adds words on a condition",
		"pip install vllm==0.8.5.post1\nvllm serve gpt2": "engine.version=0.8.5.post1",
		"pip install 'sglang[all]==0.4.3'\nsglang serve --model-path Qwen/Qwen3-8B": "" +
			"engine.version=0.4.3",
		"pip install vllm==0.8.5\npip install vllm==0.9.0\nvllm serve gpt2": "model=gpt2",
		"pip install vllm==0.8.5\ndocker run vllm/vllm-openai:v0.9.0 --model gpt2": "" +
			"engine.version=0.9.0",
		ray: "the autoscaler's 1 to 4 replicas 1 are read",
	} {
		r, err := launch.Read(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		said := strings.Join(append(r.Settings, r.Notes...), "\n")
		if !strings.Contains(said, want) {
			t.Errorf("%s: %s, want %s", text, said, want)
		}
	}
	for _, other := range []string{"aphrodite run m", "openllm serve m",
		"tritonserver --model-repository=m",
		"docker run -e MODEL_NAME=m runpod/worker-v1-vllm:v2.7.0"} {
		_, err := launch.Read(other)
		if err == nil || !strings.Contains(err.Error(), "the nearest is") {
			t.Errorf("%s: %v", other, err)
		}
	}
}

// What a placeholder stands for is asked for by its name where it decides sizes.
func TestPlaceholdersAreAskedFor(t *testing.T) {
	for _, text := range []string{"vllm serve <MODEL> --tensor-parallel-size <num gpus>",
		"vllm serve {{ MODEL }} --tensor-parallel-size={{ .num.gpus }}",
		"kind: Pod\nspec: {containers: [{command: [vllm, serve, <MODEL>, " +
			"--tensor-parallel-size=<num gpus>]}]}"} {
		_, err := launch.Read(text)
		if err == nil || !strings.Contains(err.Error(), "--var MODEL=… --var num_gpus=…") {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// The same command on other accelerators is another replica; told twice, it is one server of which
// it is not known whether there are two.
func TestCommandsOnOtherAcceleratorsAreReplicas(t *testing.T) {
	const command = "vllm serve Qwen/Qwen3-32B -tp 2"
	r, err := launch.Read("CUDA_VISIBLE_DEVICES=0,1 " + command + " &\nCUDA_VISIBLE_DEVICES=2,3 " +
		command + " --port 8001")
	if err != nil || !slices.Contains(r.Settings, "replicas=2") {
		t.Errorf("found %v, %v", r, err)
	}
	if r, err := launch.Read(command + "\n" + command + " --max-model-len 4096"); err == nil {
		t.Errorf("two servers are read as %v", r.Settings)
	}
}

// NIM has its model in the image, its sizes in variables or in the name of a profile.
func TestNIMIsRead(t *testing.T) {
	for text, want := range map[string]string{
		"docker run -e NIM_TENSOR_PARALLEL_SIZE=4 -e NIM_MAX_MODEL_LEN=8192 " +
			"nvcr.io/nim/meta/llama-3.1-70b-instruct:1.8": "engine.max-model-len=8192 " +
			"model=meta/llama-3.1-70b-instruct parallelism.tensor=4",
		"docker run -e NIM_MODEL_PROFILE=tensorrt_llm-h100-fp8-tp4-pp2-latency " +
			"nvcr.io/nim/meta/llama-3.1-70b-instruct": "batching.policy=trtllm " +
			"engine.preset=trtllm engine.weights=fp8 model=meta/llama-3.1-70b-instruct " +
			"parallelism.pipeline=2 parallelism.tensor=4",
		"services: {n: {image: nvcr.io/nim/nvidia/llm-nim, environment: " +
			"{NIM_MODEL_NAME: hf://Qwen/Qwen3-32B, NIM_MODEL_PROFILE: vllm-bf16-tp2}}}": "engine." +
			"weights=bf16 model=Qwen/Qwen3-32B parallelism.tensor=2",
		"kind: NIMService\nspec: {replicas: 2, image: {repository: nvcr.io/nim/meta/llama-3.1-8b-" +
			"instruct, tag: '1.3'}}": "model=meta/llama-3.1-8b-instruct parallelism.tensor=1 " +
			"replicas=2",
	} {
		r, err := launch.ReadFileOrText(text+"\n", nil)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		got := strings.Join(slices.Sorted(slices.Values(r.Settings)), " ")
		if got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}

// Engines whose commands are only read have their model and sizes read.
func TestOtherEnginesAreRead(t *testing.T) {
	const slots = "batching.max-sequences"
	const one = slots + "=1 engine.preset=llama.cpp model=a.gguf"
	flash := regexp.MustCompile(`-fa|flash|FLASH|python3`)
	for text, want := range map[string]string{
		"lmdeploy serve api_server Qwen/Qwen3-32B --tp 4 --quant-policy 8": "engine.kv-cache=" +
			"int8 engine.preset=lmdeploy model=Qwen/Qwen3-32B parallelism.tensor=4",
		"./llama-server -m qwen3-32b.gguf -c 4096 -ngl 99 -ctk q8_0 -ctv q8_0": slots + "=4 " +
			"engine.kv-cache=int8 engine.max-model-len=4096 engine.preset=llama.cpp " +
			"memory.tokens=4096 model=qwen3-32b.gguf",
		"llama-server -hf unsloth/Qwen3-8B-GGUF -c 0": slots + "=4 engine.preset=llama.cpp " +
			"engine.weights=q4_k_m model=Qwen/Qwen3-8B",
		"llama-server -m a.gguf -c 32768 -np 4": slots + "=4 engine.max-model-len=8192 " +
			"engine.preset=llama.cpp memory.tokens=32768 model=a.gguf",
		"llama-server -m a.gguf --ctx-size 32768 --parallel 4 -no-kvu": slots + "=4 engine." +
			"max-model-len=8192 engine.preset=llama.cpp memory.tokens=32768 model=a.gguf",
		"llama-server -m a.gguf --ctx-size 32768 --parallel 8 --kv-unified": slots + "=8 engine." +
			"max-model-len=32768 engine.preset=llama.cpp memory.tokens=32768 model=a.gguf",
		"llama-server -hf Qwen/Qwen3-8B-GGUF:Q4_K_M -c 131072 -np 2 -kvu": slots + "=2 engine." +
			"max-model-len=40960 engine.preset=llama.cpp engine.weights=q4_k_m " +
			"memory.tokens=131072 model=Qwen/Qwen3-8B",
		"llama-server -m a.gguf -c 4096 -np -1": slots + "=4 engine.max-model-len=4096 " +
			"engine.preset=llama.cpp memory.tokens=4096 model=a.gguf",
		"docker run -e LLAMA_ARG_CTX_SIZE=8192 -e LLAMA_ARG_N_PARALLEL=1 ghcr.io/ggml-org/" +
			"llama.cpp:server -m a.gguf": slots + "=1 engine.max-model-len=8192 " +
			"engine.preset=llama.cpp memory.tokens=8192 model=a.gguf",
		"llama-server -hf unsloth/Qwen3.5-27B-GGUF -c 8192 -np 1": slots + "=1 engine.max-model-" +
			"len=8192 engine.preset=llama.cpp engine.weights=q4_k_m memory.tokens=10541 " +
			"model=Qwen/Qwen3.5-27B",
		"llama-server -m a.gguf -np 1 -fa on":                    "attention.kernel=flash " + one,
		"llama-server -m a.gguf -np 1 -fa 1":                     "attention.kernel=flash " + one,
		"llama-server -m a.gguf -fa -np 1":                       "attention.kernel=flash " + one,
		"llama-server -m a.gguf -np 1 --flash-attn":              "attention.kernel=flash " + one,
		"llama-server -m a.gguf -np 1 -fa auto":                  "attention.kernel=flash " + one,
		"llama-server -m a.gguf -np 1 -fa off":                   one,
		"llama-server -m a.gguf -np 1":                           one,
		"LLAMA_ARG_FLASH_ATTN=true llama-server -m a.gguf -np 1": "attention.kernel=flash " + one,
		"python3 -m llama_cpp.server --model a.gguf --flash_attn true": "attention.kernel=flash " +
			one,
		"python3 -m llama_cpp.server --model a.gguf --n_ctx 8192": slots + "=1 engine.max-model-" +
			"len=8192 engine.preset=llama.cpp memory.tokens=8192 model=a.gguf",
		"text-generation-launcher --model-id Qwen/Qwen3-32B --quantize bitsandbytes": "engine." +
			"weights=int8 model=Qwen/Qwen3-32B",
		"text-generation-launcher --model-id m --max-concurrent-requests 64": slots + "=64 model=m",
		"text-generation-launcher --model-id m --max-batch-size 64 --max-concurrent-requests " +
			"256": slots + "=64 model=m",
		"MAX_CONCURRENT_REQUESTS=8 text-generation-launcher --model-id m --max-batch-size " +
			"64": slots + "=8 model=m",
		"text-generation-launcher --model-id m --max-batch-size 32": slots + "=32 model=m",
		"vllm serve Qwen/Qwen3-8B --dtype float32": "engine.weights=fp32 " +
			"model=Qwen/Qwen3-8B",
		"docker run -p 1:1 ghcr.io/huggingface/text-generation-inference:3.3.5 --model-id " +
			"Qwen/Qwen3-32B --num-shard 4": "model=Qwen/Qwen3-32B parallelism.tensor=4",
	} {
		r, err := launch.Read(text)
		if err != nil || strings.Join(r.Settings, " ") != want {
			t.Errorf("%s: %v, %v, want %s", text, r, err, want)
		} else if said := strings.Contains(fmt.Sprint(r.Notes), "without -fa"); said !=
			(strings.Contains(want, "llama.cpp") && !flash.MatchString(text)) {
			t.Errorf("%s: the default of -fa is said: %t", text, said)
		}
	}
}

// What decides sizes or bytes is read, asked for or refused: it never ends as a note, under any
// engine.
func TestSizesAreNeverNotes(t *testing.T) {
	for command, list := range map[string][]string{
		"vllm serve google/gemma-3-27b-it": {"-tp 2", "-pp 2", "-dp 2", "-dcp 2", "-pcp 2",
			"--kv-cache-memory-bytes 1000", "--gpu-memory-utilization 0.5", "-q fp8",
			"--kv-cache-dtype fp8", "--dtype float32", "--cpu-offload-gb 4", "--enforce-eager",
			"--offload-group-size 2", "--num-gpu-blocks-override 10", "--kv-offloading-size 4",
			"--disable-hybrid-kv-cache-manager", "--disable-sliding-window", "-O0",
			`--hf-overrides '{"text_config":{"num_hidden_layers":4}}'`, "--hf-config-path x",
			`--speculative-config '{"method":"suffix"}'`, `--speculative-config x`,
			`--speculative-config '{"method":"ngram"}'`, "--override-engine-args x",
			`--compilation-config '{"level":0}'`, `-cc '{"mode":0}'`, "-cc.use_cudagraph=false",
			"--connector kvbm"},
		"vllm serve Qwen/Qwen3-30B-A3B": {"-dp 2 -ep", "-tp 2 -ep",
			`--eplb-config '{"num_redundant_experts":8}'`},
		"vllm serve Qwen/Qwen3.5-27B": {"--mamba-cache-dtype float16"},
		"python -m sglang.launch_server --model-path google/gemma-3-27b-it": {"--tp 2", "--pp 2",
			"--dp 2", "--attn-cp-size 2", "--tp 2 --dp 3 --enable-dp-attention",
			"--enable-nsa-prefill-context-parallel", "--moe-dp-size 2", "--moe-dense-tp-size 2",
			"--mem-fraction-static 0.5", "--max-total-tokens 1000", "--quantization fp8",
			"--torchao-config int4wo-128", "--modelopt-quant fp8", "--kv-cache-dtype fp8_e4m3",
			"--json-model-override-args '{\"head_dim\":4}'", "--kt-num-gpu-experts 8",
			"--cpu-offload-gb 4", "--offload-group-size 2", "--disable-cuda-graph",
			"--swa-full-tokens-ratio 0.5", "--disable-hybrid-swa-memory", "--enable-lmcache",
			"--enable-hierarchical-cache --hicache-ratio 3", "--speculative-algorithm DFLASH",
			"--max-mamba-cache-size 4"},
		"trtllm-serve Qwen/Qwen3-30B-A3B": {"--tp_size 2", "--pp_size 2", "--cp_size 2",
			"--tp_size 4 --ep_size 3", "--cluster_size 2",
			"--kv_cache_free_gpu_memory_fraction 0.5"},
		"trtllm-serve google/gemma-3-27b-it --config c": {"{kv_cache_config: {dtype: fp8}}",
			"{kv_cache_config: {max_attention_window: [512]}}", "{quant_config: {quant_algo: FP8}}",
			"{quant_config: {kv_cache_quant_algo: FP8}}", "{dtype: float32}",
			"{moe_config: {load_balancer: {num_slots: 8}}}", "{use_cuda_graph: false}",
			"{kv_cache_config: {host_cache_size: 10000}}", "{moe_tensor_parallel_size: 2}",
			"{speculative_config: {decoding_type: Medusa}}"},
		"lmdeploy serve api_server Qwen/Qwen3-235B-A22B --tp 8": {"--dp 2", "--ep 8", "--cp 2",
			"--cache-max-entry-count 0.5", "--model-format awq", "--quant-policy 8", "--eager-mode",
			"--speculative-algorithm eagle", "--dtype float32"},
		"llama-server -m gemma-3-27b-it-Q4_K_M.gguf": {"-ngl 10", "-ncmoe 4", "--cpu-moe",
			"-ot exps=CPU", "-nkvo", "-ctk q8_0", "-ctv q8_0", "-ctk q8_0 -ctv q8_0", "-ts 1,1",
			"-sm row", "-c 4096", "-np 2", "-c 4096 -np 2 -kvu", "--swa-full",
			"--spec-type draft-mtp", "-md x.gguf"},
		"text-generation-launcher --model-id google/gemma-3-27b-it": {"--num-shard 2",
			"--quantize fp8", "--dtype float32", "--kv-cache-dtype fp8_e5m2", "--cuda-graphs 0",
			"--max-batch-total-tokens 4000", "--cuda-memory-fraction 0.5", "--speculate 2"},
	} {
		read := func(text string) (string, error) {
			r, err := launch.Read(text)
			if err != nil {
				return "", err
			}
			return strings.Join(r.Settings, " "), nil
		}
		file := strings.HasSuffix(command, "--config c")
		plain, err := read(strings.TrimSuffix(command, " --config c"))
		testkit.OK(t, err)
		for _, given := range list {
			text := command + " " + given
			if file {
				text = "cat <<E >c\n" + given + "\nE\n" + command
			}
			if set, err := read(text); err == nil && set == plain {
				t.Errorf("%s changes nothing of %s", given, command)
			}
		}
	}
}
