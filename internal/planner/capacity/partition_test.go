package capacity

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/llmsim/llmsim/internal/planner/capacity/answer"
	"github.com/llmsim/llmsim/internal/planner/capacity/asked"
	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/policies"
	"github.com/llmsim/llmsim/scenarios"
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

// Requests with short and with long prompts are served apart where that is cheaper, for what
// fleets for those lengths cost by themselves, and keep the SLO with other draws of the load too.
func TestPromptsShareServersUnlessApartIsCheaper(t *testing.T) {
	testkit.Dear(t)
	const plan = `
model: llama-3.1-8b
workload: {output: 150, WORKLOAD}
slo: {ttft: 5s, tpot: 60ms}
menu: {hardware: [l4, h100-sxm], tensor: [1], tune: none, divide: DIVIDE}
effort: {requests: 500, most-requests: 4000}
`
	solve := func(workload, divide string) (*asked.File, *answer.Answers) {
		f, err := asked.Parse("plan.yaml", []byte(strings.NewReplacer("WORKLOAD", workload,
			"DIVIDE", divide).Replace(plan)))
		testkit.OK(t, err)
		all, err := Solve(t.Context(), f, Options{})
		testkit.OK(t, err)
		return f, all
	}
	const mixed = "rate: 20/s, prompt: {distribution: lognormal, mean: 3000, cv: 2, max: 60000}"
	_, one := solve(mixed, "none")
	f, apart := solve(mixed, "prompts")
	d := apart.Divided
	if d == nil || len(apart.Models) < 2 || apart.Hourly >= one.Hourly ||
		apart.Models[0].ClassesTogether != one.Hourly || one.Divided != nil {
		t.Fatalf("$%g together, $%g apart: %+v", one.Hourly, apart.Hourly, d)
	}
	above, pools, byHand := 0, 0, 0.0
	for _, a := range apart.Models {
		most := 60000
		if n, _ := fmt.Sscanf(a.Name, "prompts of %d to %d tokens", &above,
			&most); n < 2 {
			most = 60000
		}
		part := f.OfPrompts(above-1, most)
		_, own := solve(fmt.Sprintf("rate: %g/s, prompt: {distribution: lognormal, mean: 3000, "+
			"cv: 2, min: %d, max: %d}", part.Plan.Peak(), above, most), "none")
		above, pools, byHand = most+1, pools+a.Chosen.Replicas, byHand+own.Hourly
	}
	if byHand != apart.Hourly {
		t.Errorf("$%g, and $%g with those lengths asked for by hand", apart.Hourly, byHand)
	}
	for seed := range 3 {
		file, err := scenarios.Parse("scenario.yaml", []byte(d.Scenario),
			fmt.Sprintf("seed=%d", 100+seed))
		testkit.OK(t, err)
		r, err := file.Run(t.Context(), policies.Default())
		testkit.OK(t, err)
		if !r.SLOMet || r.Fleet.Replicas != pools || int64(r.Completed) != d.Requests {
			t.Errorf("seed %d: %d replicas answer %d of %d requests; the SLO is met: %v", seed,
				r.Fleet.Replicas, r.Completed, d.Requests, r.SLOMet)
		}
	}
	// Alike prompts: all ways are looked at, and none is cheaper.
	const alike = "rate: 20/s, prompt: {distribution: lognormal, mean: 3000, cv: 0.2, max: 60000}"
	_, one = solve(alike, "none")
	if _, all := solve(alike, "prompts"); all.Hourly > one.Hourly {
		t.Errorf("$%g, and $%g where prompts may be divided", one.Hourly, all.Hourly)
	}
}
