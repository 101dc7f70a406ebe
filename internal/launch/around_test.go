package launch

import (
	"strings"
	"testing"
)

// What stands around a command counts, and what cannot be read is said.
func TestWhatStandsAroundCommands(t *testing.T) {
	const predictor = "kind: InferenceService\nspec: {predictor: {"
	const container = "containers: [{name: c, command: [vllm, serve, m]}]"
	const pod = "kind: Pod\nspec: {containers: [{name: c, command: "
	for _, test := range []struct{ text, settings, note string }{
		{predictor + "minReplicas: 3, " + container + "}}", "replicas=3", ""},
		{predictor + "minReplicas: 3, maxReplicas: 3, " + container + "}}", "replicas=3", ""},
		{predictor + "minReplicas: 0, maxReplicas: 4, " + container + "}}", "replicas=4",
			"all 4 replicas run always"},
		{predictor + "model: {args: [-tp=2]}}}\n---\nkind: Pod\nspec: {" + container + "}",
			"model=m", "the fields of the InferenceService"},
		{pod + "[vllm, serve, m, -tp, 2]}]}", "parallelism.tensor=2", ""},
		{pod + "[sh, -c, 'if vllm']}, {command: [vllm, serve, m]}]}", "model=m",
			"the script of the container c cannot be read: 1:1"},
		{"kind: List\nitems:\n- kind: ConfigMap\n  metadata: {name: n}\n  data: {f: 'kv_cache_" +
			"config: {dtype: fp8}'}\n- kind: Pod\n  volumes: [{configMap: {name: n}}]\n" +
			"  command: [trtllm-serve, m, --config, /f]\n", "engine.kv-cache=fp8", ""},
		{pod + "[sh, -c, \"cat >/f <<E\\nkv_cache_config: {dtype: fp8}\\nE\\n" +
			"trtllm-serve m --config /f\"]}]}", "engine.kv-cache=fp8", ""},
		{"cat >f <<E\ntensor_parallel_size: 8\nmax_num_tokens: 512\nE\n" +
			"trtllm-serve m --tp_size 2 --max_num_tokens 1024 --config f",
			"batching.token-budget=512\nengine.preset=trtllm\nmemory.policy=prefix-cache\n" +
				"model=m\nparallelism.tensor=8", ""},
		{"kind: StatefulSet\nspec: {replicas: 6, containers: [{command: [sglang, serve, " +
			"--model, m, --nnodes, 2, --node-rank, $(R)]}]}", "replicas=3", ""},
		{"kind: StatefulSet\nspec: {replicas: 6, containers: [{command: [vllm, serve, m]}]}",
			"replicas=6", ""},
		{"kind: Deployment\nspec: {replicas: 0, containers: [{command: [vllm, serve, m]}]}",
			"model=m", "replicas: 0 is read as one replica"},
		{"kind: DynamoGraphDeployment\nspec: {components: [{containers: [{env: [{name: " +
			"DYN_ROUTER_MODE, value: kv}]}]}, {containers: [{command: [python3, -m, " +
			"dynamo.vllm, --model, m]}]}]}", "routing=prefix-aware", ""},
		{"for i in 1 2; do vllm serve m --port $((800+i)) & done", "model=m", "stands in a loop"},
		{"for i in 1 2; do sleep 1; done; vllm serve m", "model=m", ""},
	} {
		r, err := Read(test.text)
		if err != nil {
			t.Errorf("%s: %v", test.text, err)
			continue
		}
		settings, notes := strings.Join(r.Settings, "\n"), strings.Join(r.Notes, "\n")
		if !strings.Contains(settings, test.settings) {
			t.Errorf("%s: settings %s, want %s", test.text, settings, test.settings)
		}
		if !strings.Contains(notes, test.note) || test.note == "" && notes != "" {
			t.Errorf("%s: notes %q, want %q", test.text, notes, test.note)
		}
	}
	for text, want := range map[string]string{
		"kind: LLMInferenceService\nmetadata: {name: q}": "fields of the LLMInferenceService q",
		pod + "[sh, -c, 'if vllm']}]}":                   "the script of the container c",
	} {
		if _, err := Read(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want one with %q", text, err, want)
		}
	}
}
