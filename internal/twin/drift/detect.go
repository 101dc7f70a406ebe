// Package drift watches a deployment with its twin: whether the machine still does what the twin
// says, and whether the traffic is still that to which the twin was fitted.
//
// Both are tests that look at the data as they come. A figure is taken over blocks of requests, as
// the logarithm of what was measured over what is expected. Where nothing changed, it lies within a
// tolerance, and noise is around it.
package drift

import (
	"math"
	"slices"
)

// detector is a sum of likelihood ratios over all times at which a change may have begun, of the
// kind of Shiryaev and Roberts. Each factor has a mean of at most 1 as long as the figure lies
// within its tolerance and the noise is normal with at most the deviation; so a threshold of N is
// passed after N blocks at the earliest, on average (Shin, Ramdas and Rinaldo, "E-detectors: a
// nonparametric framework for sequential change detection", New England Journal of Statistics in
// Data Science 2, 2024, theorem 2.4).
type detector struct {
	tolerance, deviation float64
	sums                 []float64 // by alternative
}

// alternatives are the shifts, beyond the tolerance, for which the detector looks, in both
// directions: their mixture is a detector too.
func alternatives() []float64 { return []float64{0.02, 0.05, 0.1, 0.2, 0.5} }

// evidence takes the next block, and returns the detector's value. It is infinite where it is too
// large for a number.
func (d *detector) evidence(x float64) float64 {
	shifts := alternatives()
	if d.sums == nil {
		d.sums = make([]float64, 2*len(shifts))
	}
	total := 0.0
	for i, shift := range shifts {
		for side, sign := range []float64{1, -1} {
			slope := shift / (d.deviation * d.deviation)
			factor := math.Exp(slope*(sign*x-d.tolerance) - slope*shift/2)
			at := 2*i + side
			d.sums[at] = factor * (d.sums[at] + 1)
			total += d.sums[at]
		}
	}
	return total / float64(len(d.sums))
}

// Finding is what a figure says.
type Finding struct {
	Figure string `json:"figure"`
	// Changed says that the figure left its tolerance for good, and Passed that it came back: its
	// mean from block Since on, with which that probably began, is within. After is the block with
	// which it was certain that the figure had left its tolerance.
	Changed bool `json:"changed"`
	Passed  bool `json:"passed,omitempty"`
	After   int  `json:"after_block,omitempty"`
	Since   int  `json:"since_block,omitempty"`
	// Shift is by how much the figure is off, as a fraction: over the blocks from Since on, or over
	// all if nothing changed.
	Shift float64 `json:"shift"`
	// Tolerance is the largest of the figure's, Deviation the noise of a block, as fractions.
	Tolerance float64 `json:"tolerance"`
	Deviation float64 `json:"deviation"`
	Blocks    int     `json:"blocks"`
}

// leastDeviation is the least noise of a block that is believed.
const leastDeviation = 0.01

// watch looks for a change in a series of logarithms, one a block, each with its tolerance. Apart
// is the mean number of blocks between false alarms.
func watch(figure string, series, tolerances []float64, apart float64) Finding {
	f := Finding{Figure: figure, Tolerance: slices.Max(tolerances), Blocks: len(series),
		Deviation: noise(series)}
	d := detector{deviation: f.Deviation}
	for i, x := range series {
		d.tolerance = tolerances[i]
		if d.evidence(x) >= apart {
			f.After = i + 1
			break
		}
	}
	from := 0
	if f.After > 0 {
		from = begin(series[:f.After])
		f.Since = from + 1
	}
	sum, allowed := 0.0, 0.0
	for i := from; i < len(series); i++ {
		sum, allowed = sum+series[i], allowed+tolerances[i]
	}
	f.Changed = f.After > 0 && math.Abs(sum) > allowed
	f.Passed = f.After > 0 && !f.Changed
	if n := len(series) - from; n > 0 {
		f.Shift = math.Expm1(sum / float64(n))
	}
	return f
}

// noise returns the deviation of a block, from the differences of blocks that follow each other: a
// change that lasts is in one of them only. Blocks that follow each other are more alike than
// others where queues are long, so that it is taken half as large again.
func noise(series []float64) float64 {
	var gaps []float64
	for i := 1; i < len(series); i++ {
		gaps = append(gaps, math.Abs(series[i]-series[i-1]))
	}
	if len(gaps) < 4 {
		return 5 * leastDeviation
	}
	slices.Sort(gaps)
	// the median of |difference| of normal values is 0.954 of their deviation
	return max(leastDeviation, 1.5*gaps[len(gaps)/2]/0.954)
}

// begin returns the block with which a change most probably began: the split with the largest
// squared difference of means.
func begin(series []float64) int {
	best, at := -1.0, 0
	total := 0.0
	for _, x := range series {
		total += x
	}
	before := 0.0
	for i := range series {
		if i > 0 {
			before += series[i-1]
		}
		n, m := float64(i), float64(len(series)-i)
		mean := 0.0
		if i > 0 {
			mean = before / n
		}
		after := (total - before) / m
		gain := m * after * after
		if i > 0 {
			gain += n * mean * mean
		}
		if gain > best {
			best, at = gain, i
		}
	}
	return at
}
