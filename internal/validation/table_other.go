package validation

// Accelerators that are no GPU: Gaudi 3 and TPU v7 under vLLM, at a fixed number of clients
// (SemiAnalysisAI/InferenceX-app).
var otherColumns = []string{"hardware", "devices", "engine", "model", "precision", "tp", "dp",
	"isl", "osl", "concurrency", "ttft_median_ms", "tpot_mean_ms", "set"}

var otherFigures = []figure{{"ttft_median_ms", "TTFT p50", "ms", 1},
	{"tpot_mean_ms", "TPOT mean", "ms", 1}}

var otherRows = rowSpec{
	model: "model", gpu: "hardware", dtype: "precision", tensor: "tp", figures: otherFigures,
	refuses: func(r *row) string {
		if r.text("precision") == "" || r.text("engine") == "" {
			return "engine and number format are not known"
		}
		return ""
	},
	describe: func(_ *catalogs, r *row, t *trial) string {
		t.count, t.prompt, t.output = r.batch("concurrency"), r.count("isl"), r.count("osl")
		chips, devices := r.count("chips"), r.count("devices")
		data := r.optionalCount("dp", 1)
		if r.err != nil {
			return ""
		}
		// A TPU v7 is two devices to its software and one accelerator here.
		t.engine, t.tensor, t.least = "vllm-v1", max(1, t.tensor*chips/devices), drawnLength
		if data > 1 {
			t.data, t.tensor = max(1, data*chips/devices), 1
		}
		t.setDefaults()
		t.maxSequences = max(t.maxSequences, t.count)
		t.closed()
		return ""
	},
}
