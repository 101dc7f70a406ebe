package validation

// setDefaults sets the limits that engines have where nobody sets them.
func (d *deployment) setDefaults() {
	switch d.engine {
	case "vllm-v1":
		d.vllmServer()
	case "trtllm":
		d.maxSequences, d.tokenBudget, d.kvShare = 2048, 8192, 0.9
	case "lmdeploy":
		// All prompts that wait are computed before anybody decodes.
		d.maxSequences, d.tokenBudget, d.largestStep = 256, maxCount, 8192
	default:
		d.maxSequences, d.tokenBudget = 256, 8192
	}
}

// vllmServer sets the limits of `vllm serve`: larger ones on GPUs with at least 70 GiB, the A100 excepted
// (vllm/engine/arg_utils.py, v0.12).
func (d *deployment) vllmServer() {
	const large = 70 << 30
	d.maxSequences, d.tokenBudget = 256, 2048
	if d.accelerator.Memory >= large && d.accelerator.Generation != "ampere" {
		d.maxSequences, d.tokenBudget = 1024, 8192
	}
}

// embedded sets the limits of a vLLM engine within another program (vllm/config/scheduler.py, v0.12: DEFAULT_MAX_NUM_SEQS and
// DEFAULT_MAX_NUM_BATCHED_TOKENS).
func (d *deployment) embedded() { d.maxSequences, d.tokenBudget = 128, 2048 }
