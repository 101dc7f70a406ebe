package formats_test

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"
	"pgregory.net/rapid"

	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/internal/twin/formats"
)

// ends are those of vLLM's buckets of lengths.
var ends = []float64{1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 20_000}

// histogram writes lengths as a page of metrics has them.
func histogram(name string, lengths []float64) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# TYPE vllm:%s histogram\n", name)
	sum := 0.0
	for _, n := range lengths {
		sum += n
	}
	for _, end := range append(ends, math.Inf(1)) {
		count := 0
		for _, n := range lengths {
			if n <= end {
				count++
			}
		}
		fmt.Fprintf(&b, "vllm:%s_bucket{le=%q} %d\n", name, fmt.Sprint(end), count)
	}
	fmt.Fprintf(&b, "vllm:%s_sum %g\nvllm:%s_count %d\n", name, sum, name, len(lengths))
	return b.String()
}

// TestSpreadFromBuckets recovers the spread of lengths from the buckets of two pages, and writes it
// into the workload together with what the cache had of prompts.
func TestSpreadFromBuckets(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		random := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		mean, cv := rapid.Float64Range(80, 4000).Draw(t, "mean"),
			rapid.Float64Range(0.4, 1.5).Draw(t, "cv")
		sigma := math.Sqrt(math.Log1p(cv * cv))
		d := distuv.LogNormal{Mu: math.Log(mean) - sigma*sigma/2, Sigma: sigma, Src: random}
		var all []float64
		for range 4000 {
			all = append(all, math.Ceil(d.Rand()))
		}
		at := func(seconds float64, n int) formats.Page {
			text := histogram("request_prompt_tokens", all[:n]) +
				histogram("request_generation_tokens", all[:n]) +
				fmt.Sprintf("# TYPE vllm:prefix_cache_hits_total counter\n"+
					"vllm:prefix_cache_hits_total %d\n", 10*n) +
				fmt.Sprintf("# TYPE vllm:time_to_first_token_seconds histogram\n"+
					"vllm:time_to_first_token_seconds_bucket{le=\"+Inf\"} %d\n"+
					"vllm:time_to_first_token_seconds_sum %d\n"+
					"vllm:time_to_first_token_seconds_count %d\n", n, n, n)
			return formats.Page{At: seconds, Text: []byte(text)}
		}
		o, err := formats.Join("pages", []formats.Page{at(0, 1000), at(60, 4000)})
		testkit.OK(t, err)
		l := o.Runs[0].Load
		for _, found := range []float64{l.PromptSpread, l.OutputSpread} {
			if math.Abs(found/cv-1) > 0.2 {
				t.Errorf("the spread is %g, want about %g", found, cv)
			}
		}
		var workload bytes.Buffer
		testkit.OK(t, o.WriteWorkload(&workload))
		want := fmt.Sprintf("  prefix: {groups: 1, tokens: 10}\n"+
			"  prompt: {distribution: lognormal, mean: %.4g, cv: %.3g}\n", l.Prompt-10,
			l.PromptSpread)
		if !strings.Contains(workload.String(), want) {
			t.Errorf("found %s, want %s in it", workload.String(), want)
		}
	})
}
