package validation

import (
	"fmt"

	"github.com/llmsim/llmsim/hardware"
	"github.com/llmsim/llmsim/models/steptime"
	"github.com/llmsim/llmsim/sim"
)

// One user of llama.cpp: tokens a second of decoding from an empty context, and of reading a
// prompt.
// A prompt is computed in batches of promptBatch tokens (-ub). Up to batchesAhead of them (-b 2048)
// follow each other through several devices, which each have some of the layers.
const (
	promptBatch  = 512
	batchesAhead = 4
)

func llamaCppRow(_ *catalogs, r *row, t *trial) string {
	devices, quantity := r.batch("count"), "decode rate"
	t.count, t.prompt = 1, r.count("tokens|=512")
	switch phase := r.required("phase"); phase {
	case "decode":
	case "prefill":
		quantity = "prefill rate"
	default:
		r.fail(fmt.Errorf("phase: found %q, want decode or prefill", phase))
	}
	r.atMost("tokens", t.prompt, maxRequests)
	t.measured = r.measured([]figure{{Column: "tokens_per_s", Quantity: quantity,
		Unit: "tokens/s", Scale: 1}})
	t.clocked(func(clock *steptime.Clock) map[string]float64 {
		if quantity == "decode rate" { // a token passes all devices in turn
			token := clock.Duration(decode(1, max(1, t.prompt/2))).Seconds()
			return map[string]float64{quantity: 1 / token}
		}
		var all sim.Time
		for done := 0; done < t.prompt; done += promptBatch {
			all += clock.Duration(prefill(1, min(promptBatch, t.prompt-done), done))
		}
		return map[string]float64{
			quantity: float64(t.prompt) * t.overlap(devices) / all.Seconds()}
	})
	t.Name = fmt.Sprintf("%d × %s, %d tokens", devices, r.text("device"), t.prompt)
	return ""
}

// overlap returns how many devices compute a prompt at the same time, on average: devices wait
// while they have no batch yet or no more. With 4-bit weights they do not: two devices and four
// read prompts equally fast.
func (t *trial) overlap(devices int) float64 {
	if t.weights != hardware.FP16 {
		return 1
	}
	batches := min(batchesAhead, (t.prompt+promptBatch-1)/promptBatch)
	return float64(batches*devices) / float64(batches+devices-1)
}
