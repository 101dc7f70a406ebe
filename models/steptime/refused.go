package steptime

import (
	"fmt"

	"github.com/llmsim/llmsim/hardware"
	"github.com/llmsim/llmsim/models"
)

// refuseShards returns an error where vLLM or SGLang refuses shards of a model's matrices in FP8
// with a scale for each block of 128×128: blocks must be whole in each shard
// (vllm/model_executor/layers/quantization/fp8.py, v0.15;
// sglang/srt/layers/quantization/fp8.py, v0.5.8).
func refuseShards(kernels string, a *models.Architecture, p Parallelism, d hardware.DType) error {
	if kernels != "vllm" && kernels != "sglang" || p.GPUs() == 1 {
		return nil
	}
	const block = 128
	ways := p.Tensor * p.Data / max(1, p.Expert)
	for _, s := range a.Shards(p.Tensor, ways, d) {
		if s.Format.DType != hardware.FP8Block || s.Size%block == 0 {
			continue
		}
		hint := "use less tensor parallelism"
		if e := a.Experts(); e != nil && s.Size*ways == e.Intermediate {
			hint = fmt.Sprintf("spread the experts (expert: %d) or %s", p.Tensor*p.Data, hint)
		}
		return fmt.Errorf("%s refuses shards of %d channels of %s in %s, which are no multiple of "+
			"%d; %s", kernels, s.Size, s.Name, s.Format.DType, block, hint)
	}
	return nil
}
