package capacity

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/llmsim/llmsim/internal/planner/capacity/asked"
	"github.com/llmsim/llmsim/internal/testkit"
)

// Of many options that may win with other inputs, some of each shape are tried again, the answer
// among them, so that settings of one accelerator do not leave out the others.
func TestContendersAreOfAllShapes(t *testing.T) {
	var settings []string
	for k := range 60 {
		settings = append(settings, fmt.Sprintf("{token-budget: %d}", 1024+64*k))
	}
	s, _ := prepared(t, `
model: llama-3.1-8b
workload: {rate: 1/s, prompt: 200, output: 20}
slo: {ttft: 1s}
menu:
  hardware: [h100-sxm, a100-80gb-sxm]
  tensor: [1]
  batching: [`+strings.Join(settings, ", ")+"]\n")
	s.outcomes = make([]outcome, len(s.options))
	s.best = 59 // the last with an H100, which is dearer
	s.outcomes[s.best] = outcome{kind: chosen, replicas: 1}
	list, more := (&cheapestGoal{fleetGoal{s}}).contenders()
	shapes := map[string]int{}
	for _, i := range list {
		shapes[s.options[i].Shape()]++
	}
	if !more || !slices.Contains(list, s.best) || len(shapes) != 2 {
		t.Fatalf("%d options of %v, others left out: %v", len(list), shapes, more)
	}
	for shape, n := range shapes {
		if n < mostAlike || n > mostAlike+1 {
			t.Errorf("%d of %s, want %d beside the answer", n, shape, mostAlike)
		}
	}
}

// What a plan says of a load that grows is the answer where that is the load, settings beside the
// menu's included, when fresh draws of the load have confirmed it.
func TestGrowthIsThePlanOfThatLoad(t *testing.T) {
	testkit.Dear(t)
	answered := func(overrides ...string) *cheapestGoal {
		f, err := asked.Open("llama2-70b-chat", overrides...)
		testkit.OK(t, err)
		s, err := newSearch(t.Context(), f, testQueue(t), Options{})
		testkit.OK(t, err)
		g := &cheapestGoal{fleetGoal{s}}
		testkit.OK(t, g.find(t.Context()))
		return g
	}
	now := answered("workload.rate=5/s")
	for _, factor := range []float64{0.5, 2} {
		rate := fmt.Sprintf("workload.rate=%g/s", 5*factor)
		said, err := now.growth(t.Context(), factor)
		testkit.OK(t, err)
		then := answered(rate)
		want, err := then.confirmed(t.Context(), factor)
		testkit.OK(t, err)
		if said == nil || want == nil || *said != *want {
			t.Errorf("%s: %+v, want %s, with fresh draws %+v", rate, said,
				bestOf(then.search, then.best), want)
		}
	}
}
