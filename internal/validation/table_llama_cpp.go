package validation

import (
	"context"
	"fmt"

	"github.com/llmsim/llmsim/sim"
)

// One user of llama.cpp: tokens a second of decoding from an empty context, and of reading a prompt.
var llamaCppColumns = []string{"device", "count", "model", "quantisation", "phase", "tokens", "tokens_per_s"}

// promptBatch is the number of tokens of a prompt that llama.cpp computes at once (-b, by default 2048 and -ub 512).
const promptBatch = 512

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
		o.deployment = c.deploy(r, r.required("model"), r.required("device"), r.required("quantisation"), 1)
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
		o.place = place{Group: o.group(), file: t.file, line: r.line, name: fmt.Sprintf("%d × %s, %d tokens", o.devices, r.text("device"), o.tokens)}
		list = append(list, o)
	})
	return list
}

func (o *oneUser) at() place { return o.place }

// compare implements experiment. A token passes all devices in turn; batches of a prompt follow each other through them.
func (o *oneUser) compare(_ context.Context, p *Physics) ([]Comparison, error) {
	clock, err := o.clock(p)
	if err != nil {
		return nil, err
	}
	if !o.prompt {
		token := clock.Duration(decode(1, max(1, o.tokens/2))).Seconds()
		return o.place.compare(o.measured, map[string]float64{"decode rate": 1 / token}), nil
	}
	var all, last sim.Time
	for done := 0; done < o.tokens; done += promptBatch {
		last = clock.Duration(prefill(1, min(promptBatch, o.tokens-done), done))
		all += last
	}
	// While one device computes a batch, the one before computes the next.
	seconds := (all + last*sim.Time(o.devices-1)).Seconds() / float64(o.devices)
	return o.place.compare(o.measured, map[string]float64{"prefill rate": float64(o.tokens) / seconds}), nil
}
