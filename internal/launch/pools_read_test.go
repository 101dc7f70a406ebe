package launch

import (
	"fmt"
	"strings"
	"testing"
)

// sglangPools is as docs/advanced_features/pd_disaggregation.md of sgl-project/sglang has it at
// 08edc506, shortened, with a second decode worker.
const sglangPools = `
# prefill 0
python -m sglang.launch_server --model-path deepseek-ai/DeepSeek-V3-0324 --host ${local_ip} \
  --disaggregation-mode prefill --port 30000 --dist-init-addr ${prefill_master_ip}:5000 \
  --nnodes 2 --node-rank 0 --tp-size 16 --dp-size 8 --enable-dp-attention --moe-a2a-backend deepep
# prefill 1
python -m sglang.launch_server --model-path deepseek-ai/DeepSeek-V3-0324 --host ${local_ip} \
  --disaggregation-mode prefill --port 30000 --dist-init-addr ${prefill_master_ip}:5000 \
  --nnodes 2 --node-rank 1 --tp-size 16 --dp-size 8 --enable-dp-attention --moe-a2a-backend deepep
python -m sglang.launch_server --model-path deepseek-ai/DeepSeek-V3-0324 \
  --disaggregation-mode decode --port 30001 --tp 8 --max-running-requests 128
python -m sglang.launch_server --model-path deepseek-ai/DeepSeek-V3-0324 \
  --disaggregation-mode decode --port 30002 --tp 8 --max-running-requests 128
python -m sglang_router.launch_router --pd-disaggregation --prefill http://127.0.0.1:30000 \
  --decode http://127.0.0.1:30001 --host 0.0.0.0 --port 8000
`

// vllmPools is as docs/features/nixl_connector_usage.md of vllm-project/vllm has it at 026c83f9,
// shortened: only the proxy tells which is which.
const vllmPools = `
CUDA_VISIBLE_DEVICES=0 VLLM_NIXL_SIDE_CHANNEL_PORT=5600 vllm serve Qwen/Qwen3-0.6B \
  --port 8100 --enforce-eager \
  --kv-transfer-config '{"kv_connector":"NixlConnector","kv_role":"kv_both"}'
CUDA_VISIBLE_DEVICES=1 VLLM_NIXL_SIDE_CHANNEL_PORT=5601 vllm serve Qwen/Qwen3-0.6B \
  --port 8200 --kv-transfer-config '{"kv_connector":"NixlConnector","kv_role":"kv_both"}'
python tests/v1/kv_connector/nixl_integration/toy_proxy_server.py --port 8192 \
  --prefiller-hosts localhost --prefiller-ports 8100 --decoder-hosts localhost \
  --decoder-ports 8200
`

// trtllmPools is as examples/disaggregated/README.md of NVIDIA/TensorRT-LLM has it at 01397124,
// shortened, with the proxy's file written by the script.
const trtllmPools = `
cat <<EOF > disagg_config.yaml
hostname: localhost
port: 8000
backend: pytorch
context_servers:
  num_instances: 2
  urls: ["localhost:8001", "localhost:8002"]
generation_servers:
  num_instances: 1
  urls: ["localhost:8003"]
EOF
CUDA_VISIBLE_DEVICES=0 trtllm-serve TinyLlama/T --host localhost --port 8001 &> log_ctx_0 &
CUDA_VISIBLE_DEVICES=1 trtllm-serve TinyLlama/T --host localhost --port 8002 &> log_ctx_1 &
CUDA_VISIBLE_DEVICES=2 trtllm-serve TinyLlama/T --host localhost --port 8003 &> log_gen_0 &
trtllm-serve disaggregated -c disagg_config.yaml
`

// llmdSet is as guides/pd-disaggregation/modelserver/gpu/vllm/base/disaggregatedset.yaml of
// llm-d/llm-d has it at 5554114, shortened.
const llmdSet = `
apiVersion: disaggregatedset.x-k8s.io/v1
kind: DisaggregatedSet
metadata: {name: pd-disagg-vllm}
spec:
  slices: 2
  roles:
    - name: prefill
      spec:
        replicas: 4
        leaderWorkerTemplate:
          size: 1
          workerTemplate:
            metadata: {labels: {llm-d.ai/role: prefill}}
            spec:
              containers:
                - name: modelserver
                  command: [vllm, serve]
                  args: [openai/gpt-oss-120b, --tensor-parallel-size=1, --block-size=128,
                    --kv-transfer-config, '{"kv_connector":"NixlConnector","kv_role":"kv_both"}']
    - name: decode
      spec:
        replicas: 1
        leaderWorkerTemplate:
          size: 1
          workerTemplate:
            metadata: {labels: {llm-d.ai/role: decode}}
            spec:
              initContainers:
                - {name: routing-proxy, args: [--port=8000, --kv-connector=nixlv2]}
              containers:
                - name: modelserver
                  command: [vllm, serve]
                  args: [openai/gpt-oss-120b, --tensor-parallel-size=4, --block-size=128,
                    --port=8200, --kv-transfer-config,
                    '{"kv_connector":"NixlConnector","kv_role":"kv_both"}']
`

