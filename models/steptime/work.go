package steptime

import (
	"github.com/llmsim/llmsim/models"
)

// Work is the work of a step on all accelerators of a replica together, as far as the model's
// arithmetic needs it. Work that is done twice because the model is spread counts once.
type Work struct {
	// FLOPs is the number of operations of matrix products and attention. Bytes is the size of
	// weights and cache, each read once.
	FLOPs, Bytes float64
}

// workForm is the closed form of Work.
type workForm struct {
	weightBytes                       float64 // read by every step
	headBytes                         float64 // read by steps that sample
	tokenFLOPs, rowFLOPs, expandFLOPs float64
	experts                           []models.Linear
	expertBytes                       []float64 // of one matrix in all layers
	attention                         []models.Attention
}

func newWorkForm(cfg *Config) workForm {
	w := workForm{attention: cfg.Model.AttentionLayers(1, cfg.KV)}
	for _, l := range cfg.Model.LinearLayers(1) {
		flops := 2 * float64(l.Count) * float64(l.N) * float64(l.K)
		bytes := float64(l.Count) * float64(l.MatrixBytes(cfg.Weights))
		switch l.Rows {
		case models.SampledRows:
			w.rowFLOPs += flops
			w.headBytes += bytes
			continue
		case models.RoutedRows:
			w.tokenFLOPs += float64(flops * float64(l.Active))
			w.experts, w.expertBytes = append(w.experts, l), append(w.expertBytes, bytes)
			continue
		case models.ExpandedRows:
			w.expandFLOPs += flops
		}
		w.tokenFLOPs += flops
		w.weightBytes += bytes
	}
	return w
}

func (w *Work) add(count, flops, bytes float64) {
	w.FLOPs += float64(count * flops)
	w.Bytes += float64(count * bytes)
}
