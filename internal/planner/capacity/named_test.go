package capacity

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/llmsim/llmsim/internal/planner/capacity/answer"
	"github.com/llmsim/llmsim/internal/planner/capacity/asked"
	"github.com/llmsim/llmsim/internal/planner/capacity/candidate"
	"github.com/llmsim/llmsim/internal/planner/capacity/judge"
	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/internal/units"
)

// namedFleet is a fleet that a page names: replicas without spares of an option of a search, which
// keep the SLO with some errors of predictions.
type namedFleet struct {
	as       string
	s        *search
	label    string
	replicas int
	wrong    func(o *candidate.Option) candidate.ErrorFactors
}

// namedBy lists the fleets that the short page of an answer names, beside the answer.
func namedBy(t *testing.T, found *finding, a *answer.Answer) []namedFleet {
	t.Helper()
	s, late := found.search, (*candidate.Option).Worst
	var out strings.Builder
	testkit.OK(t, (&answer.Answers{Models: []*answer.Answer{a}}).Write(&out, answer.Short))
	page := strings.Join(strings.Fields(out.String()), " ")
	var list []namedFleet
	add := func(as string, s *search, label string, size int,
		wrong func(*candidate.Option) candidate.ErrorFactors) {
		words := units.Plural(size, "replica") + " of " + label
		if as == "At even odds" && label == a.Chosen.Label {
			words = units.Plural(size, "replica") + " of them"
		}
		if strings.Contains(page, words) {
			list = append(list, namedFleet{as, s, label, size - s.Spare, wrong})
		}
	}
	for i := range a.Shapes {
		if sh := &a.Shapes[i]; sh.Replicas > 0 && sh.Label != a.Chosen.Label {
			add("Next", s, sh.Label, sh.Replicas, late)
		}
	}
	predicted := func(*candidate.Option) candidate.ErrorFactors { return candidate.AsPredicted() }
	if f := a.Chosen.Likely; f != nil {
		add("At even odds", s, a.Chosen.Label, f.Replicas, predicted)
	}
	for _, m := range a.Measurements {
		for _, f := range m.Fleets {
			if f.Probability >= 0.5 {
				add("At even odds", s, m.Label, f.Replicas, predicted)
			}
		}
	}
	if tuned := a.Tuned; tuned != nil && tuned.Settings != nil && tuned.WithoutReplicas > 0 {
		add("With the engine's defaults", s, tuned.Without, tuned.WithoutReplicas, late)
	}
	another := func(change func(*asked.Plan)) *search {
		other, err := found.goal.(*cheapestGoal).another(t.Context(), change)
		testkit.OK(t, err)
		return other
	}
	if a.Tuned != nil && a.Tuned.PlainCache != nil && a.Tuned.PlainCache.Replicas > 0 {
		plain := a.Tuned.PlainCache
		add("Without an FP8 cache", another(func(p *asked.Plan) { p.Menu.PlainCache = true }),
			plain.Label, plain.Replicas, late)
	}
	if g := a.Growth; g != nil && g.Replicas > 0 {
		add("For more load", another(func(p *asked.Plan) { p.ScaleRate(g.Factor) }), g.Label,
			g.Replicas, late)
	}
	return list
}

// The fleets that answer the shipped plans, and all that their short pages name, keep the SLO in
// three draws of the load that decided nothing, of 6,000 requests each or of the time that the plan
// names: with all spares down, and with latencies as late as the plan allows for; fleets at even
// odds with steps as predicted. The share of requests that keep it may be below the target by no
// more than draws differ.
func TestNamedFleetsKeepTheSLOInFreshDraws(t *testing.T) {
	for _, name := range asked.Shipped() {
		t.Run(name, func(t *testing.T) {
			testkit.Dear(t)
			f, err := asked.Open(name)
			testkit.OK(t, err)
			shared, err := findEach(t.Context(), f, testQueue(t), Options{})
			testkit.OK(t, err)
			for k, found := range shared.found {
				s := found.search
				if s.best < 0 {
					t.Fatal("there is no answer")
				}
				list := []namedFleet{{"Answer", s, s.label(s.best), s.size() - s.Spare,
					(*candidate.Option).Worst}}
				a, err := newAnswer(t.Context(), shared.parts[k], found)
				testkit.OK(t, err)
				for _, named := range append(list, namedBy(t, found, a)...) {
					t.Run(fmt.Sprint(named.as, " ", k), func(t *testing.T) { named.keeps(t) })
				}
			}
		})
	}
}

// keeps checks that a fleet keeps the SLO in fresh draws.
func (n *namedFleet) keeps(t *testing.T) {
	t.Helper()
	const draws, requests = 3, 6000
	s, plan := n.s, &n.s.Trials.File.Plan
	i := slices.IndexFunc(s.options, func(o *candidate.Option) bool {
		return s.label(o.Index) == n.label
	})
	if i < 0 {
		t.Fatalf("no option is %s", n.label)
	}
	o := s.options[i]
	wrong := n.wrong(o)
	var runs []judge.Trial
	for draw := range draws {
		scenario := o.Scenario(&plan.Menu, n.replicas, wrong.Steps)
		scenario.Seed += 1000 + uint64(draw)
		run, sent, err := s.Trials.Fleet(t.Context(), scenario, n.replicas, s.Rate, wrong.Late,
			requests)
		testkit.OK(t, err)
		if sent < requests && plan.Workload.Duration == 0 {
			t.Errorf("%d requests in draw %d", sent, draw)
		}
		if runs = append(runs, run); run.Growing {
			t.Errorf("latencies grow in draw %d", draw)
		}
	}
	kept, target := judge.SharePooled(runs), runs[0].Target
	t.Logf("%d replicas of %s: %.4f ± %.4f of %g", n.replicas, n.label, kept.Mean, kept.Half,
		target)
	if kept.Mean+kept.Half < target {
		t.Errorf("%d replicas of %s keep the SLO for %.4f ± %.4f of the requests, want %g",
			n.replicas, n.label, kept.Mean, kept.Half, target)
	}
}
