package validation

import (
	"path"
	"strings"
)

// kind is a kind of table.
type kind struct {
	// name is what reports call it.
	name string
	// pattern is what the names of its files look like (path.Match), without folders and in lower
	// case; any of several.
	pattern string
	// columns must be there.
	columns []string
	// read makes experiments of the rows. What it cannot use it notes in the table.
	read func(c *catalogs, t *table) []experiment
}

// kinds lists the tables that are known.
func kinds() []kind {
	return []kind{
		{"vllm_runs", "vllm_*runs*.csv", vllmRunColumns, readVLLMRuns},
		{"kv_blocks", "kv_blocks*.csv", kvBlockColumns, trials(kvBlockRows)},
		{"closed_loop", "closed_loop*.csv", closedLoopColumns, trials(closedLoopRows)},
		{"vllm_requests", "vllm_*requests__*__*.csv requests_vllm_*__*__*.csv",
			requestColumns, readRequests},
		{"static_batch", "static_batch_*.csv", staticBatchColumns, readStaticBatch},
		{"offline_throughput", "offline_throughput.csv offline_throughput_trtllm_0*.csv",
			offlineColumns, trials(offlineRows)},
		{"offline_recent", "offline_throughput_trtllm_[1-9]*.csv", offlineColumns,
			trials(offlineRows)},
		{"silicon", "silicon*.csv", siliconColumns, readSilicon},
		{"silicon_app", "silicon*_app*.csv", appColumns, trials(appRows)},
		{"sglang_cookbook", "sglang_cookbook*.csv", cookbookColumns, trials(cookbookRows)},
		{"accelerators_other", "accelerators_other*.csv", otherColumns, trials(otherRows)},
		{"kv_reuse", "kv_reuse_runs*.csv", reuseColumns, trials(reuseRows)},
		{"llama_cpp_batched", "llama_cpp_batched*.csv", batchedColumns, trials(batchedRows)},
		{"vllm_unique", "vllm_*runs*.csv", uniqueColumns, trials(uniqueRows)},
		{"vllm_steps", "*__tp*_dp*_ep*.csv", stepColumns, readSteps},
		{"silicon_apart", "silicon*.csv", siliconApartColumns, readSiliconApart},
		{"pool_replicas", "pd_vs_replicas*.csv", poolColumns, trials(replicaRows)},
		{"pools", "pd_vs_replicas*.csv", poolColumns, trials(poolRows)},
		{"ml_energy", "ml_energy*.csv", mlEnergyColumns, trials(mlEnergyRows)},
		{"mlperf", "mlperf_inference*.csv", mlperfColumns, readMLPerf},
		{"vllm_offline", "*_vllm.csv", vllmOfflineColumns, trials(vllmOfflineRows)},
		{"whatif", "whatif_*.csv", whatifColumns, readWhatIf},
		{"llama_cpp", "llama_cpp_devices*.csv", llamaCppColumns, trials(llamaCppRows)},
		{"wide_ep", "wide_ep*.csv", wideEPColumns, trials(wideEPRows)},
		{"first_token_latency", "first_token_latency*.csv", firstTokenColumns,
			trials(firstTokenRows)},
		{"token_time", "token_time*.csv", tokenTimeColumns, trials(tokenTimeRows)},
		{"eager_engine", "eager_engine*.csv", eagerColumns, trials(eagerRows)},
		{"iteration", "iteration_*.csv", iterationColumns, readIterations},
		{"linear_layers", "linear_layers*.csv", linearLayerColumns, trials(linearLayerRows)},
		{"linear_and_allreduce", "linear_and_allreduce*.csv", linearAllReduceColumns,
			readLinearAllReduce},
		{"gemm", "*__gemm.csv", gemmColumns, readGEMM},
		{"context_attention", "*__context_attention.csv", attentionColumns, readContextAttention},
		{"generation_attention", "*__generation_attention.csv", attentionColumns,
			readGenerationAttention},
		{"context_mla", "*__context_mla.csv", mlaColumns, readContextMLA},
		{"generation_mla", "*__generation_mla.csv", mlaColumns, readGenerationMLA},
		{"moe", "*__moe.csv", moeColumns, readMoE},
		{"custom_allreduce", "*__custom_allreduce.csv", allReduceColumns, readCustomAllReduce},
		{"nccl", "*__nccl.csv", allReduceColumns, readNCCL},
	}
}

// kindsOf returns the kinds of table that a file name states: an empty list, or one, or the kinds
// of a file with measurements of several kinds.
func kindsOf(file string) []kind {
	base := strings.ToLower(path.Base(file))
	var list []kind
	for _, k := range kinds() {
		for _, pattern := range strings.Fields(k.pattern) {
			if ok, _ := path.Match(pattern, base); ok {
				list = append(list, k)
			}
		}
	}
	return list
}
