package accuracy

import (
	"math/rand/v2"
	"testing"

	servers "github.com/llmsim/llmsim/scenarios/deployment"
	"github.com/llmsim/llmsim/scenarios/evidence"
)

// Ranges around servers of two engines, one of which is predicted well and one badly, hold four in
// five of further servers of each.
func TestRangesHoldWhatTheyHaveNotSeen(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	models := []string{"llama-2-7b", "llama-3.1-8b", "qwen3-8b", "mistral-7b-v0.3", "llama-2-13b",
		"qwen3-14b", "llama-3.1-70b", "qwen3-32b"}
	draw := func(i int) evidence.Error {
		scale := []float64{0.05, 0.25}[i%2]
		return evidence.Error{Key: servers.Key{Engine: []string{"careful", "rough"}[i%2],
			Accelerator: "h100-sxm", Model: models[i/2%len(models)], Weights: "bf16",
			Tensor: 1 + i/2/len(models)}, Quantity: "TPOT",
			Range: evidence.ErrorRange{Bias: scale * random.NormFloat64(), Within: scale}}
	}
	var list []evidence.Error
	for i := range 160 {
		list = append(list, draw(i))
	}
	factor, _ := Factor(list, "TPOT")
	near := evidence.NeighboursOf(list)["TPOT"]
	inside, all := map[string]float64{}, map[string]float64{}
	for i := range 2000 {
		fresh := draw(i)
		around := evidence.FromNeighbours(fresh.Key, near)
		around.Within *= factor
		for _, x := range fresh.Range.Points() {
			all[fresh.Engine]++
			if around.Holds(x, evidence.Width80) {
				inside[fresh.Engine]++
			}
		}
	}
	for engine, n := range all {
		if share := inside[engine] / n; share < 0.7 || share > 0.9 {
			t.Errorf("ranges of %s engines hold %.1f %% of other servers' rows, want 70 to 90",
				engine, 100*share)
		}
	}
}
