package validation

// AMD's page of vLLM: throughput with as many requests as may run, and the latency of batches of
// equal requests.
var vllmOfflineColumns = []string{"model", "gpu", "tp", "dtype", "isl", "osl",
	"max_num_seqs_or_batch"}

var vllmOfflineFigures = []figure{{"output_tok_s", "output rate", "tokens/s", 1},
	{"batch_latency_s", "batch latency", "s", 1}}

var vllmOfflineRows = rowSpec{
	model: "model", gpu: "gpu", dtype: "dtype", tensor: "tp", figures: vllmOfflineFigures,
	describe: func(_ *catalogs, r *row, t *trial) string {
		t.count, t.prompt, t.output = r.batch("max_num_seqs_or_batch"), r.count("isl"),
			r.count("osl")
		if r.err != nil {
			return ""
		}
		t.engine = "vllm-v1"
		t.setDefaults()
		t.narrowCache()
		// The page's script: --max-num-batched-tokens 131072, --num-prompts and --max-num-seqs as
		// in the table.
		t.maxSequences, t.tokenBudget, t.largestStep = t.count, 131072, 8192
		t.atOnce()
		t.rehearsable = false
		t.figures = func(o *outcome) map[string]float64 {
			return map[string]float64{"output rate": o.outputRate(),
				"batch latency": o.last.Seconds()}
		}
		return ""
	},
}
