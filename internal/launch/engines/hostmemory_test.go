package engines_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/llmsim/llmsim/internal/launch"
	"github.com/llmsim/llmsim/internal/testkit"
)

// Commands that keep KV caches in host memory are read with its size for a replica, whatever part
// of a replica the engine's flag counts.
func TestHostMemoryIsRead(t *testing.T) {
	const sglang = "python3 -m sglang.launch_server --model-path m "
	lmcache := func(env, flags string) string {
		return env + ` vllm serve m --kv-transfer-config '{"kv_connector":"LMCacheConnectorV1",` +
			`"kv_role":"kv_both"}' ` + flags
	}
	for _, c := range []struct{ text, settings, note string }{
		{"vllm serve m -tp 2 --kv_offloading_backend native --kv_offloading_size 64",
			"memory.cpu=64GiB memory.policy=vllm-offload model=m parallelism.tensor=2", ""},
		{"vllm serve m -tp 2 -dp 4 -ep --kv-offloading-size 1.5",
			"memory.cpu=6GiB memory.policy=vllm-offload model=m parallelism.data=4 " +
				"parallelism.tensor=2", ""},
		{"vllm serve m -dp 4 --kv-offloading-size 64 --kv-offloading-backend lmcache",
			"memory.cpu=64GiB memory.policy=lmcache model=m replicas=4", "4 replicas"},
		{`vllm serve m --kv-transfer-config '{"kv_connector":"OffloadingConnector",` +
			`"kv_role":"kv_both","kv_connector_extra_config":{"cpu_bytes_to_use":5000000000}}'`,
			"memory.cpu=5GB memory.policy=vllm-offload model=m", ""},
		{`vllm serve m --kv-transfer-config '{"kv_connector":"OffloadingConnector",` +
			`"kv_role":"kv_both","kv_connector_extra_config":{"num_cpu_blocks":1000}}'`,
			"", "its cpu_bytes_to_use is memory.cpu"},
		{`vllm serve m --kv-transfer-config '{"kv_connector":"LMCacheConnectorV1",` +
			`"kv_role":"kv_both"}'`, "memory.policy=lmcache model=m", ""},
		{lmcache("LMCACHE_LOCAL_CPU=True LMCACHE_MAX_LOCAL_CPU_SIZE=200", ""),
			"memory.cpu=200GiB memory.policy=lmcache model=m", ""},
		{lmcache("LMCACHE_MAX_LOCAL_CPU_SIZE=2.5", "-tp 2 -pp 2"), "memory.cpu=10GiB " +
			"memory.policy=lmcache model=m parallelism.pipeline=2 parallelism.tensor=2", ""},
		{lmcache("LMCACHE_MAX_LOCAL_CPU_SIZE=4 LMCACHE_LOCAL_DISK=file:///d/ "+
			"LMCACHE_MAX_LOCAL_DISK_SIZE=50", "-tp 2 -dp 3 -ep"),
			"memory.cpu=24GiB memory.disk=300GiB memory.policy=lmcache model=m " +
				"parallelism.data=3 parallelism.tensor=2", ""},
		{lmcache("LMCACHE_LOCAL_CPU=False LMCACHE_MAX_LOCAL_CPU_SIZE=200", ""), "model=m",
			"LMCACHE_LOCAL_CPU: LMCache is left out"},
		{lmcache("LMCACHE_REMOTE_URL=lm://host:1", ""), "memory.policy=lmcache model=m",
			"is memory.pool"},
		{"LMCACHE_MAX_LOCAL_CPU_SIZE=200 vllm serve m --kv-offloading-size 64 " +
			"--kv-offloading-backend lmcache",
			"memory.cpu=64GiB memory.policy=lmcache model=m", ""},
		{"LMCACHE_LOCAL_CPU=False LMCACHE_MAX_LOCAL_CPU_SIZE=200 vllm serve m", "model=m", ""},
		{"docker run -e LMCACHE_MAX_LOCAL_CPU_SIZE=20 lmcache/vllm-openai:v1 --model m " +
			`--kv-transfer-config '{"kv_connector":"LMCacheConnectorV1","kv_role":"kv_both"}'`,
			"memory.cpu=20GiB memory.policy=lmcache model=m", "does not say which release"},
		{"servingEngineSpec: {modelSpec: [{modelURL: m, vllmConfig: {tensorParallelSize: 2}, " +
			"lmcacheConfig: {enabled: true, cpuOffloadingBufferSize: '60', " +
			"diskOffloadingBufferSize: 9}}]}\n", "memory.cpu=120GiB memory.disk=18GiB " +
			"memory.policy=lmcache model=m parallelism.tensor=2", ""},
		{"servingEngineSpec: {modelSpec: [{modelURL: m, lmcacheConfig: {enabled: true}, env: " +
			"[{name: LMCACHE_MAX_LOCAL_CPU_SIZE, value: 60}]}]}\n", "memory.cpu=60GiB " +
			"memory.policy=lmcache model=m", ""},
		{sglang + "--tp 8 --enable-hierarchical-cache --hicache-size 30 --page-size 64 " +
			"--hicache-write-policy write_back",
			"batching.policy=sglang engine.preset=sglang memory.block-size=64 memory.cpu=240GB " +
				"memory.policy=hicache memory.write=back model=m parallelism.tensor=8", ""},
		{sglang + "--enable-hierarchical-cache", "batching.policy=sglang " +
			"engine.preset=sglang memory.policy=hicache model=m", "the default of memory.cpu"},
		{sglang + "--enable-hierarchical-cache --hicache-ratio 3", "", "set memory.cpu to"},
		{sglang + "--hicache-size 30", "batching.policy=sglang engine.preset=sglang model=m", ""},
		{"cat <<EOF > x.yml\nkv_cache_config:\n  host_cache_size: 1073741824\nEOF\n" +
			"trtllm-serve m --tp_size 4 --extra_llm_api_options x.yml",
			"batching.policy=trtllm engine.preset=trtllm memory.cpu=4GiB memory.policy=offload " +
				"model=m parallelism.tensor=4", ""},
	} {
		r, err := launch.Read(c.text)
		if c.settings == "" && err != nil && strings.Contains(err.Error(), c.note) {
			continue // it is asked for
		}
		if err != nil {
			t.Errorf("%s: %v", c.text, err)
			continue
		}
		if got := strings.Join(r.Settings, " "); got != c.settings {
			t.Errorf("%s\nread as %s\nwant    %s", c.text, got, c.settings)
		}
		if notes := strings.Join(r.Notes, "\n"); !strings.Contains(notes, c.note) ||
			c.note == "" && notes != "" {
			t.Errorf("%s: notes %q, want %q", c.text, notes, c.note)
		}
	}
}

