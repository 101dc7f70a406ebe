package accuracy

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// The gate notices a group that all others hide: its error alone moves.
func TestTheGateSeesASingleGroup(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		keys := rapid.Permutation(sortedGroups()).Draw(t, "groups")
		r := &Report{Tables: []Table{{}}}
		points := rapid.Float64Range(Worsening+0.1, 50).Draw(t, "points worse")
		for i, g := range keys {
			percent := g.Median
			if i == 0 {
				percent += points
			}
			for range g.Rows {
				r.Tables[0].Rows = append(r.Tables[0].Rows, rowOf(&g, percent))
			}
		}
		if list := r.Worsened(); len(list) != 1 || !strings.Contains(list[0], keys[0].String()) {
			t.Fatalf("%v; want %s alone", list, &keys[0])
		}
	})
}

func sortedGroups() []GroupError {
	var list []GroupError
	for _, key := range slices.Sorted(maps.Keys(Recorded())) {
		list = append(list, Recorded()[key])
	}
	return list
}

// rowOf returns a comparison of a group that is off by a percentage.
func rowOf(g *GroupError, percent float64) Comparison {
	quantity := map[string]string{"TPOT": "TPOT mean", "TTFT": "TTFT mean",
		"rate": "output rate"}[g.Quantity]
	if quantity == "" {
		quantity = g.Quantity
	}
	return Comparison{Group: Group{Engine: g.Engine, Version: g.Version,
		GPU: g.GPU, Model: g.Model, DType: g.DType}, Quantity: quantity, Measured: 1,
		Predicted: 1 + percent/100}
}
