package launch

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/llmsim/llmsim/internal/launch/commands"
	"github.com/llmsim/llmsim/internal/launch/engines"
	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/policies"
	"github.com/llmsim/llmsim/scenarios"
)

// draw makes up what an engine is asked for, as settings of a scenario.
func draw(t *rapid.T, e *engines.Engine) []string {
	n := func(name string, low, high int) int { return rapid.IntRange(low, high).Draw(t, name) }
	settings := []string{"hardware=h200-sxm", "engine.preset=" + preset(e), "memory=prefix-cache",
		fmt.Sprintf("batching.max-sequences=%d", 16*n("sequences", 1, 32)),
		fmt.Sprintf("memory.utilization=0.%d", n("utilization", 61, 95))}
	for _, setting := range []string{"engine.kv-cache=fp8", "engine.eager=true",
		"engine.experts-backend=triton",
		"speculation={method: mtp, acceptance: 0.7, tokens: 2}"} {
		if rapid.Bool().Draw(t, setting) {
			settings = append(settings, setting)
		}
	}
	return settings
}

// preset returns the name of the engine preset of an engine.
func preset(e *engines.Engine) string {
	if e.Name == "vllm" {
		return "vllm-v1"
	}
	return e.Name
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

// trtllmScript is as nvidia.github.io/TensorRT-LLM/1.0.0/commands/trtllm-serve/
// run-benchmark-with-trtllm-serve.html has it.
const trtllmScript = `#! /bin/bash
model_path=/path/to/llama3.1_70B
extra_llm_api_file=/tmp/extra-llm-api-config.yml

cat << EOF > ${extra_llm_api_file}
enable_attention_dp: false
print_iter_log: true
cuda_graph_config:
  enable_padding: true
  max_batch_size: 1024
kv_cache_config:
  dtype: fp8
EOF

trtllm-serve ${model_path} \
    --max_batch_size 1024 \
    --max_num_tokens 2048 \
    --max_seq_len 1024 \
    --kv_cache_free_gpu_memory_fraction 0.9 \
    --tp_size 1 \
    --ep_size 1 \
    --trust_remote_code \
    --extra_llm_api_options ${extra_llm_api_file}
`

// sglangNodes is as docs.sglang.ai/references/multi_node_deployment/lws_pd has it, shortened.
const sglangNodes = `
apiVersion: leaderworkerset.x-k8s.io/v1
kind: LeaderWorkerSet
spec:
  replicas: 3
  leaderWorkerTemplate:
    size: 2
    leaderTemplate:
      spec:
        containers:
          - name: sglang-leader
            image: sglang:latest
            command: [python3, -m, sglang.launch_server, --model-path, /work/models,
              --mem-fraction-static, "0.93", --torch-compile-max-bs, "8",
              --max-running-requests, "20", --tp, "16",
              --dist-init-addr, "$(LWS_LEADER_ADDRESS):20000", --nnodes, $(LWS_GROUP_SIZE),
              --node-rank, $(LWS_WORKER_INDEX), --trust-remote-code]
    workerTemplate:
      spec:
        containers:
          - name: sglang-worker
            image: sglang:latest
            command: [python3, -m, sglang.launch_server, --model-path, /work/models, --tp, "16",
              --dist-init-addr, "$(LWS_LEADER_ADDRESS):20000", --nnodes, $(LWS_GROUP_SIZE),
              --node-rank, $(LWS_WORKER_INDEX)]
`

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
		{"vllm serve m -tp 4", "model=m parallelism.tensor=4", ""},
		{"A=1 exec /usr/bin/vllm serve m \\\n  --max_model_len=128K --dtype auto",
			"engine.max-model-len=131072 model=m", ""},
		{"vllm serve m -tp 2 -dp 4 -ep",
			"model=m parallelism.data=4 parallelism.tensor=2", ""},
		{"vllm serve m -tp 8 -ep --no-enable-prefix-caching",
			"memory.policy=paged model=m parallelism.expert=8 parallelism.tensor=8", ""},
		{"vllm serve m --enable-chunked-prefill", "model=m", ""},
		{"vllm serve m --no-enable-chunked-prefill", "model=m", "--no-enable-chunked-prefill: " +
			"prompts are simulated as cut"},
		{"vllm serve m --enable-chunked-prefill=False", "model=m", "are simulated as cut"},
		{"docker run vllm/vllm-openai:v0.6.3 --model m --enable-chunked-prefill",
			"batching.chunked-prefill=true batching.token-budget=512 engine.preset=vllm " +
				"engine.version=0.6.3 model=m", ""},
		{"VLLM_USE_V1=0 vllm serve m --enable-chunked-prefill", "batching.chunked-prefill=true " +
			"batching.token-budget=2048 engine.preset=vllm-v0 model=m", ""},
		{"VLLM_USE_V1=0 vllm serve m --no-enable-chunked-prefill --max-model-len 64K",
			"batching.chunked-prefill=false batching.token-budget=65536 " +
				"engine.max-model-len=65536 engine.preset=vllm-v0 model=m", ""},
		{"VLLM_USE_V1=0 vllm serve m --enable-chunked-prefill false --max-num-batched-tokens 4096",
			"batching.chunked-prefill=false batching.token-budget=4096 engine.preset=vllm-v0 " +
				"model=m", ""},
		{"vllm serve m -dp 4", "model=m replicas=4",
			"read as 4 replicas"},
		{"vllm serve m --frobnicate 3 --seed 1", "model=m",
			"--frobnicate is not known"},
		{"python3 -m sglang.launch_server --model-path m --tp 8 --dp 8 --enable-dp-attention",
			"batching.policy=sglang engine.preset=sglang model=m " +
				"parallelism.data=8 parallelism.expert=1 parallelism.tensor=1", ""},
		{"python3 -m sglang.launch_server --model-path m --tp 8 --dp 8 " +
			"--enable-dp-attention --ep 8",
			"batching.policy=sglang engine.preset=sglang model=m " +
				"parallelism.data=8 parallelism.tensor=1", ""},
		{"python3 -m sglang.launch_server --model-path m --tp 72 --dp 72 --enable-dp-attention " +
			"--moe-a2a-backend deepep --ep-num-redundant-experts 32 --enable-two-batch-overlap",
			"batching.policy=sglang engine.exchange-backend=deepep engine.preset=sglang model=m " +
				"parallelism.data=72 parallelism.overlap=two-batch " +
				"parallelism.redundant-experts=32 parallelism.tensor=1", ""},
		// as docs.vllm.ai/en/v0.15.1/deployment/docker has it
		{`docker run --runtime nvidia --gpus all -v ~/.cache/huggingface:/root/.cache/huggingface \
			--env "HF_TOKEN=$HF_TOKEN" -p 8000:8000 --ipc=host vllm/vllm-openai:latest \
			--model Qwen/Qwen3-0.6B`, "model=Qwen/Qwen3-0.6B", "does not say which release"},
		{"sudo docker run lmsysorg/sglang:latest python3 -m sglang.launch_server --model m " +
			"--api-key $KEY", "batching.policy=sglang engine.preset=sglang " +
			"model=m", "lmsysorg/sglang:latest does not say which release of sglang"},
		// as huggingface.co/lukealonso/MiniMax-M2.7-NVFP4/discussions/10 has it, but for the model
		{"CUDA_VISIBLE_DEVICES=0,1 vllm serve m --port 23333 --trust-remote-code " +
			"--tensor-parallel-size 2 --enable-auto-tool-choice --disable-custom-all-reduce " +
			"--enable_expert_parallel --gpu-memory-utilization 0.95 --max-num-seqs 8 " +
			"--kv-cache-dtype fp8_ds_mla --max-model-len 130k",
			"batching.max-sequences=8 engine.kv-cache=fp8 engine.max-model-len=130000 " +
				"memory.utilization=0.95 model=m parallelism.expert=2 parallelism.tensor=2",
			"--disable-custom-all-reduce"},
		{"vllm serve m -tp 2 -dp 4 -ep --max-num-seqs 64 --max-num-batched-tokens 4k",
			"batching.max-sequences=256 batching.token-budget=16000 " +
				"model=m parallelism.data=4 parallelism.tensor=2", ""},
		{"vllm serve m --max-num-seq 64", "batching.max-sequences=64 model=m", ""}, // argparse
		{"vllm serve m --max-mun-seqs 64", "model=m",
			"did you mean --max-num-seqs?"},
		// as nvidia.github.io/TensorRT-LLM/1.0.0/commands/trtllm-serve has it, shortened
		{"cat <<EOF > /tmp/extra.yml\nenable_attention_dp: true\nprint_iter_log: true\n" +
			"kv_cache_config:\n  free_gpu_memory_fraction: 0.8\n  dtype: fp8\n" +
			"cuda_graph_config:\n  enable_padding: true\n  max_batch_size: 4\nEOF\n" +
			"trtllm-serve m --tp_size 8 --ep_size 8 --max_batch_size 16 " +
			"--extra_llm_api_options /tmp/extra.yml",
			"batching.max-sequences=128 batching.policy=trtllm engine.graph=4 " +
				"engine.kv-cache=fp8 engine.preset=trtllm memory.kv-share=0.8 " +
				"memory.policy=prefix-cache model=m parallelism.data=8 parallelism.tensor=1",
			"print_iter_log of /tmp/extra.yml was left out"},
		{"trtllm-serve m --config x.yaml", "batching.policy=trtllm engine.preset=trtllm " +
			"memory.policy=prefix-cache model=m", "x.yaml is not at hand"},
		{"vllm serve m --served-model-name a b --enable-dbo --max-logprobs 5", "model=m",
			"--enable-dbo was left out: a scenario has nothing for it"},
		{"vllm serve Qwen/Qwen3-30B-A3B -dp 4 --max-num-seqs 8", "batching.max-sequences=32 " +
			"model=Qwen/Qwen3-30B-A3B parallelism.data=4 parallelism.expert=1", ""},
		{trtllmScript, "batching.max-sequences=1024 batching.policy=trtllm " +
			"batching.token-budget=2048 engine.kv-cache=fp8 " +
			"engine.max-model-len=1024 engine.preset=trtllm memory.kv-share=0.9 " +
			"memory.policy=prefix-cache model=/path/to/llama3.1_70B parallelism.expert=1 " +
			"parallelism.tensor=1", "print_iter_log"},
		{sglangNodes, "batching.max-sequences=20 batching.policy=sglang engine.preset=sglang " +
			"memory.static-share=0.93 model=/work/models parallelism.tensor=16 replicas=3",
			"--torch-compile"},
		{"ARGS='--max-num-seqs 8 -tp 2'\nexport M=m\nmodel=$M\nvllm serve ${model} $ARGS",
			"batching.max-sequences=8 model=m parallelism.tensor=2", ""},
		{"mpirun -n 8 --oversubscribe trtllm-llmapi-launch trtllm-serve m --tp_size 8",
			"batching.policy=trtllm engine.preset=trtllm memory.policy=prefix-cache " +
				"model=m parallelism.tensor=8", ""},
		{"uv run vllm serve google/gemma-3-27b-it -tp 2 -O3",
			"model=google/gemma-3-27b-it parallelism.tensor=2",
			"-O 3 was left out: kernels follow"},
		{"vllm serve Qwen/Qwen2.5-72B-Instruct-AWQ -tp=2 --quantization awq_marlin",
			"engine.weights=int4 model=Qwen/Qwen2.5-72B-Instruct parallelism.tensor=2",
			"with weights in int4, as its name says"},
		{"vllm serve m --quantization bitsandbytes", "engine.weights=int4 model=m", ""},
		{"vllm serve Qwen/Qwen3-32B-AWQ -q moe_wna16", "engine.weights=int4 model=Qwen/Qwen3-32B",
			"with weights in int4"},
		{"vllm serve openai/gpt-oss-20b -q quark", "model=openai/gpt-oss-20b", ""},
		{"vllm serve m --compilation-config.cudagraph_mode PIECEWISE", "model=m",
			"PIECEWISE is read as FULL_AND_PIECEWISE"},
		{"vllm serve meta-llama/Meta-Llama-3.1-405B-Instruct-FP8 -tp 8 -pp 2",
			"model=meta-llama/Meta-Llama-3.1-405B-Instruct-FP8 " +
				"parallelism.pipeline=2 parallelism.tensor=8", ""},
		{"vllm serve meta-llama/Meta-Llama-3.1-70B-Instruct-FP8 -tp 4",
			"engine.weights=fp8 model=meta-llama/Meta-Llama-3.1-70B-Instruct " +
				"parallelism.tensor=4", "in fp8"},
		{"kind: Deployment\nspec:\n  replicas: 3\n  pod: {command: [vllm, serve, m, -dp, '4']}",
			"model=m replicas=12", "read as 4 replicas"},
		{gke, "engine.preset=vllm engine.version=0.8.5 model=TinyLlama/TinyLlama-1.1b " +
			"parallelism.tensor=2", ""},
		{"#!/bin/sh\nset -e\ncd /x\nvllm serve 'a model'\n",
			"model=a model", ""},
		{"VLLM_USE_DEEP_GEMM=0 vllm serve m --moe-backend flashinfer_cutlass",
			"engine.experts-backend=flashinfer-cutlass " +
				"engine.products-backend=no-deepgemm model=m", ""},
		{"VLLM_USE_DEEP_GEMM=0 VLLM_USE_FLASHINFER_MOE_FP8=0 vllm serve m --moe-backend auto",
			"engine.experts-backend=no-deepgemm,no-flashinfer " +
				"engine.products-backend=no-deepgemm model=m", ""},
		{"VLLM_ATTENTION_BACKEND=FLASHINFER_VLLM_V1 VLLM_ALL2ALL_BACKEND=deepep_low_latency " +
			"vllm serve m -dp 8 --enable-expert-parallel",
			"engine.attention-backend=flashinfer engine.exchange-backend=deepep-low-latency " +
				"model=m parallelism.data=8", ""},
		{"docker run -e VLLM_ATTENTION_BACKEND=FLASHINFER vllm/vllm-openai:v0.20.0 --model m",
			"engine.preset=vllm engine.version=0.20.0 model=m",
			"VLLM_ATTENTION_BACKEND: vllm has it before 0.19"},
		{"vllm serve m --attention-config.backend TRITON_ATTN --linear-backend deep_gemm",
			"engine.attention-backend=triton-attn engine.products-backend=deepgemm model=m", ""},
		{"vllm serve m --attention-backend b12x-attn", "model=m",
			"--attention-backend was left out: unknown back end of attention in vLLM"},
		{"python3 -m sglang.launch_server --model-path m --tp 4 --attention-backend fa3 " +
			"--prefill-attention-backend fa4 --decode-attention-backend flashinfer " +
			"--fp8-gemm-backend flashinfer_trtllm --moe-a2a-backend deepep " +
			"--deepep-mode low_latency",
			"batching.policy=sglang engine.attention-backend=fa3 " +
				"engine.decode-backend=flashinfer " +
				"engine.exchange-backend=deepep-low-latency engine.prefill-backend=fa4 " +
				"engine.preset=sglang engine.products-backend=flashinfer-trtllm model=m " +
				"parallelism.expert=4 parallelism.tensor=4", ""},
		{"cat <<EOF > x.yml\nattn_backend: FLASHINFER\nEOF\n" +
			"trtllm-serve m --extra_llm_api_options x.yml",
			"batching.policy=trtllm engine.attention-backend=flashinfer engine.preset=trtllm " +
				"memory.policy=prefix-cache model=m", ""},
		{"python3 -m sglang.launch_server --model-path m --moe-runner-backend deep_gemm",
			"batching.policy=sglang engine.experts-backend=deepgemm engine.preset=sglang model=m",
			""},
		{"cat <<EOF > x.yml\nmoe_config:\n  backend: TRTLLM\nEOF\n" +
			"trtllm-serve m --extra_llm_api_options x.yml",
			"batching.policy=trtllm engine.experts-backend=trtllm engine.preset=trtllm " +
				"memory.policy=prefix-cache model=m", ""},
		{manifest, "engine.max-model-len=32000 model=m " +
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
		"python -m sglang.launch_server --model-path m --speculative-algorithm EAGLE " +
			"--speculative-num-steps 1 --speculative-eagle-topk 1": "--speculative-algorithm, " +
			"--speculative-num-steps, --speculative-eagle-topk: how many drafts are accepted",
		"docker run -d ollama/ollama:0.9":    "Ollama is not simulated; the nearest is llama.cpp",
		"OLLAMA_NUM_PARALLEL=4 ollama serve": "Ollama is not simulated",
		"python -m mlc_llm serve HF://x":     "MLC LLM is not simulated; the nearest is vLLM",
		"python3 -m lightllm.server.api_server --tp 2": "LightLLM is not simulated; the nearest " +
			"is SGLang",
		"echo hello":                         "no command that starts an engine",
		"vllm serve":                         "names no model",
		"vllm serve $MODEL":                  "--var MODEL=…",
		"vllm serve m\\\n -tp $TP":           "--var TP=…",
		"vllm serve $M -tp $TP -pp ${P:?}":   "--var M=… --var P=… --var TP=…",
		"vllm serve m -tp none":              "whole number",
		"vllm serve m -q gguf":               "set engine.weights",
		"vllm serve m -tp":                   "needs a value",
		"M=a; M=b; vllm serve $M":            "--var M=…",
		"for M in a; do vllm serve $M; done": "--var M=…",
		"vllm serve $(cat m)":                "line 1 has a variable",
		"M='a b'; vllm serve x$M":            "line 1 has a variable",
		"M=$M$M; vllm serve $M":              "--var M=…",
		"vllm serve a b":                     `found "b" beside the model a`,
		"vllm serve a; vllm serve b": "found 2 commands that start an engine: vllm a, vllm b; " +
			"give one of them, or those of prefill and decode pools: nothing says whether vllm a " +
			"or vllm b is for prefill or for decode",
		"vllm serve a & vllm serve a": "nothing says whether vllm a is",
		"case $1 in\nprefill) vllm serve m;;\ndecode) trtllm-serve m;;\nesac": "vllm m " +
			"(prefill), trtllm m (decode); give one of them, or those of prefill and " +
			"decode pools: their engines differ",
		"vllm serve a; vllm serve b -tp x": "vllm b: -tp: found \"x\"",
		"vllm serve m --moe-backend tritn": "did you mean triton",
		"vllm serve m --quantization nonsense": "found \"nonsense\"; allowed: auto, fp8, int8, " +
			"awq, gptq, bitsandbytes, nvfp4, mxfp4 and aqlm",
		strings.Repeat("vllm serve m\n", mostPools+1): "at most 100",
		"vllm serve m -dp $((A * 2))":                 "--var A=…",
		"A=010; vllm serve m -dp $((A * 2))":          "line 1 has a variable",
		"vllm serve 'a":                               "neither a command",
		strings.Repeat("x", commands.MostText+1):      "more than",
		"vllm serve m --max-model-len 9z":             "count of tokens",
		"services: {a: {image: i}}":                   "no command that starts an engine",
		"kind: Pod\na: {{ .A }}\n":                    "line 2 of the manifest has a template",
		"kind: Pod\na: [\n":                           "the manifest cannot be read: yaml: line",
	} {
		if _, err := Read(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.60s: error %v, want one with %q", text, err, want)
		}
	}
}

