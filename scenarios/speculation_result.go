package scenarios

import (
	"slices"

	"github.com/llmsim/llmsim/policies/speculation"
	"github.com/llmsim/llmsim/sim"
)

// SpeculationResult holds the figures of drafts. The keys that begin with spec_decode have the
// names of vLLM's serving benchmark.
type SpeculationResult struct {
	// Drafts is the number of drafts, DraftTokens the number of their tokens, and AcceptedTokens
	// the number of accepted tokens. AcceptanceRate is the share of accepted tokens in percent.
	Drafts         int64   `json:"spec_decode_num_drafts"`
	DraftTokens    int64   `json:"spec_decode_draft_tokens"`
	AcceptedTokens int64   `json:"spec_decode_accepted_tokens"`
	AcceptanceRate float64 `json:"spec_decode_acceptance_rate"`
	// AcceptanceLength is the mean number of tokens that a step with a draft gives, including the
	// model's own token.
	AcceptanceLength float64 `json:"spec_decode_acceptance_length"`
	// PerPosition is, for each place in a row of drafted tokens, the share of drafts that were
	// accepted that far.
	PerPosition []float64 `json:"spec_decode_per_position_acceptance_rates" jsonschema:"shares of drafts that were accepted that far; of admitted requests"`
	// TokensPerStep is the mean number of tokens that a step gives to a sequence that decodes, with
	// a draft or without.
	TokensPerStep float64 `json:"tokens_per_step"`
	// DraftTime is the share of the time of steps that drafting adds, including the host's
	// overhead.
	DraftTime float64 `json:"draft_time_share"`
	// WastedFLOPs is the share of all arithmetic, including the drafter's, that decoding without
	// drafts would not have needed.
	WastedFLOPs float64 `json:"wasted_flops_share"`
	// Speedup is the comparison with the same scenario without speculative decoding; absent if that
	// did not run.
	Speedup *Speedup `json:"speculation_speedup,omitempty"`
}

// Speedup holds factors by which speculative decoding is faster.
type Speedup struct {
	// TPOT and E2EL compare mean latencies, and OutputThroughput compares tokens a second.
	TPOT             float64 `json:"tpot" jsonschema:"mean TPOT without drafts over that with them; of begun requests"`
	E2EL             float64 `json:"e2el" jsonschema:"mean time of a request without drafts over that with them; of completed requests"`
	OutputThroughput float64 `json:"output_throughput" jsonschema:"output tokens a second with drafts over those without; of completed requests"`
}

// speculationResult returns the figures of drafts, or nil if no pool drafts.
func (f *finished) speculationResult() *SpeculationResult {
	if !slices.ContainsFunc(f.speculators, func(p *speculation.Speculator) bool {
		return p != nil
	}) {
		return nil
	}
	var total sim.ReplicaResult
	var accepted []int64
	draftFLOPs := 0.0
	for i, p := range f.speculators {
		if p == nil {
			continue
		}
		w := &f.outcome.Replicas[i]
		total.Busy += w.Busy
		total.Drafting += w.Drafting
		total.Drafted += w.Drafted
		total.Accepted += w.Accepted
		total.DecodeTokens += w.DecodeTokens
		draftFLOPs += p.FLOPs()
		for n, drafts := range p.Accepted() {
			if n == len(accepted) {
				accepted = append(accepted, 0)
			}
			accepted[n] += drafts
		}
	}
	d := &SpeculationResult{DraftTokens: total.Drafted, AcceptedTokens: total.Accepted,
		PerPosition: perPosition(accepted)}
	for _, drafts := range accepted {
		d.Drafts += drafts
	}
	if d.Drafts > 0 {
		d.AcceptanceRate = 100 * float64(d.AcceptedTokens) / float64(d.DraftTokens)
		d.AcceptanceLength = 1 + float64(d.AcceptedTokens)/float64(d.Drafts)
	}
	if steps := total.DecodeTokens - total.Drafted; steps > 0 {
		d.TokensPerStep = float64(steps+d.AcceptedTokens) / float64(steps)
		all, verifying, tokens := f.work.total()
		rejected := times(float64(d.DraftTokens-d.AcceptedTokens), float64(tokens))
		d.WastedFLOPs = (float64(verifying*rejected) + draftFLOPs) / (all + draftFLOPs)
	}
	if total.Busy > 0 {
		d.DraftTime = total.Drafting.Seconds() / total.Busy.Seconds()
	}
	d.Speedup = f.speedup()
	return d
}

// perPosition returns the shares of drafts with at least 1, 2, … accepted tokens.
func perPosition(accepted []int64) []float64 {
	shares := make([]float64, len(accepted)-1)
	var reached int64
	for n := len(accepted) - 1; n > 0; n-- {
		reached += accepted[n]
		shares[n-1] = float64(reached)
	}
	if all := float64(reached + accepted[0]); all > 0 {
		for i := range shares {
			shares[i] /= all
		}
	}
	return shares
}

// speedup compares with the baseline; nil without one.
func (f *finished) speedup() *Speedup {
	base, with := f.baseline, &f.summary
	if base == nil {
		return nil
	}
	return &Speedup{
		TPOT:             times(base.MeanTPOT, with.MeanTPOT),
		E2EL:             times(base.MeanE2EL, with.MeanE2EL),
		OutputThroughput: times(with.OutputThroughput, base.OutputThroughput),
	}
}
