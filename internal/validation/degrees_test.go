package validation

import (
	"slices"
	"testing"
	"testing/fstest"

	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/internal/validation/accuracy"
)

// TestLayouts reads labels as names of files and tables have them.
func TestLayouts(t *testing.T) {
	for label, want := range map[string]degrees{
		"tp2": {2, 1, false}, "dp2ep": {1, 2, true}, "tp2dp4ep8": {2, 4, true},
		"tp4_dp1_ep4": {4, 1, true}, "tp2_dp1_ep1": {2, 1, false}, "dp8": {1, 8, false},
	} {
		if got, ok := parseDegrees(label); !ok || got != want {
			t.Errorf("%s: %+v, %v, want %+v", label, got, ok, want)
		}
	}
	for _, label := range []string{"", "fp8", "tp0", "dp2ep3", "tp", "tp99999999999999999999"} {
		if got, ok := parseDegrees(label); ok {
			t.Errorf("%q is read as %+v", label, got)
		}
	}
}

// TestRequestsOfRanks predicts a run whose file's name has ranks of attention and spread experts.
func TestRequestsOfRanks(t *testing.T) {
	rows := "arrival_s,prompt_tokens,output_tokens,first_token_s,last_token_s\n" +
		"0,500,40,0.1,0.6\n0.2,300,50,0.3,0.9\n"
	const file = "vllm_0.19_requests__rtx-pro-6000__qwen3-30b-a3b__dp2ep.csv"
	data, err := Read(fstest.MapFS{file: {Data: []byte(rows)}})
	testkit.OK(t, err)
	report, err := data.Compare(t.Context(), accuracy.Physics{})
	testkit.OK(t, err)
	if len(report.Tables) != 1 || len(report.Tables[0].Rows) == 0 {
		t.Fatalf("nothing is predicted: %+v", report)
	}
	i := slices.IndexFunc(data.tables, func(k readKind) bool { return k.name == "vllm_requests" })
	d := data.tables[i].experiments[0].deployment
	p := d.scenario().Parallelism
	if p.Tensor != 1 || p.Data != 2 || p.Expert != 0 {
		t.Errorf("the server is spread as %+v", p)
	}
	if d.maxSequences != 256 || d.tokenBudget != 4096 {
		t.Errorf("limits are %d sequences and %d tokens, want those of both ranks",
			d.maxSequences, d.tokenBudget)
	}
}
