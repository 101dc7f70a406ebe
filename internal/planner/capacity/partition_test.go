package capacity

import (
	"cmp"
	"context"
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/llmsim/llmsim/internal/planner/capacity/asked"
	"github.com/llmsim/llmsim/internal/testkit"
)

// Sets of the least price are the least of all ways to divide things, each way tried.
func TestThingsAreDividedAtLeastPrice(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 4).Draw(t, "things")
		prices := make([]float64, 1<<n)
		for set := 1; set < len(prices); set++ {
			prices[set] = float64(rapid.IntRange(0, 9).Draw(t, "price"))
			if prices[set] == 9 {
				prices[set] = math.Inf(1)
			}
		}
		least, several := math.Inf(1), math.Inf(1)
		groups := make([]int, n) // of each thing
		var try func(thing, used int)
		try = func(thing, used int) {
			if thing < n {
				for g := range used + 1 {
					groups[thing] = g
					try(thing+1, max(used, g+1))
				}
				return
			}
			sets, sum := make([]int, used), 0.0
			for thing, g := range groups {
				sets[g] |= 1 << thing
			}
			for _, set := range sets {
				sum += prices[set]
			}
			if least = min(least, sum); used > 1 {
				several = min(several, sum)
			}
		}
		try(0, 0)
		sets, got := divide(prices)
		sum, all := 0.0, 0
		for _, set := range sets {
			if all&set != 0 {
				t.Fatalf("sets %b have a thing in common", sets)
			}
			sum, all = sum+prices[set], all|set
		}
		if got != several || len(sets) == 0 != math.IsInf(least, 1) ||
			len(sets) > 0 && (sum != least || all != len(prices)-1) {
			t.Fatalf("sets %b for %g, several %g; want %g and %g", sets, sum, got, least, several)
		}
		if prices[len(prices)-1] == least && len(sets) > 1 {
			t.Fatalf("sets %b, and one has that price", sets)
		}
	})
}

// Classes cost no more together than on servers of their own, nor than on one fleet: alike classes
// share servers, and classes of which one is in the other's way do not. What the other way costs is
// told, and is what it costs if asked for.
func TestClassesShareServersWhereThatIsCheaper(t *testing.T) {
	testkit.Dear(t)
	const plan = `
model: llama-3.1-8b
workload:
  classes:
    - {name: chat, rate: 6/s, prompt: 300, output: 100, slo: {ttft: 300ms, tpot: 25ms}}
    - {name: other, rate: OTHER}
menu: {hardware: [h100-sxm], tensor: [1, 2], tune: none}
effort: {requests: 300, most-requests: 1000}
`
	for _, c := range []struct {
		other string
		apart bool
	}{
		{"6/s, prompt: 300, output: 100, slo: {ttft: 300ms, tpot: 25ms}", false},
		{"0.7/s, prompt: 20000, output: 100, slo: {ttft: 20s, tpot: 200ms}", true},
	} {
		f, err := asked.Parse("plan.yaml", []byte(strings.ReplaceAll(plan, "OTHER", c.other)))
		testkit.OK(t, err)
		all, err := Solve(context.Background(), f, Options{})
		testkit.OK(t, err)
		one := all.Models[0]
		if len(all.Models) > 1 != c.apart ||
			one.ClassesApart > 0 && one.ClassesApart < all.Hourly ||
			one.ClassesTogether > 0 && one.ClassesTogether <= all.Hourly ||
			one.ClassesApart+one.ClassesTogether == 0 {
			t.Fatalf("%s: %d fleets for $%g; apart $%g, together $%g", c.other, len(all.Models),
				all.Hourly, one.ClassesApart, one.ClassesTogether)
		}
		sum := 0.0
		for set := 1; set <= 2; set++ {
			s, err := find(t.Context(), f.OfClasses(set), testQueue(t), Options{})
			testkit.OK(t, err)
			sum += s.cost()
		}
		if want := cmp.Or(one.ClassesApart, all.Hourly); math.Abs(sum-want) > 1e-9*sum {
			t.Errorf("%s: $%g on servers of their own, told %g", c.other, sum, want)
		}
	}
}
