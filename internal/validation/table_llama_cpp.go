package validation

import (
	"context"
	"fmt"

	"github.com/llmsim/llmsim/hardware"
	"github.com/llmsim/llmsim/sim"
)

// One user of llama.cpp: tokens a second of decoding from an empty context, and of reading a
// prompt.
var llamaCppColumns = []string{"device", "count", "model", "quantisation", "phase", "tokens",
	"tokens_per_s"}

// A prompt is computed in batches of promptBatch tokens (-ub). Up to batchesAhead of them (-b 2048)
// follow each other through several devices, each of which has some of the layers.
const (
	promptBatch  = 512
	batchesAhead = 4
)

// oneUser is one sequence on devices that hold the layers one after another.
type oneUser struct {
	deployment
	place
	devices, tokens int
	prompt          bool
	measured        []measurement
}

func readLlamaCpp(c *catalogs, t *table) []experiment {
	var list []experiment
	t.each(func(r *row) {
		o := &oneUser{devices: r.batch("count"), tokens: r.optionalCount("tokens", 512)}
		o.deployment = c.deploy(r, r.required("model"), r.required("device"),
			r.required("quantisation"), 1)
		quantity := "decode rate"
		switch phase := r.required("phase"); phase {
		case "decode":
		case "prefill":
			o.prompt, quantity = true, "prefill rate"
		default:
			r.fail(fmt.Errorf("phase: found %q, want decode or prefill", phase))
		}
		if o.tokens > maxRequests {
			r.fail(fmt.Errorf("tokens: found %d, want at most %d", o.tokens, maxRequests))
		}
		o.measured = r.measured([]figure{{"tokens_per_s", quantity, "tokens/s", 1}})
		if r.err != nil {
			return
		}
		o.engine = "llama.cpp"
		if r.text("build") < "2024" && r.text("build") != "" {
			o.engine = "llama.cpp-2023"
		}
		o.place = place{Group: o.group(), file: t.file, line: r.line,
			name: fmt.Sprintf("%d × %s, %d tokens", o.devices, r.text("device"), o.tokens)}
		list = append(list, o)
	})
	return list
}

func (o *oneUser) at() place { return o.place }

// compare implements experiment. A token passes all devices in turn.
func (o *oneUser) compare(_ context.Context, p *Physics) ([]Comparison, error) {
	clock, err := o.clock(p)
	if err != nil {
		return nil, err
	}
	if !o.prompt {
		token := clock.Duration(decode(1, max(1, o.tokens/2))).Seconds()
		return o.place.compare(o.measured, map[string]float64{"decode rate": 1 / token}), nil
	}
	var all sim.Time
	for done := 0; done < o.tokens; done += promptBatch {
		all += clock.Duration(prefill(1, min(promptBatch, o.tokens-done), done))
	}
	return o.place.compare(o.measured,
		map[string]float64{"prefill rate": float64(o.tokens) * o.overlap() / all.Seconds()}), nil
}

// overlap returns how many devices compute a prompt at the same time, on average: as many of them
// wait as have no batch yet or no more. With 4-bit weights none do: two devices and four read
// prompts equally fast.
func (o *oneUser) overlap() float64 {
	if o.weights != hardware.FP16 {
		return 1
	}
	batches := min(batchesAhead, (o.tokens+promptBatch-1)/promptBatch)
	return float64(batches*o.devices) / float64(batches+o.devices-1)
}
