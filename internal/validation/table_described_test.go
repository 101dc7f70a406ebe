package validation

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/internal/validation/accuracy"
)

// described returns the predicted and the measured figures of a run on an A10G, whose server has
// flags and a load.
func described(t *testing.T, flags, load, sharing, rows string) (predicted,
	measured map[string]float64) {
	t.Helper()
	const file = "requests_vllm_0.19.0__a10g__qwen2-7b__run.csv"
	data, err := Read(fstest.MapFS{
		"servers.csv": {Data: []byte("file,engine_version,weights,flags,client,load," +
			"prefix_sharing,max_in_flight\n" + file + ",0.19.0,bf16," + flags + ",,\"" + load +
			"\"," + sharing + ",4\n")},
		file: {Data: []byte("tenant,arrival_s,sent_s,first_token_s,last_token_s," +
			"prompt_tokens,output_tokens,e2e_s\n" + rows)},
	})
	testkit.OK(t, err)
	report, err := data.Compare(context.Background(), accuracy.Physics{})
	testkit.OK(t, err)
	predicted, measured = map[string]float64{}, map[string]float64{}
	for i := range report.Tables {
		if table := &report.Tables[i]; table.Name == "requests" {
			if len(table.Problems)+len(table.Skipped) > 0 {
				t.Fatalf("left out: %q, %v", table.Problems, table.Skipped)
			}
			for _, c := range table.Rows {
				predicted[c.Quantity], measured[c.Quantity] = c.Predicted, c.Measured
			}
		}
	}
	return predicted, measured
}

// runOf returns requests with a prompt of some tokens each, which come in steps of time.
func runOf(n, prompt int) string {
	var b strings.Builder
	for i := range n {
		at := 0.3 * float64(i)
		fmt.Fprintf(&b, ",%g,%g,%g,%g,%d,16,\n", at, at, at+0.1, at+0.4, prompt)
	}
	return b.String()
}

// A prompt whose text the cache has is answered at once, however long it is; without sharing, the
// first token of eight times the prompt takes longer by the time of what is computed more.
func TestSharedPromptsAreNotComputedAgain(t *testing.T) {
	for _, load := range []string{"closed loop, 60 s", "open loop"} {
		times := map[string]float64{}
		for _, sharing := range []string{"none", "total"} {
			for _, prompt := range []int{512, 4096} {
				got, _ := described(t, "--enforce-eager", load, sharing, runOf(12, prompt))
				times[fmt.Sprint(sharing, prompt)] = got["TTFT p50"]
			}
		}
		if times["total4096"] > 2*times["total512"] || times["none4096"] < 4*times["none512"] ||
			times["total512"] > times["none512"] {
			t.Errorf("%s: %v", load, times)
		}
	}
}

// What a command line says holds: one request at a time answers no request earlier than several.
func TestFlagsOfServersHold(t *testing.T) {
	run := runOf(8, 64)
	plain, _ := described(t, "--max-model-len 9000", "open loop", "none", run)
	alone, _ := described(t, "--max-model-len 9000 --max-num-seqs 1", "open loop", "none", run)
	if !(alone["E2E mean"] > plain["E2E mean"] && plain["E2E mean"] > 0) {
		t.Errorf("answers take %g ms, and %g ms one at a time", plain["E2E mean"],
			alone["E2E mean"])
	}
}

// Requests without times are a load for the others and are not compared, and what was not streamed
// has a time for the whole answer alone.
func TestSilentRequestsAreALoad(t *testing.T) {
	run := runOf(8, 512)
	alone, was := described(t, "--enforce-eager", "open loop", "none", run)
	silent := strings.Repeat(",0.31,0.31,,,4096,1,\n", 4)
	beside, is := described(t, "--enforce-eager", "open loop", "none", run+silent)
	if beside["E2E mean"] <= alone["E2E mean"] {
		t.Errorf("answers take %g ms, and %g beside four long prompts", alone["E2E mean"],
			beside["E2E mean"])
	}
	for quantity, value := range was {
		if is[quantity] != value {
			t.Errorf("%s: measured %g, and %g beside silent requests", quantity, value,
				is[quantity])
		}
	}
	whole, _ := described(t, "", "open loop", "none", ",0,0,,,64,16,0.5\n,1,1,,,64,16,0.5\n")
	if len(whole) != 3 || whole["E2E mean"] <= 0 {
		t.Errorf("answers that were not streamed have %v, want E2E alone", whole)
	}
}
