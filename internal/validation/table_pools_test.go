package validation

import (
	"testing"
	"testing/fstest"

	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/internal/validation/accuracy"
)

// Servers whose tokens wait as long as a prompt takes compute prompts themselves, whatever their
// layout is called: their tokens take longer than on decode servers, and their first token waits
// for no handover.
func TestStalledDecodesComputePrompts(t *testing.T) {
	predicted := func(longestGap string) map[string]float64 {
		table := "gpu,model,dtype,tp,layout,gpus,prompts,prompt_tokens_mean,output_tokens_mean," +
			"request_rate,ttft_mean_ms,tpot_mean_ms,itl_median_ms,itl_p99_ms\n" +
			"H100-80GB,Llama-3.1-8B,bf16,1,1p1d,2,40,7999,200,3.6,250,18,11," + longestGap + "\n"
		data, err := Read(fstest.MapFS{"pd_vs_replicas.csv": {Data: []byte(table)}})
		testkit.OK(t, err)
		report, err := data.Compare(t.Context(), accuracy.Physics{})
		testkit.OK(t, err)
		figures := map[string]float64{}
		for i := range report.Tables {
			for _, c := range report.Tables[i].Rows {
				figures[c.Quantity] = c.Predicted
			}
		}
		return figures
	}
	apart, stalled := predicted("14"), predicted("215")
	if stalled["TPOT mean"] < 1.2*apart["TPOT mean"] || stalled["TTFT mean"] > apart["TTFT mean"] {
		t.Errorf("apart %v, with prompts where they decode %v", apart, stalled)
	}
}