// llmdWide is as guides/wide-ep-lws/manifests/modelserver/base of llm-d/llm-d has it at 03da3b0,
// shortened, with both pools in one file.
const llmdWide = `
apiVersion: leaderworkerset.x-k8s.io/v1
kind: LeaderWorkerSet
metadata: {name: wide-ep-llm-d-decode, labels: {llm-d.ai/role: decode}}
spec:
  replicas: 1
  leaderWorkerTemplate:
    size: 4
    workerTemplate:
      spec: &pod
        containers:
          - name: vllm-worker
            command: [/bin/bash, -c]
            args:
              - |-
                START_RANK=$(( ${LWS_WORKER_INDEX:-0} * DP_SIZE_LOCAL ))
                source /opt/vllm/bin/activate
                exec vllm serve \
                  deepseek-ai/DeepSeek-R1-0528 \
                  --port 8200 \
                  --enable-expert-parallel \
                  --data-parallel-hybrid-lb \
                  --data-parallel-size $((LWS_GROUP_SIZE * DP_SIZE_LOCAL)) \
                  --data-parallel-size-local $DP_SIZE_LOCAL \
                  --data-parallel-address ${LWS_LEADER_ADDRESS} \
                  --data-parallel-start-rank $START_RANK \
                  --trust-remote-code \
                  --kv_transfer_config '{"kv_connector":"NixlConnector","kv_role":"kv_both"}'
            env: [{name: DP_SIZE_LOCAL, value: "8"}]
---
apiVersion: leaderworkerset.x-k8s.io/v1
kind: LeaderWorkerSet
metadata: {name: wide-ep-llm-d-prefill, labels: {llm-d.ai/role: prefill}}
spec:
  replicas: 2
  leaderWorkerTemplate:
    size: 2
    workerTemplate:
      spec:
        containers:
          - command: [/bin/bash, -c]
            args: ["exec vllm serve deepseek-ai/DeepSeek-R1-0528 --enable-expert-parallel
              --data-parallel-size $((LWS_GROUP_SIZE * 8))"]
`

// dynamoPools is as examples/backends/vllm/deploy/disagg_router.yaml of ai-dynamo/dynamo has it at
// 0044eb90, shortened.
const dynamoPools = `
apiVersion: nvidia.com/v1alpha1
kind: DynamoGraphDeployment
metadata: {name: vllm-v1-disagg-router}
spec:
  services:
    Frontend:
      componentType: frontend
      replicas: 1
      extraPodSpec: {mainContainer: {image: "nvcr.io/nvidia/ai-dynamo/vllm-runtime:${VERSION}"}}
      envs: [{name: DYN_ROUTER_MODE, value: kv}]
    VllmDecodeWorker:
      componentType: worker
      replicas: 2
      resources: {limits: {gpu: "1"}}
      extraPodSpec:
        mainContainer:
          command: [python3, -m, dynamo.vllm]
          args: [--model, Qwen/Qwen3-0.6B, --is-decode-worker]
    VllmPrefillWorker:
      componentType: worker
      replicas: 3
      resources: {limits: {gpu: "1"}}
      extraPodSpec:
        mainContainer:
          command: [python3, -m, dynamo.vllm]
          args: [--model, Qwen/Qwen3-0.6B, --is-prefill-worker, --tensor-parallel-size, "2"]
`

