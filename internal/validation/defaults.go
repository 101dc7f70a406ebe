package validation

// setDefaults sets the limits that engines have where nobody sets them.
func (d *deployment) setDefaults() {
	d.maxSequences, d.tokenBudget = 256, 8192
	switch d.engine {
	case "vllm-v1", "vllm-v1-sync", "vllm-v0":
		d.setVLLMDefaults()
	case "trtllm", "trtllm-tensorrt":
		d.maxSequences, d.kvShare = 2048, 0.9
	case "sglang":
		d.maxSequences = 2048
	case "lmdeploy":
		// All prompts that wait are computed before anybody decodes.
		d.tokenBudget, d.largestStep = maxCount, 8192
	}
}

// setVLLMDefaults sets the limits of `vllm serve`: larger ones on GPUs with at least 70 GiB, the
// A100 excepted (vllm/engine/arg_utils.py, v0.12).
func (d *deployment) setVLLMDefaults() {
	const large = 70 << 30
	if d.accelerator.Memory >= large && d.accelerator.Generation != "ampere" {
		d.maxSequences, d.tokenBudget = 1024, 8192
	} else {
		d.maxSequences, d.tokenBudget = 256, 2048
	}
}

// limitRanks makes the limits of an engine, which each data-parallel rank has, those of all.
func (d *deployment) limitRanks() {
	d.maxSequences *= max(1, d.data)
	d.tokenBudget *= max(1, d.data)
}
