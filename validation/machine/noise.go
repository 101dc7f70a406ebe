package machine

import (
	"math"
	"slices"
	"time"

	"github.com/llmsim/llmsim/engine/cputime"
)

// Rates are what the machine reaches at a moment: reading memory, in B/s, and multiplying in the caches, in FLOP/s.
type Rates struct {
	Bandwidth float64 `json:"bandwidth"`
	FLOPRate  float64 `json:"flop_rate"`
}

// Rates measures for about a third of a second. Each is the median of three.
func (m *Machine) Rates() Rates {
	var bandwidths, rates []float64
	for range 3 {
		bandwidths, rates = append(bandwidths, m.probe.ReadBandwidth()), append(rates, m.probe.MatrixRate())
	}
	return Rates{Median(bandwidths), Median(rates)}
}

// Noise is how much the machine changed while something was measured.
type Noise struct {
	// Before and After are the rates around the measurement.
	Before Rates `json:"before"`
	After  Rates `json:"after"`
	// Share is the processor time of the program divided by wall time and threads: less than 1 where others took the processors.
	Share float64 `json:"processor_share"`
}

// The levels above which a measurement does not count.
const (
	// MostDrift is by how much the rates may change from before to after.
	MostDrift = 0.05
	// LeastShare is the least share of the processors, where the stopwatch reads wall time.
	LeastShare = 0.97
)

// Drift returns the larger change of the two rates, as a share.
func (n Noise) Drift() float64 {
	change := func(a, b float64) float64 { return math.Abs(math.Log(b / a)) }
	return max(change(n.Before.Bandwidth, n.After.Bandwidth), change(n.Before.FLOPRate, n.After.FLOPRate))
}

// Watch notes the state of the machine until Stop.
type Watch struct {
	machine *Machine
	before  Rates
	wall    time.Time
	used    time.Duration
}

// Watch begins to look for noise.
func (m *Machine) Watch() *Watch {
	w := &Watch{machine: m, before: m.Rates()}
	w.wall, w.used = time.Now(), cputime.Process()
	return w
}

// Stop returns what changed since the watch began.
func (w *Watch) Stop() Noise {
	used, wall := (cputime.Process() - w.used).Seconds(), time.Since(w.wall).Seconds()
	return Noise{Before: w.before, After: w.machine.Rates(), Share: used / wall / float64(w.machine.Threads())}
}

// Median returns the median of at least one number.
func Median(x []float64) float64 {
	x = slices.Sorted(slices.Values(x))
	return (x[(len(x)-1)/2] + x[len(x)/2]) / 2
}
