package scenarios

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/llmsim/llmsim/internal/units"
	"github.com/llmsim/llmsim/models/steptime"
	"github.com/llmsim/llmsim/scenarios/evidence"
	"github.com/llmsim/llmsim/sim"
)

// Phenomenon is what a typical step of a phase is like.
type Phenomenon struct {
	// Batch is the number of sequences, Tokens that of the tokens computed, Context the sum of the contexts they attend to.
	Batch   int   `json:"batch"`
	Tokens  int   `json:"tokens"`
	Context int64 `json:"context"`
	// Step is the time of the step in milliseconds.
	Step float64 `json:"step_ms"`
	// Bound is what takes the largest part of that time ("compute", "memory", "latency", "network" or "host"), Share its part.
	Bound steptime.Bound `json:"bound"`
	Share float64        `json:"share"`
}

// explainTime says in sentences where the time goes.
func (s *Simulation) explainTime(r *Result, pools []PoolResult, work *fleetWork) {
	r.Insights = []string{}
	if r.Completed == 0 {
		return
	}
	s.explainSteps(r, pools, work)
	if total := r.MeanQueue + r.MeanPrefill + r.MeanDecode; total > 0 {
		r.Insights = append(r.Insights, fmt.Sprintf("Of its time on the server, a request spends %.0f%% waiting, %.0f%% in prefill and %.0f%% decoding.",
			100*r.MeanQueue/total, 100*r.MeanPrefill/total, 100*r.MeanDecode/total))
	}
}

// explainSteps adds what bounds a typical step of each phase, and says it: once where all pools are alike.
func (s *Simulation) explainSteps(r *Result, pools []PoolResult, work *fleetWork) {
	for i := range s.pools {
		sum, server := &pools[i], s.pools[i].server
		if server.s.Steps != nil {
			continue // what bounds steps that are given is not known
		}
		sum.explain(server, s.meanPrompt(r, pools, s.pools[i].serves), &work.meters[i])
		r.Prefill, r.Decode = orDefault(r.Prefill, sum.Prefill), orDefault(r.Decode, sum.Decode)
	}
	if len(s.kinds()) == 1 {
		r.Insights = append(r.Insights, sentences(r.Prefill, r.Decode)...)
	} else {
		for i := range pools {
			for _, words := range sentences(pools[i].Prefill, pools[i].Decode) {
				r.Insights = append(r.Insights, "Pool "+pools[i].Name+": "+strings.ToLower(words[:1])+words[1:])
			}
		}
	}
}

// meanPrompt returns the mean length of prompts for a model.
func (s *Simulation) meanPrompt(r *Result, pools []PoolResult, model int) int {
	tokens, prompts := r.TotalInputTokens, r.Completed
	if slices.ContainsFunc(s.pools, func(p pool) bool { return p.serves != model }) {
		tokens, prompts = 0, 0
		for i := range s.pools {
			if p := &pools[i]; s.pools[i].serves == model && p.Role != "decode" {
				tokens += p.PrefillTokens + p.CachedTokens
				prompts += p.Completed + p.HandedOver
			}
		}
	}
	return max(1, int(math.Round(times(float64(tokens), float64(prompts)))))
}

// explain adds what bounds the typical steps of a pool: for a prompt of a length, and for the sequences that decoded.
func (sum *PoolResult) explain(s *server, prompt int, meter *workMeter) {
	if sum.Role != "decode" {
		sum.Prefill = s.phenomenon(&sim.Step{Prefill: []sim.Chunk{{New: prompt, Last: true}}})
		sum.Prefill.Batch = 1
	}
	if meter.decodeSteps > 0 {
		batch := max(1, int(math.Round(float64(meter.decodes)/float64(meter.decodeSteps))))
		tokens := max(batch, int(math.Round(float64(meter.decodeTokens)/float64(meter.decodeSteps))))
		context := max(int64(batch), int64(math.Round(float64(meter.context)/float64(meter.decodes)*float64(batch))))
		sum.Decode = s.phenomenon(&sim.Step{Decodes: batch, DecodeTokens: tokens, Context: context})
		sum.Decode.Batch = batch
	}
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

// phenomenon describes a step by what takes most of its time.
func (s *server) phenomenon(step *sim.Step) *Phenomenon {
	times := map[steptime.Bound]sim.Time{}
	var total sim.Time
	for _, op := range s.Clock.Breakdown(step) {
		times[op.Bound] += op.Time
		total += op.Time
	}
	p := &Phenomenon{Tokens: step.Tokens(), Context: step.Context, Step: total.Milliseconds()}
	var most sim.Time
	for _, bound := range []steptime.Bound{steptime.Compute, steptime.Memory, steptime.Network, steptime.Latency, steptime.Host} {
		if times[bound] > most {
			most, p.Bound = times[bound], bound
		}
	}
	if total > 0 {
		p.Share = float64(most) / float64(total)
	}
	return p
}

// Evidence returns what the predictions rest on, for each kind of server.
func (s *Simulation) Evidence() []evidence.Evidence {
	var list []evidence.Evidence
	for _, k := range s.kinds() {
		key, own := k[0].Key()
		e := evidence.Of(key, own)
		if k[0].role != sim.Mixed {
			e = e.Apart()
		}
		list = append(list, e)
	}
	return list
}

// tellEvidence adds what the predictions rest on.
func (s *Simulation) tellEvidence(r *Result) {
	all := s.Evidence()
	r.Evidence = evidence.Weakest(all)
	for i := range all {
		if words := all[i].Sentence(); !slices.Contains(r.Insights, words) {
			r.Insights = append(r.Insights, words)
		}
	}
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

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