// Pools are read in the forms in which engines and llm-d document them.
func TestReadPools(t *testing.T) {
	for name, c := range map[string]struct{ text, settings string }{
		"SGLang": {sglangPools, "fleet.pools=[{role: prefill, replicas: 1, batching: " +
			"{policy: sglang}, engine: {exchange-backend: deepep, preset: sglang}, " +
			"parallelism: {data: 8, tensor: 2}}, {role: decode, replicas: 2, batching: " +
			"{max-sequences: 128, policy: sglang}, engine: {preset: sglang}, " +
			"parallelism: {tensor: 8}}] " +
			"model=deepseek-ai/DeepSeek-V3-0324"},
		"vLLM": {vllmPools, "fleet.pools=[{role: prefill, replicas: 1, engine: {eager: true}}, " +
			"{role: decode, replicas: 1}] model=Qwen/Qwen3-0.6B"},
		"TensorRT-LLM": {trtllmPools, "batching.policy=trtllm engine.preset=trtllm fleet.pools=" +
			"[{role: prefill, replicas: 2}, {role: decode, replicas: 1}] " +
			"memory.policy=prefix-cache model=TinyLlama/T"},
		"llm-d": {llmdSet, "fleet.pools=[{role: prefill, replicas: 8, parallelism: {tensor: 1}}, " +
			"{role: decode, replicas: 2, parallelism: {tensor: 4}}] memory.block-size=128 " +
			"model=openai/gpt-oss-120b"},
		"llm-d, wide": {llmdWide, "fleet.pools=[{role: decode, replicas: 1, parallelism: " +
			"{data: 32}}, {role: prefill, replicas: 2, parallelism: {data: 16}}] " +
			"model=deepseek-ai/DeepSeek-R1-0528"},
		"Dynamo": {dynamoPools, "fleet.pools=[{role: decode, replicas: 2}, {role: prefill, " +
			"replicas: 3, parallelism: {tensor: 2}}] model=Qwen/Qwen3-0.6B routing=prefix-aware"},
		"Dynamo, decode without a flag": {
			strings.ReplaceAll(dynamoPools, ", --is-decode-worker", ""), "fleet.pools=[{role: " +
				"decode, replicas: 2}, {role: prefill, replicas: 3, parallelism: " +
				"{tensor: 2}}] model=Qwen/Qwen3-0.6B routing=prefix-aware"},
		"Dynamo, script": {"CUDA_VISIBLE_DEVICES=0 python3 -m dynamo.vllm " +
			"--model m &\nCUDA_VISIBLE_DEVICES=1 python3 -m dynamo.vllm --model m &\n" +
			"CUDA_VISIBLE_DEVICES=2 python3 -m dynamo.vllm --model m --is-prefill-worker",
			"fleet.pools=[{role: decode, replicas: 2}, {role: prefill, replicas: 1}] model=m"},
		"parts of options": {"vllm serve m --kv-transfer-config.kv_connector NixlConnector " +
			"--kv-transfer-config.kv_role kv_producer\nvllm serve m -tp 2 " +
			"--kv-transfer-config.kv_role=kv_consumer", "fleet.pools=[{role: prefill, " +
			"replicas: 1}, {role: decode, replicas: 1, parallelism: {tensor: 2}}] model=m"},
		"three pools": {"case $1 in\nmixed-0) vllm serve m;;\ndecode-1) # replicas: 3, of 8\n" +
			"vllm serve m;;\nprefill-2) vllm serve m;;\nprefill-3) vllm serve m -tp 2;;\nesac",
			"fleet.pools=[{role: mixed, replicas: 1}, {role: decode, replicas: 3}, {name: " +
				"prefill-2, role: prefill, replicas: 1}, {name: prefill-3, role: prefill, " +
				"replicas: 1, parallelism: {tensor: 2}}] model=m"},
	} {
		r, err := Read(c.text)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got := strings.Join(r.Settings, " "); got != c.settings {
			t.Errorf("%s\nread as %s\nwant    %s", name, got, c.settings)
		}
		if len(r.Notes) > 0 {
			t.Errorf("%s: notes %q", name, r.Notes)
		}
	}
}

// What one pool leaves out is said with its name, and what all leave out once. A part of a fleet is
// read as a whole one, and it is said that another is missing.
func TestWhatPoolsLeaveOutIsSaid(t *testing.T) {
	pools := "vllm serve m --enable-dbo --kv-transfer-config '{\"kv_role\": \"kv_producer\"}'\n" +
		"vllm serve m --enable-dbo --kv-transfer-config '{\"kv_role\": \"kv_consumer\"}' --foo"
	for text, want := range map[string]string{
		pools: "[--enable-dbo was left out: a scenario has nothing for it " +
			"decode: --foo is not known, and was left out]",
		"vllm serve m --kv-transfer-config '{\"kv_role\": \"kv_both\"}'": "" +
			"[--kv-transfer-config: a scenario has pools for prefill and decode " +
			"(fleet.pools), and this command is one of them: give those of both together]",
		"trtllm-serve m --server_role MM": "[--server_role MM was left out: known are CONTEXT " +
			"and GENERATION]",
		"kind: Pod\nmetadata: {labels: {llm-d.ai/role: decode}}\nspec: {containers: [" +
			"{command: [vllm, serve, m, --kv-transfer-config, " +
			"'{\"kv_role\": \"kv_producer\"}']}]}": "[its flags say prefill, " +
			"and what stands around them decode, as which it is read " +
			"--kv-transfer-config: a scenario has pools for prefill and decode (fleet.pools), " +
			"and this command is one of them: give those of both together]",
	} {
		r, err := Read(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
		} else if got := fmt.Sprint(r.Notes); got != want {
			t.Errorf("%s\nnotes %s\nwant  %s", text, got, want)
		}
	}
}
