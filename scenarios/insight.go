package scenarios

import (
	"fmt"
	"strings"

	"github.com/llmsim/llmsim/internal/units"
	"github.com/llmsim/llmsim/metrics"
	"github.com/llmsim/llmsim/models/steptime"
)

// explainTime says in sentences where the time goes.
func explainTime(r *metrics.Summary, pools []PoolResult, prefill, decode *Phenomenon, alike bool) []string {
	list := []string{}
	if r.Completed == 0 {
		return list
	}
	if alike {
		list = append(list, sentences(prefill, decode)...)
	} else {
		for i := range pools {
			for _, words := range sentences(pools[i].Prefill, pools[i].Decode) {
				list = append(list, "Pool "+pools[i].Name+": "+strings.ToLower(words[:1])+words[1:])
			}
		}
	}
	if total := r.MeanQueue + r.MeanPrefill + r.MeanDecode; total > 0 {
		list = append(list, fmt.Sprintf("Of its time on the server, a request spends %.0f%% waiting, "+
			"%.0f%% in prefill and %.0f%% decoding.",
			100*r.MeanQueue/total, 100*r.MeanPrefill/total, 100*r.MeanDecode/total))
	}
	return list
}

// sentences says what bounds the phases.
func sentences(prefill, decode *Phenomenon) []string {
	var list []string
	if p := prefill; p != nil {
		list = append(list, fmt.Sprintf("Prefill is bound by %s: a prompt of %s alone takes %s, %.0f%% of it %s.",
			boundWords(p.Bound), plural(p.Tokens, "token"), units.FormatDuration(p.Step/1000), 100*p.Share, shareWords(p.Bound)))
	}
	if d := decode; d != nil {
		words := plural(d.Batch, "sequence")
		if d.Tokens > d.Batch {
			words += fmt.Sprintf(", drafts included %s,", plural(d.Tokens, "token"))
		}
		list = append(list, fmt.Sprintf("Decode is bound by %s: a step for %s takes %s, %.0f%% of it %s.",
			boundWords(d.Bound), words, units.FormatDuration(d.Step/1000), 100*d.Share, shareWords(d.Bound)))
	}
	return list
}

// boundWords names what bounds a step.
func boundWords(b steptime.Bound) string {
	switch b {
	case steptime.Compute:
		return "compute"
	case steptime.Memory:
		return "memory bandwidth"
	case steptime.Network:
		return "communication"
	case steptime.Latency:
		return "the fixed time of kernels"
	}
	return "the host"
}

// shareWords says what the bound part of a step is spent on.
func shareWords(b steptime.Bound) string {
	switch b {
	case steptime.Compute:
		return "in arithmetic"
	case steptime.Memory:
		return "reading weights and KV cache"
	case steptime.Network:
		return "between accelerators"
	case steptime.Latency:
		return "starting kernels"
	}
	return "waiting for the host"
}

// explainDrafts says in a sentence whether drafting paid; "" where nothing was drafted.
func explainDrafts(d *SpeculationResult) string {
	if d == nil || d.Drafts == 0 {
		return ""
	}
	text := fmt.Sprintf("A step gives a sequence %.2f tokens: %.0f%% of the drafted ones are accepted; "+
		"drafting takes %.0f%% of the time, and %.0f%% of the arithmetic is wasted.",
		d.TokensPerStep, d.AcceptanceRate, 100*d.DraftTime, 100*d.WastedFLOPs)
	if d.Speedup != nil {
		text += fmt.Sprintf(" Tokens reach a user %.2f times as fast as without drafts, "+
			"and output throughput is %.2f times as high.", d.Speedup.TPOT, d.Speedup.OutputThroughput)
	}
	return text
}
