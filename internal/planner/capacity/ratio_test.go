package capacity

import (
	"testing"

	"github.com/llmsim/llmsim/internal/planner/capacity/candidate"
	"github.com/llmsim/llmsim/internal/testkit"
)

// Groups of one ratio on the menu become a fleet of as many prefill and decode replicas as it
// needs: it keeps the SLO, and with one fewer of either kind it does not.
func TestRatiosAreRefined(t *testing.T) {
	ctx := t.Context()
	s, _ := prepared(t, `
model: llama-3.1-8b
workload: {rate: 24/s, prompt: 4000, output: 60}
slo: {ttft: 1s, tpot: 30ms}
menu:
  hardware: [h100-sxm]
  tensor: [1]
  tune: none
  disaggregated: [{prefill: 1, decode: 1}]
effort: {requests: 300, most-requests: 1000}
`)
	s.outcomes = make([]outcome, len(s.options))
	group := len(s.options) - 1
	if s.options[group].Decode == nil {
		t.Fatal("no groups")
	}
	n, err := s.smallest(ctx, group, 2, func(int, float64) {})
	testkit.OK(t, err)
	s.best = -1
	s.makeBest(group)
	s.outcomes[group].replicas = n
	before := s.cost()
	testkit.OK(t, s.refineRatios(ctx))
	o := s.chosen()
	if s.best == group || s.cost() >= before || s.listed() != group+1 {
		t.Fatalf("%d of %s for $%g, refined to %s for $%g", n, s.label(group), before,
			s.label(s.best), s.cost())
	}
	keeps := func(prefills, decodes int32) bool {
		other := *o
		other.Prefills, other.Decodes = prefills, decodes
		testkit.OK(t, candidate.Prepare(ctx, s.Trials.File, []*candidate.Option{&other}))
		ok, _, err := s.Keeps(ctx, &other, 1, other.Worst(), s.Seeds)
		testkit.OK(t, err)
		return ok
	}
	if !keeps(o.Prefills, o.Decodes) || o.Prefills > 1 && keeps(o.Prefills-1, o.Decodes) ||
		o.Decodes > 1 && keeps(o.Prefills, o.Decodes-1) {
		t.Errorf("%s has too many replicas, or too few", s.label(s.best))
	}
	t.Log(n, s.label(s.best))
}
