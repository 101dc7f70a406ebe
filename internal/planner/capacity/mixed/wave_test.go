package mixed

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/llmsim/llmsim/internal/planner/capacity/answer"
	"github.com/llmsim/llmsim/internal/planner/capacity/asked"
	"github.com/llmsim/llmsim/internal/planner/capacity/candidate"
	"github.com/llmsim/llmsim/internal/planner/capacity/detail"
	"github.com/llmsim/llmsim/internal/planner/capacity/judge"
	"github.com/llmsim/llmsim/internal/planner/capacity/menu"
	"github.com/llmsim/llmsim/internal/planner/capacity/oracle"
	"github.com/llmsim/llmsim/scenarios"
)

// Of equal replicas, as many are reserved as run for so much of the day that it pays: the k-th
// where the share of the day in which k are needed is at least the ratio of the prices.
func TestReservedBaseOfAWave(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rate := &scenarios.Rate{Pattern: "wave",
			Average: scenarios.PerSecond(rapid.Float64Range(1, 200).Draw(t, "average")),
			Swing:   rapid.Float64Range(0, 1).Draw(t, "swing")}
		one := rapid.Float64Range(1, 20).Draw(t, "one")
		long, hour := rapid.Float64Range(0.5, 3).Draw(t, "reserved"),
			rapid.Float64Range(0.5, 3).Draw(t, "on demand")
		s := &Search{Fleet: detail.Fleet{Judge: judge.Judge{Trials: &oracle.Trials{File: new(
			asked.File)}}},
			Options: []*candidate.Option{
				{Parts: &candidate.Parts{
					Prefill: &candidate.Server{Offer: &menu.Offer{Term: menu.Reserved}}},
					Prefills: 1, Price: long},
				{Parts: &candidate.Parts{Prefill: &candidate.Server{Offer: new(menu.Offer)}},
					Prefills: 1, Price: hour},
			}}
		got := s.rentedOf(rate, &answer.Shape{Option: 0, Rate: one},
			&answer.Shape{Option: 1, Rate: one})
		var needs []int
		for slot := range slots {
			load := max(loadAt(rate, slot), loadAt(rate, slot+1))
			needs = append(needs, max(0, int(math.Ceil(load/one-1e-9))))
		}
		daily, base := 0.0, 0
		for k := 1; k <= slices.Max(needs); k++ {
			share := 0.0
			for _, n := range needs {
				if n >= k {
					share += 1.0 / slots
				}
			}
			if daily += 24 * min(long, hour*share); long < hour*share {
				base = k
			}
		}
		if math.Abs(got.Daily-daily) > 1e-6*daily {
			t.Fatalf("$%g a day with %d reserved, want $%g with %d", got.Daily, got.BaseReplicas,
				daily, base)
		}
	})
}
