package asked

import (
	"math"
	"slices"

	"github.com/llmsim/llmsim/internal/planner"
	"github.com/llmsim/llmsim/internal/planner/stats"
	"github.com/llmsim/llmsim/metrics"
)

// A clause has the shares of requests that keep it for factors on TTFT from one over lateMost to
// lateMost, each lateStep times the one before.
const (
	lateSteps = 24 // to each side of 1
	lateMost  = 8.0
)

// LateFactors lists the factors on TTFT for which clauses have shares.
func LateFactors() []float64 {
	list := make([]float64, 2*lateSteps+1)
	for k := range list {
		list[k] = math.Pow(lateMost, float64(k-lateSteps)/lateSteps)
	}
	return list
}

// Room returns the largest factor on a request's TTFT under which it keeps its limits, of which 0
// stands for none: the time after the first token stays what it is.
func Room(r *planner.Request, limits *metrics.SLO) float64 {
	if r.Rejected || limits.TPOT > 0 && r.TPOT > limits.TPOT {
		return 0
	}
	most := math.Inf(1)
	if limits.TTFT > 0 {
		most = min(most, float64(limits.TTFT)/float64(max(r.TTFT, 1)))
	}
	if limits.E2E > 0 {
		most = min(most, float64(limits.E2E-(r.E2E-r.TTFT))/float64(max(r.TTFT, 1)))
	}
	return max(most, 0)
}

// Lateness returns the shares of requests that keep a clause for each factor on TTFT, given the
// largest factor under which each of them keeps it.
func Lateness(rooms []float64, confidence float64) []stats.Interval {
	var list []stats.Interval
	factors, size := LateFactors(), len(rooms)/BatchCount
	if size == 0 {
		for _, factor := range factors {
			list = append(list, ShareKept(rooms, factor, confidence))
		}
		return list
	}
	// upTo counts the requests of each batch that keep the clause up to just so many factors.
	upTo := make([][BatchCount]int, len(factors)+1)
	for i, most := range rooms[:size*BatchCount] {
		k, exact := slices.BinarySearch(factors, most)
		if exact {
			k++
		}
		upTo[k][i/size]++
	}
	means, kept := make([]float64, BatchCount), [BatchCount]int{}
	for k := len(factors); k > 0; k-- { // those of more factors keep it for this one too
		for batch := range kept {
			kept[batch] += upTo[k][batch]
			means[batch] = float64(kept[batch]) / float64(size)
		}
		list = append(list, stats.Mean(means, confidence))
	}
	slices.Reverse(list)
	return list
}

// ShareKept returns the share of requests that keep a clause for a factor on TTFT.
func ShareKept(rooms []float64, factor, confidence float64) stats.Interval {
	series := make([]float64, len(rooms))
	for i, most := range rooms {
		if most >= factor {
			series[i] = 1
		}
	}
	return shareOf(series, confidence)
}

// shareKeptAt returns the share for a factor on TTFT, between those of lateness.
func shareKeptAt(list []stats.Interval, factor float64) stats.Interval {
	place := float64(lateSteps) * (1 + math.Log(factor)/math.Log(lateMost))
	place = min(max(place, 0), 2*lateSteps)
	k := min(int(place), 2*lateSteps-1)
	a, b, part := list[k], list[k+1], place-float64(k)
	between := func(x, y float64) float64 { return x + float64(part*(y-x)) }
	return stats.Interval{Mean: between(a.Mean, b.Mean), Half: between(a.Half, b.Half)}
}

// MostKept returns the largest factor on TTFT under which a share is kept, between those of
// lateness: 0 for none, and +Inf for more than was looked at.
func MostKept(list []stats.Interval, target float64) float64 {
	factors := LateFactors()
	last := -1
	for k := range factors {
		if list[k].Mean >= target-1e-12 {
			last = k
		}
	}
	switch {
	case last < 0:
		return 0
	case last == len(factors)-1:
		return math.Inf(1)
	}
	a, b := list[last].Mean, list[last+1].Mean
	part := (a - target) / (a - b)
	return factors[last] * math.Pow(lateMost, min(max(part, 0), 1)/lateSteps)
}

// BatchCount is the number of batch means behind an interval (Schmeiser, "Batch size effects in the
// analysis of simulation output", Operations Research 30, 1982: ten to thirty).
const BatchCount = 20

// shareOf returns the mean of a series of ones and zeros with its interval; 1 for none.
func shareOf(series []float64, confidence float64) stats.Interval {
	switch {
	case len(series) == 0:
		return stats.Interval{Mean: 1}
	case len(series) < BatchCount:
		kept := stats.Mean(series, confidence)
		kept.Half = min(kept.Half, 1) // of a single request nothing is known
		return kept
	}
	return stats.BatchMean(series, BatchCount, confidence)
}
