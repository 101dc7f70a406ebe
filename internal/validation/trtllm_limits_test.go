package validation

import (
	"testing"

	"github.com/llmsim/llmsim/internal/testkit"
)

// The limits are those of the file and of the rule that the reader cites: by length, by group, and
// for models that are not listed the engine's own, which a scenario has by itself.
func TestLimitsOfBenchmarks(t *testing.T) {
	c, err := loadCatalogs()
	testkit.OK(t, err)
	for _, test := range []struct {
		model, gpu, dtype, version string
		tensor, data, in, out      int
		sequences, tokens          int
	}{
		{"llama-3.1-70b", "h100-sxm", "fp16", "", 2, 0, 2048, 2048, 2048, 1024},
		{"llama-3.1-70b", "h100-sxm", "fp16", "", 2, 0, 128, 4096, 256, 1024},
		{"llama-3.1-70b", "a100-80gb-sxm", "fp16", "", 8, 0, 128, 128, 8192, 16384},
		{"mixtral-8x7b", "h100-sxm", "fp8", "", 4, 0, 128, 2048, 8192, 8192},
		{"qwen3-32b", "h100-sxm", "fp8", "", 1, 0, 128, 2048, 0, 0},
		// Some 430 requests of 163,840 bytes a token have room: 512 sequences, and 860 tokens,
		// which is less than the least.
		{"llama-3.3-70b", "b200-sxm", "fp4", "1.0", 1, 0, 1000, 1000, 512, 2048},
		// A step has room for a whole prompt beside the decoding sequences.
		{"llama-3.3-70b", "b200-sxm", "fp4", "1.0", 1, 0, 20000, 2000, 64, 20064},
		// Each of four ranks has the limits of all.
		{"qwen3-235b-a22b", "b200-sxm", "fp4", "1.2dev", 1, 4, 32768, 1024, 4 * 192, 4 * 32960},
	} {
		r := &row{table: &table{kind: &kind{}, columns: map[string]int{}}}
		o := &trial{deployment: c.deploy(r, test.model, test.gpu, test.dtype, test.tensor),
			prompt: test.in, output: test.out}
		if o.Parallelism.Data = test.data; r.err != nil {
			t.Fatal(r.err)
		}
		if o.options(r, test.version); r.err != nil {
			t.Fatal(r.err)
		}
		if o.maxSequences != test.sequences || o.tokenBudget != test.tokens {
			t.Errorf("%s on %d × %s, %d in, %d out: %d sequences, %d tokens; want %d, %d",
				test.model, test.tensor, test.gpu, test.in, test.out, o.maxSequences,
				o.tokenBudget, test.sequences, test.tokens)
		}
	}
}
