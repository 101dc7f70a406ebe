package capacity

import (
	"fmt"
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/llmsim/llmsim/internal/planner/capacity/asked"
	"github.com/llmsim/llmsim/internal/planner/capacity/detail"
	"github.com/llmsim/llmsim/internal/testkit"
)

// The fleet that is named for a rate 10 % higher costs what the answer of that question costs, or
// more by at most one replica or a tenth: settings and ratios are looked for again in the question
// alone. It keeps the SLO by as many runs as an answer does.
func TestOtherRatesCostWhatTheirPlansCost(t *testing.T) {
	testkit.Dear(t)
	var all []int
	for seed := range 1000 {
		all = append(all, seed)
	}
	q := testQueue(t)
	generator := rapid.Custom(drawnMenus)
	var cases []string
	for _, seed := range testkit.DrawCases(t, 2**pairs, all) {
		m := generator.Example(seed)
		cases = append(cases, m.question+m.all)
	}
	shipped := []string{"many-users", "llama2-70b-chat"}
	if *long {
		shipped = append(shipped, "deepseek-v3-h200")
	}
	for _, name := range shipped {
		text, err := asked.Read(name)
		testkit.OK(t, err)
		cases = append(cases, string(text))
	}
	for _, text := range cases {
		parsed := func(factor float64) *asked.File {
			f, err := asked.Parse("plan.yaml", []byte(text))
			testkit.OK(t, err)
			f.Plan.ScaleRate(factor)
			return f
		}
		s, err := find(t.Context(), parsed(1), q, Options{})
		testkit.OK(t, err)
		if s.best < 0 {
			continue
		}
		rate := detail.Inputs(&s.Trials.File.Plan, "")[0]
		told, err := (&cheapestGoal{fleetGoal{s.search}}).perturbed(t.Context(), rate)
		testkit.OK(t, err)
		testkit.OK(t, told.solveVerified(t.Context(), s.search, rate))
		asks, err := find(t.Context(), parsed(1.1), q, Options{})
		testkit.OK(t, err)
		if (told.best < 0) != (asks.best < 0) {
			t.Errorf("told a fleet: %v, asked: %v\n%s", told.best >= 0, asks.best >= 0, text)
		}
		if told.best < 0 || asks.best < 0 {
			continue
		}
		words := fmt.Sprintf("told $%.2f for %d of %s, asked $%.2f for %d of %s, now $%.2f for "+
			"%d of %s\n%s", told.cost(), told.size(), told.label(told.best), asks.cost(),
			asks.size(), asks.label(asks.best), s.cost(), s.size(), s.label(s.best), text)
		step := told.cost() - told.chosen().Cost(told.size()-1)
		if told.cost() > asks.cost()+math.Max(step, asks.cost()/10)+1e-9 ||
			told.cost() < asks.cost()*(1-worthTuning) {
			t.Error(words)
		} else {
			t.Log(words)
		}
		o := told.chosen()
		kept, _, err := asks.Keeps(t.Context(), o, told.outcomes[told.best].replicas, o.Worst(),
			asks.Seeds)
		testkit.OK(t, err)
		if !kept {
			t.Error("a fleet is told that misses the SLO: ", words)
		}
	}
}
