package capacity

import (
	"fmt"
	"math"
	"testing"

	"github.com/llmsim/llmsim/internal/planner/capacity/asked"
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

// With spares, groups keep the SLO while as many replicas of one kind are down, and one more spare
// never costs less. A spare of a fleet in a ratio of its own is a replica of either kind, and no
// whole group.
func TestRatiosHaveSparesOfEitherKind(t *testing.T) {
	testkit.Dear(t)
	before := 0.0
	for spare := range 3 {
		f, err := asked.Parse("plan.yaml", []byte(`
model: llama-3.1-8b
workload: {rate: 40/s, prompt: 4000, output: 100}
slo: {ttft: 1s, tpot: 15ms}
menu:
  hardware: [h100-sxm]
  tensor: [1]
  tune: none
  disaggregated: [{prefill: 1, decode: 1}, {prefill: 2, decode: 1}]
effort: {requests: 300, most-requests: 1000}
`), fmt.Sprintf("fleet.spare=%d", spare))
		testkit.OK(t, err)
		found, err := find(t.Context(), f, testQueue(t), Options{})
		testkit.OK(t, err)
		s := found.search
		whole, n := s.chosen().Whole(s.size())
		if n != 1 || whole.Decode == nil || s.chosen().Paired != (spare > 0) {
			t.Fatalf("%d spare: %s", spare, s.wordsOfBest())
		}
		price := float64(whole.Prefills)*whole.Prefill.Price +
			float64(whole.Decodes)*whole.Decode.Price
		if math.Abs(s.cost()-price) > 1e-9 || s.cost() < before || s.accelerators() != whole.GPUs {
			t.Errorf("%s costs $%g for %d accelerators, with one fewer $%g", s.wordsOfBest(),
				s.cost(), s.accelerators(), before)
		}
		before = s.cost()
		for _, down := range [][2]int32{{int32(spare), 0}, {0, int32(spare)}} {
			left := *whole
			left.Prefills, left.Decodes = left.Prefills-down[0], left.Decodes-down[1]
			testkit.OK(t, candidate.Prepare(t.Context(), f, []*candidate.Option{&left}))
			ok, kept, err := s.Keeps(t.Context(), &left, 1, left.Worst(), s.Seeds)
			testkit.OK(t, err)
			if !ok {
				t.Errorf("%s keeps the SLO in %g with %v down", s.wordsOfBest(), kept, down)
			}
		}
		t.Log(s.wordsOfBest())
	}
}
