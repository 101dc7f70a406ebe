package models

import (
	_ "embed"
	"math"
	"slices"
	"sync"

	"github.com/llmsim/llmsim/internal/files"
)

// Routing says how unevenly the routers of a family of models choose their experts when they serve:
// balanced while they learn, experts are not then.
type Routing struct {
	// Name is the name of the family for people, and Families are the values of Architecture.Family
	// that belong to it. The first entry of the list has no families, and is for all other models.
	Name     string
	Families []string `yaml:",omitempty,flow"`
	// Spread is the coefficient of variation of the experts' popularities where a token visits few
	// of many, above 0.
	Spread float64
	// Random is the factor on Spread where prompts are random tokens, as benchmarks draw them; 0 in
	// entries that leave it to the first one.
	Random float64 `yaml:",omitempty"`
	// Source says what the numbers rest on.
	Source string
}

//go:embed routing.yaml
var routingYAML []byte

var routings = sync.OnceValue(func() (list []Routing) {
	if err := files.DecodeYAML(routingYAML, &list); err != nil {
		panic("models: routing.yaml: " + err.Error())
	}
	return list
})

// Routings returns what is known of routers, by family. The first entry is for all other models.
func Routings() []Routing { return slices.Clone(routings()) }

// RoutingOf returns the entry for a family, as Architecture.Family names it, in a list such as
// Routings.
func RoutingOf(family string, list []Routing) Routing {
	return list[max(0, slices.IndexFunc(list, func(r Routing) bool {
		return slices.Contains(r.Families, family)
	}))]
}

// SpreadOf returns how unevenly routers of a family choose experts for text, or for random tokens,
// under a list such as Routings.
func SpreadOf(family string, list []Routing, random bool) float64 {
	spread := RoutingOf(family, list).Spread
	if random {
		spread *= list[0].Random
	}
	return spread
}

// distinctExperts returns expectedExperts without its last bits, in which machines differ.
func distinctExperts(n, k, m int, spread float64) float64 {
	const grid = 1 << 20
	return math.Round(expectedExperts(n, k, m, spread)*grid) / grid
}

// expectedExperts returns the expected number of distinct experts, of n, that m tokens visit when
// each visits k different ones: n·(1−E[(1−p)^m]), where the popularities p follow a beta
// distribution with mean µ = k/n and deviation µ·(1−µ)·spread. Equal ones, whose spread is 0, would
// give n·(1−(1−µ)^m).
func expectedExperts(n, k, m int, spread float64) float64 {
	mean := float64(k) / float64(n)
	switch {
	case k == n:
		return float64(n * min(m, 1))
	case spread <= 0:
		return float64(n) * (1 - math.Pow(1-mean, float64(m)))
	}
	rest, sum := popularities(n, k, spread)
	return float64(n) * (1 - math.Exp(logGamma(rest+float64(m))-logGamma(rest)+
		logGamma(sum)-logGamma(sum+float64(m))))
}

// popularities returns the second parameter of the beta distribution, and the sum of both, which is
// above 0 for any spread: at the most, each expert has every token or has none.
func popularities(n, k int, spread float64) (rest, sum float64) {
	const least = 1e-6
	mean := float64(k) / float64(n)
	sum = max(least, 1/(spread*spread*mean*(1-mean))-1)
	return (1 - mean) * sum, sum
}

func logGamma(x float64) float64 {
	y, _ := math.Lgamma(x)
	return y
}
