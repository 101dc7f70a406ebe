package training

import (
	"github.com/llmsim/llmsim/hardware"
	"github.com/llmsim/llmsim/models"
)

// ModelFLOPs returns the FLOP of a token that training needs: six for each weight of a product that
// the token passes (a multiplication and an addition, three times: forward, and the gradients of
// inputs and of weights), and three times those of attention. Causal counts only the pairs that a
// token attends to; tables of 2021 to 2023 count all of them.
func (j *Job) ModelFLOPs(causal bool) float64 {
	matrices, attention := j.forwardFLOPs(causal)
	return 3 * (matrices + attention)
}

// forwardFLOPs returns the FLOP of a token in the forward pass, of matrices and of attention.
func (j *Job) forwardFLOPs(causal bool) (matrices, attention float64) {
	for _, p := range j.Model.LinearLayers(1) {
		n := 2 * float64(p.Count) * float64(p.N) * float64(p.K)
		if p.Part == models.ExpertPart {
			n *= float64(p.Active)
		}
		matrices += n
	}
	for _, a := range j.Model.AttentionLayers(1, hardware.BF16) {
		flops := float64(a.Count) * a.Prefill(j.Seq, 0).FLOPs / float64(j.Seq)
		if !causal && a.Window == 0 {
			flops = float64(a.Count) * (a.PrefillFLOPs*float64(j.Seq) + a.TokenFLOPs)
		}
		attention += flops
	}
	return matrices, attention
}
