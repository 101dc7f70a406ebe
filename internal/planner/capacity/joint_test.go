package capacity

import (
	"context"
	"fmt"
	"math"
	"testing"

	"github.com/llmsim/llmsim/internal/planner/capacity/asked"
	"github.com/llmsim/llmsim/internal/planner/capacity/judge"
	"github.com/llmsim/llmsim/internal/testkit"
)

// Fleets of several models from one stock cost the least of all that there are accelerators for,
// and no more than when the models choose in turn.
func TestModelsShareAStock(t *testing.T) {
	testkit.Dear(t)
	conflicts, stocks := 0, [][2]int{{2, 2}, {3, 4}, {20, 20}}
	if testing.Short() {
		stocks = stocks[:1]
	}
	for _, counts := range stocks {
		f, err := asked.Parse("joint.yaml", fmt.Appendf(nil, `
models:
  - {name: chat, model: llama-3.1-8b, workload: {rate: 90/s, prompt: 300, output: 60}, slo: {ttft: 1s, tpot: 40ms}}
  - {name: code, model: qwen2.5-14b, workload: {rate: 16/s, prompt: 900, output: 60}, slo: {ttft: 1s, tpot: 50ms}}
menu:
  hardware: [{accelerator: h100-sxm, count: %d, price: $2/h}, {accelerator: a100-80gb-sxm, count: %d, price: $1.2/h}, l40s]
  tensor: [1, 2]
  tune: none
effort: {requests: 100, most-requests: 200}
`, counts[0], counts[1]))
		testkit.OK(t, err)
		q := testQueue(t)
		var searches []*search
		for _, part := range questions(f) {
			found, err := find(context.Background(), part, q, Options{})
			testkit.OK(t, err)
			searches = append(searches, found.search)
		}
		j := newJointSearch(searches)
		if j.conflict() {
			conflicts++
		}
		if possible, err := j.choose(context.Background()); err != nil || !possible {
			t.Fatal("no answer", err)
		}
		got := searches[0].cost() + searches[1].cost()
		want := cheapestPair(t, j)
		if j.conflict() || math.Abs(got-want) > 1e-9 {
			t.Errorf("%v: $%g/h, the cheapest pair costs $%g/h", counts, got, want)
		}
		inTurn, err := inTurn(context.Background(), f, q, Options{})
		testkit.OK(t, err)
		if a, b := inTurn[0].Chosen, inTurn[1].Chosen; a != nil && b != nil &&
			got > a.Hourly+b.Hourly+1e-9 {
			t.Errorf("%v: $%g/h, in turn $%g/h", counts, got, a.Hourly+b.Hourly)
		}
	}
	if conflicts == 0 || conflicts == 3 {
		t.Errorf("%d of 3 stocks are too small for what each model would have alone", conflicts)
	}
}

// cheapestPair returns the price of the cheapest fleets of two models, after all options of both
// are sized.
func cheapestPair(t *testing.T, j *jointSearch) float64 {
	t.Helper()
	for k, s := range j.searches {
		for i, o := range s.options {
			if _, known := j.sizes[k][i]; !known && o.Unfit() == "" && !o.Tight {
				testkit.OK(t, j.size(context.Background(), k, i))
			}
		}
	}
	best := math.Inf(1)
	a, b := j.searches[0], j.searches[1]
	for i, n := range j.sizes[0] {
		for k, m := range j.sizes[1] {
			if n == 0 || m == 0 {
				continue
			}
			x, y := a.options[i], b.options[k]
			if judge.Fit(j.stock, j.acceleratorsUsed(a, x, n), j.acceleratorsUsed(b, y, m)) {
				best = min(best, float64(n)*x.Price+float64(m)*y.Price)
			}
		}
	}
	return best
}
