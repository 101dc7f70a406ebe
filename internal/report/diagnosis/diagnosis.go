// Package diagnosis says in sentences what the figures of a run mean: what bounds its steps, where the
// time of requests goes, what the predictions rest on, and whether drafting paid.
package diagnosis

import (
	"fmt"
	"slices"
	"strings"

	"github.com/llmsim/llmsim/scenarios"
)

// Of returns the sentences on a result, the most important first.
func Of(r *scenarios.Result) []string {
	list := append(bounds(r), time(r)...)
	for i := range r.Kinds {
		if words := r.Kinds[i].Evidence.Sentence(); !slices.Contains(list, words) {
			list = append(list, words)
		}
	}
	return append(list, drafts(r.SpeculationResult)...)
}

// bounds says what bounds the steps: once where all pools have the same server.
func bounds(r *scenarios.Result) []string {
	list := []string{}
	if len(r.Kinds) == 1 {
		return append(list, phases(r.Prefill, r.Decode)...)
	}
	for i := range r.Pools {
		p := &r.Pools[i]
		for _, words := range phases(p.Prefill, p.Decode) {
			list = append(list, "Pool "+p.Name+": "+strings.ToLower(words[:1])+words[1:])
		}
	}
	return list
}

// time says where the time of requests goes.
func time(r *scenarios.Result) []string {
	total := r.MeanQueue + r.MeanPrefill + r.MeanDecode
	if total == 0 {
		return nil
	}
	return []string{fmt.Sprintf("Of its time on the server, a request spends %.0f%% waiting, "+
		"%.0f%% in prefill and %.0f%% decoding.",
		100*r.MeanQueue/total, 100*r.MeanPrefill/total, 100*r.MeanDecode/total)}
}

// drafts says whether drafting paid, where something was drafted.
func drafts(d *scenarios.SpeculationResult) []string {
	if d == nil || d.Drafts == 0 {
		return nil
	}
	text := fmt.Sprintf("A step gives a sequence %.2f tokens: %.0f%% of the drafted ones are accepted; "+
		"drafting takes %.0f%% of the time, and %.0f%% of the arithmetic is wasted.",
		d.TokensPerStep, d.AcceptanceRate, 100*d.DraftTime, 100*d.WastedFLOPs)
	if d.Speedup != nil {
		text += fmt.Sprintf(" Tokens reach a user %.2f times as fast as without drafts, "+
			"and output throughput is %.2f times as high.", d.Speedup.TPOT, d.Speedup.OutputThroughput)
	}
	return []string{text}
}
