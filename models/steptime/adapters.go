package steptime

import (
	"math"
	"strings"

	"github.com/llmsim/llmsim/models"
)

// Adapters describes low-rank adapters (LoRA; Hu et al., arXiv:2106.09685) beside the weights of a
// model. The zero value means no adapters.
type Adapters struct {
	// Count is the number of adapters, and Slots the number of adapters that are in the
	// accelerators' memory at once.
	Count, Slots int
	// Rank is the rank of the adapters, and Room that for which a slot has room.
	Rank, Room int
	// AttentionOnly leaves the matrices of the MLP without adapters. Routed experts, the router and
	// the output head never have one.
	AttentionOnly bool
	// Zipf is the exponent of their popularity: adapter number k is asked for in proportion to
	// k^−Zipf.
	Zipf float64
}

// products returns how many adapted matrices of the model a product computes at once: a fused one
// has an adapter for each of its parts.
func (a *Adapters) products(l *models.Linear) float64 {
	switch {
	case l.Rows != models.AllRows,
		l.Part != models.AttentionPart && (a.AttentionOnly ||
			l.Part != models.MLPPart && l.Part != models.SharedPart):
		return 0
	case l.Name == "qkv":
		return 3
	case strings.HasSuffix(l.Name, "gate_up"):
		return 2
	}
	return 1
}

// weights returns the number of weights of an adapter of rank 1 in one layer that has l: a column
// of A for each part, and the rows of B.
func (a *Adapters) weights(l *models.Linear) float64 {
	n := a.products(l)
	if n == 0 {
		return 0
	}
	return n*float64(l.K) + float64(l.N)
}

// Bytes returns what an adapter of that rank takes on each of tp accelerators, over all layers, in
// 16 bits. Of column-parallel matrices A is on each accelerator and B is split, of row-parallel
// ones it is the other way round (vLLM's default, without fully sharded LoRAs).
func (a *Adapters) Bytes(model *models.Architecture, tp, rank int) float64 {
	const bytes = 2
	sum := 0.0
	for _, l := range model.LinearLayers(tp) {
		sum += float64(l.Count) * a.weights(&l)
	}
	return bytes * float64(rank) * sum
}

// distinct returns the expected number of different adapters that n sequences ask for, at most the
// number of slots: Σ 1 − (1−p)^n over adapters of popularity p. As for experts, the last bits, in
// which machines differ, are rounded off.
func (a *Adapters) distinct(n int) float64 {
	const grid = 1 << 20
	all, sum := 0.0, 0.0
	for k := range a.Count {
		all += math.Pow(float64(k+1), -a.Zipf)
	}
	for k := range a.Count {
		sum += 1 - math.Pow(1-math.Pow(float64(k+1), -a.Zipf)/all, float64(n))
	}
	return min(float64(a.Slots), math.Round(sum*grid)/grid)
}
