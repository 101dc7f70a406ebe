package capacity

import (
	"cmp"
	"context"
	"reflect"
	"slices"

	"github.com/llmsim/llmsim/internal/planner/capacity/oracle"
)

// promise is what one run says of whether a fleet keeps the SLO.
type promise uint8

const (
	clearlyKeeps promise = iota
	unclear
	clearlyMisses
)

// firstRun is one run of an option with another setting, as the largest fleet that costs less than
// the answer. Missing is by how much the share of requests that keep the SLO is below its target.
type firstRun struct {
	option  int
	promise promise
	missing float64
}

// firstRuns simulates options with other settings once each, and orders them by what that
// promises: the settings that clearly keep the SLO are looked at closely before the runs of their
// shape are used up. Left out are settings that change nothing in a run of the base of their shape,
// and what is nearer to the default than these. It adds to the runs of each shape.
func (s *search) firstRuns(ctx context.Context, fresh []int, bases map[string]oracle.Trial,
	runs map[string]int) ([]firstRun, error) {
	var list []firstRun
	idle := map[string]bool{}
	for _, i := range fresh {
		o, n := s.options[i], s.cheaper(i)
		shape := o.Shape()
		setting := shape + o.LastChanged()
		if runs[shape] >= mostShapeRuns || idle[setting] || n < s.Fewest(o) {
			continue
		}
		s.tuned.Tried++
		runs[shape]++
		t, _, err := s.Simulate(ctx, o, n, o.Worst(), 0)
		if words, failed := oracle.Failure(err); failed {
			s.outcomes[i] = outcome{kind: broken, words: words}
			continue
		}
		if err != nil {
			return nil, err
		}
		if reflect.DeepEqual(t, bases[shape]) {
			idle[setting] = true
			continue
		}
		r := firstRun{option: i, promise: unclear, missing: t.Target - t.Kept.Mean}
		switch clear := t.Kept.Excludes(t.Target); {
		case clear && t.Keeps():
			r.promise = clearlyKeeps
		case clear && r.missing > 0:
			r.promise = clearlyMisses
			s.tried(i).Note(n)
			s.outcomes[i].kind, s.outcomes[i].words = simulated, missesCheaper
		}
		list = append(list, r)
	}
	slices.SortStableFunc(list,
		func(a, b firstRun) int { return cmp.Compare(a.promise, b.promise) })
	return list, nil
}
