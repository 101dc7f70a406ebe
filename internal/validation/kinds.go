package validation

import (
	"context"
	"path"
	"strings"
)

// experiment is what was measured together and is simulated together: a row, or the rows of one run.
type experiment interface {
	compare(ctx context.Context, p *Physics) ([]Comparison, error)
	at() place
}

// kind is a kind of table.
type kind struct {
	// name is what reports call it.
	name string
	// pattern is what the names of its files look like (path.Match), without folders and in lower case.
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
		{"kv_blocks", "kv_blocks*.csv", kvBlockColumns, readKVBlocks},
		{"closed_loop", "closed_loop*.csv", closedLoopColumns, readClosedLoop},
		{"vllm_requests", "vllm_*requests__*__*.csv", requestColumns, readRequests},
		{"static_batch", "static_batch_*.csv", staticBatchColumns, readStaticBatch},
		{"offline_throughput", "offline_throughput*.csv", offlineColumns, readOffline},
		{"first_token_latency", "first_token_latency*.csv", firstTokenColumns, readFirstTokens},
		{"token_time", "token_time*.csv", tokenTimeColumns, readTokenTimes},
		{"eager_engine", "eager_engine*.csv", eagerColumns, readEager},
		{"iteration", "iteration_*.csv", iterationColumns, readIterations},
		{"linear_layers", "linear_layers*.csv", linearLayerColumns, readLinearLayers},
		{"linear_and_allreduce", "linear_and_allreduce*.csv", linearAllReduceColumns, readLinearAllReduce},
		{"gemm", "*__gemm.csv", gemmColumns, readGEMM},
		{"context_attention", "*__context_attention.csv", attentionColumns, readContextAttention},
		{"generation_attention", "*__generation_attention.csv", attentionColumns, readGenerationAttention},
		{"context_mla", "*__context_mla.csv", mlaColumns, readContextMLA},
		{"generation_mla", "*__generation_mla.csv", mlaColumns, readGenerationMLA},
		{"moe", "*__moe.csv", moeColumns, readMoE},
		{"custom_allreduce", "*__custom_allreduce.csv", allReduceColumns, readCustomAllReduce},
		{"nccl", "*__nccl.csv", allReduceColumns, readNCCL},
	}
}

// kindOf returns the kind of table that a file name tells, or nil.
func kindOf(file string) *kind {
	base := strings.ToLower(path.Base(file))
	for _, k := range kinds() {
		if ok, _ := path.Match(k.pattern, base); ok {
			return &k
		}
	}
	return nil
}

// nameParts returns the parts between double underscores of a file's name, without its extension.
func nameParts(file string) []string {
	base := path.Base(file)
	return strings.Split(strings.TrimSuffix(base, path.Ext(base)), "__")
}
