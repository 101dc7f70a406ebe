package distil

import (
	"math"
	"math/rand/v2"
	"slices"

	"github.com/llmsim/llmsim/hardware"
	"github.com/llmsim/llmsim/internal/units"

	"gonum.org/v1/gonum/optimize"
)

// parameter is a number of a form, which is looked for in logarithms between low and high.
type parameter struct{ start, low, high float64 }

// kernel is a measured kernel: how long its form says that it takes, and how long it took.
type kernel struct {
	form    func(p []float64) float64
	seconds float64
	// shape distinguishes it from kernels that are left out together.
	shape string
	// card is the place of the accelerator among the cards of the die.
	card int
}

// enough is the number of kernels of a card to which a form is fitted; of more, this number is
// drawn. Tables are grids, in which every nth row would be of one size.
const enough = 800

// folds is the number of parts in which shapes are left out.
const folds = 5

// fit returns the parameters that describe the kernels of a die best, and how well they do on each
// of its cards: on all kernels, and with the shapes of a fold left out in turn.
func fit(cards int, kernels []kernel, parameters []parameter) ([]float64, []hardware.KernelFit) {
	best := solve(cards, kernels, parameters)
	all := deviations(cards, kernels, best)
	quality := make([]hardware.KernelFit, cards)
	for card, list := range all {
		quality[card].Rows = len(list)
		quality[card].Error = rounded(median(list))
	}
	var shapes []string
	for i := range kernels {
		shapes = append(shapes, kernels[i].shape)
	}
	slices.Sort(shapes)
	shapes = slices.Compact(shapes)
	if len(shapes) < 2 {
		return best, quality
	}
	left := make([][]float64, cards)
	for fold := range min(folds, len(shapes)) {
		var seen, unseen []kernel
		for _, k := range kernels {
			i, _ := slices.BinarySearch(shapes, k.shape)
			if i%min(folds, len(shapes)) == fold {
				unseen = append(unseen, k)
			} else {
				seen = append(seen, k)
			}
		}
		for card, list := range deviations(cards, unseen, solve(cards, seen, parameters)) {
			left[card] = append(left[card], list...)
		}
	}
	for card, list := range left {
		quality[card].LeftOut = rounded(median(list))
	}
	return best, quality
}

// solve returns the parameters with the least loss: squares of the logarithms of predicted over
// measured, and beyond a tenth their absolute values.
func solve(cards int, kernels []kernel, parameters []parameter) []float64 {
	draw := rand.New(rand.NewPCG(1, 2)).Perm(len(kernels))
	draw = draw[:min(enough*cards, len(draw))]
	values := make([]float64, len(parameters))
	loss := func(x []float64) float64 {
		sum := 0.0
		for i, p := range parameters {
			v := min(max(x[i], math.Log(p.low)), math.Log(p.high))
			sum += 1e3 * (x[i] - v) * (x[i] - v)
			values[i] = math.Exp(v)
		}
		for _, i := range draw {
			e := math.Log(kernels[i].form(values)/kernels[i].seconds) / 0.1
			sum += math.Sqrt(1+e*e) - 1
		}
		return sum
	}
	start := make([]float64, len(parameters))
	for i, p := range parameters {
		start[i] = math.Log(p.start)
	}
	settings := &optimize.Settings{
		Converger:       &optimize.FunctionConverge{Relative: 1e-5, Iterations: 60},
		MajorIterations: 1500 * cards}
	for range 2 { // the simplex may collapse; a second one starts where the first one ended
		result, err := optimize.Minimize(optimize.Problem{Func: loss}, start, settings,
			&optimize.NelderMead{})
		if result == nil || err != nil {
			break
		}
		start = result.X
	}
	loss(start)
	return values
}

// deviations returns the absolute errors of the form, by card.
func deviations(cards int, kernels []kernel, p []float64) [][]float64 {
	list := make([][]float64, cards)
	for i := range kernels {
		k := &kernels[i]
		list[k.card] = append(list[k.card], math.Abs(k.form(p)/k.seconds-1))
	}
	return list
}

// median returns the upper median; 0 of nothing.
func median(list []float64) float64 {
	if len(list) == 0 {
		return 0
	}
	slices.Sort(list)
	return list[len(list)/2]
}

// rounded keeps three digits.
func rounded(v float64) float64 { return units.Rounded(v, 3) }

// overlap joins seconds of compute and of memory traffic, with hardware.KernelOverlap.
func overlap(compute, memory float64) float64 {
	c, m := compute*compute, memory*memory
	return math.Sqrt(math.Sqrt(c*c + m*m))
}
