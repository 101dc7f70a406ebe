package validation

import (
	"context"
	"fmt"
	"path"
	"strings"

	"github.com/llmsim/llmsim/sim"
)

// LMDeploy's generation benchmark: batch clients send a request of fixed lengths each at the same
// moment. The file's name states GPU and number format: static_batch_GPU_FORMAT.csv.
var staticBatchColumns = []string{"model", "batch", "tp", "isl", "osl", "out_tok_s", "ttft_avg_s",
	"p50_token_s"}

var staticBatchFigures = []figure{{"ttft_avg_s", "TTFT mean", "ms", 1000},
	{"p50_token_s", "token p50", "ms", 1000}, {"out_tok_s", "output rate", "tokens/s", 1}}

// emptyPromptFigures are those of rows with prompts of one token, whose first token says nothing
// about the computing of prompts.
var emptyPromptFigures = []figure{{"ttft_avg_s", "TTFT empty", "ms", 1000}, staticBatchFigures[1],
	staticBatchFigures[2]}

// batch is requests sent together.
type batch struct {
	deployment
	place
	requests, prompt, output int
	measured                 []measurement
}

func readStaticBatch(c *catalogs, t *table) []experiment {
	base := strings.TrimSuffix(path.Base(t.file), path.Ext(t.file))
	gpu, dtype := splitLast(strings.TrimPrefix(strings.ToLower(base), "static_batch_"), "_")
	var list []experiment
	t.each(func(r *row) {
		d := c.deploy(r, r.required("model"), orElse(r.text("gpu"), gpu),
			orElse(r.text("dtype"), dtype), r.count("tp"))
		b := &batch{deployment: d, requests: r.batch("batch"), prompt: r.count("isl"),
			output: r.count("osl")}
		b.measured = r.measured(staticBatchFigures)
		if b.prompt == 1 {
			b.measured = r.measured(emptyPromptFigures)
		}
		if r.err != nil {
			return
		}
		b.engine = "lmdeploy"
		b.setDefaults()
		b.place = place{Group: b.group(), file: t.file, line: r.line,
			name: fmt.Sprintf("batch %d, %d in, %d out", b.requests, b.prompt, b.output)}
		list = append(list, b)
	})
	return list
}

func (b *batch) at() place { return b.place }

// compare implements experiment.
func (b *batch) compare(ctx context.Context, p *Physics) ([]Comparison, error) {
	all, err := b.serve(ctx, p, atOnce(b.requests, b.prompt, b.output))
	if err != nil {
		return nil, err
	}
	predicted := all.figures()
	predicted["token p50"] = all.gaps.Quantile(0.5) / float64(sim.Millisecond)
	predicted["TTFT empty"] = predicted["TTFT mean"]
	predicted["output rate"] = all.outputRate()
	return b.place.compare(b.measured, predicted), nil
}

func orElse(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}

// splitLast cuts s at the last separator.
func splitLast(s, separator string) (before, after string) {
	i := strings.LastIndex(s, separator)
	if i < 0 {
		return s, ""
	}
	return s[:i], s[i+len(separator):]
}