// Whatever text is given, Read ends, and what it reads is written on one line for each key.
func FuzzRead(f *testing.F) {
	for _, text := range []string{
		"vllm serve m -tp 4",
		"A=(--tp 4)\nexport M=${X:-m}\ndocker run -e N=1 vllm/vllm-openai --model $M \"${A[@]}\"",
		"kind: Deployment\nspec: {replicas: 2, template: {spec: {containers: [{command: [sh, -c, " +
			"'vllm serve m -tp $((A * 2))'], env: [{name: A, value: \"2\"}]}]}}}",
		"services: {a: {image: 'vllm/vllm-openai:v0.9', command: '--model m -tp ${TP:-2}'}}",
		"from vllm import LLM\nM = 'm'\nLLM(M, tensor_parallel_size=2, **{'a': [1, -2.5, None]})",
		"[Service]\nEnvironment=TP=2\nExecStart=/bin/vllm serve m -tp ${TP}\nRestart=always",
		"FROM vllm/vllm-openai\nENTRYPOINT [\"vllm\", \"serve\"]\nCMD [\"m\"]",
		"LLMConfig(model_loading_config=dict(model_id='m'), engine_kwargs={'a': int(f('b'))})",
		"cat >c.yml <<EOF\ncuda_graph_config: {max_batch_size: 4}\nEOF\ntrtllm-serve m " +
			"--extra_llm_api_options c.yml --tp_size <n>",
	} {
		f.Add(text)
	}
	f.Add("kind: Pod\nspec: {containers: [{command: [vllm, serve, m]}]}")
	for _, pools := range []string{sglangPools, vllmPools, trtllmPools, llmdSet, llmdWide,
		dynamoPools} {
		f.Add(pools)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var r *Reading
		var err error
		testkit.Bounded(t, len(text), func() { r, err = Read(text) })
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
	b, err := NewBundle(simulation, "trtllm")
	testkit.OK(t, err)
	servers := b.Servers
	if servers[0].Config == servers[1].Config || servers[0].ConfigFile == servers[1].ConfigFile {
		t.Errorf("both pools read %s:\n%s", servers[0].ConfigFile, servers[0].Config)
	}
	for i := range servers {
		if !slices.Contains(servers[i].Command, servers[i].ConfigFile) {
			t.Errorf("%q does not name %s", servers[i].Command, servers[i].ConfigFile)
		}
	}
}

// A name that people gave cannot break out of a command or a manifest.
func TestNamesAreQuoted(t *testing.T) {
	simulation := built(t, []string{"model=llama-3.1-8b", "hardware=h100-sxm"})
	s := &simulation.Scenario
	s.Model = `x"; rm -rf / #'$(reboot)`
	simulation.Model.Aliases = nil
	b, err := NewBundle(simulation, "vllm")
	testkit.OK(t, err)
	script, err := b.Script()
	testkit.OK(t, err)
	r, err := Read(script)
	if err != nil || !slices.Contains(r.Settings, "model="+s.Model) {
		t.Errorf("%v %v:\n%s", r, err, script)
	}
	manifests, err := b.Manifests()
	testkit.OK(t, err)
	if r, err = Read(manifests); err != nil || !slices.Contains(r.Settings, "model="+s.Model) {
		t.Errorf("%v %v:\n%s", r, err, manifests)
	}
}