// What an engine's flags cannot say of host memory is a note.
func TestHostMemoryIsWritten(t *testing.T) {
	const pools = "fleet.pools=[{role: prefill, replicas: 1}, {role: decode, replicas: 1}]"
	for _, c := range []struct{ engine, memory, more, flag, note string }{
		{"vllm", "vllm-offload, cpu: 96GiB", "", "--kv-offloading-size 96", ""},
		{"vllm", "lmcache, cpu: 1GiB", "", "--kv-offloading-backend lmcache", ""},
		{"vllm", "offload, disk: 1TB", "", "--kv-offloading-size 64", "memory.disk"},
		{"vllm", "vllm-offload", pools, "NixlConnector", "take the place of the connector"},
		{"sglang", "hicache, cpu: 400GB", "", "--hicache-size 400", ""},
		{"sglang", "hicache, cpu: 400GB, write: back", "", "--hicache-write-policy write_back", ""},
		{"sglang", "hicache, cpu: 400GB", "", "--enable-hierarchical-cache", ""},
		{"sglang", "hicache, cpu: 400.5GB", "", "--hicache-size 400", "takes whole GB"},
		{"sglang", "hicache, cpu: 8GB", "", "--hicache-size 8", "asks for more on each"},
		{"sglang", "mooncake, cpu: 400GB", "", "--hicache-size 400", "as hicache does"},
		{"trtllm", "offload, cpu: 1GiB", "", "", ""},
	} {
		settings := []string{"model=llama-3.1-8b", "hardware=h200-sxm", "engine=" + c.engine,
			"memory={policy: " + c.memory + "}"}
		if c.more != "" {
			settings = append(settings, c.more)
		}
		b, err := launch.NewBundle(built(t, settings), c.engine)
		testkit.OK(t, err)
		line, err := b.Servers[0].Line()
		if err != nil || !strings.Contains(line, c.flag) {
			t.Errorf("%s: %s lacks %s: %v", c.memory, line, c.flag, err)
		}
		if said := slices.ContainsFunc(b.Notes, func(note string) bool {
			return strings.HasPrefix(note, "memory") && strings.Contains(note, c.note)
		}); said != (c.note != "") {
			t.Errorf("%s: notes %q, want %q", c.memory, b.Notes, c.note)
		}
		if c.engine == "trtllm" && !strings.Contains(b.Servers[0].Config,
			"host_cache_size: 1073741824") {
			t.Errorf("%s", b.Servers[0].Config)
		}
	}
}
