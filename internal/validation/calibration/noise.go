package calibration

import (
	"math"
	"runtime"
	"slices"
	"time"

	"github.com/llmsim/llmsim/internal/engine"
)

// Rates are what the machine reaches at a moment: reading memory, in B/s, and multiplying in the
// caches, in FLOP/s.
type Rates struct {
	Bandwidth float64 `json:"bandwidth"`
	FLOPRate  float64 `json:"flop_rate"`
}

// rates measures both, for a tenth of a second or less.
func (m *Machine) rates() Rates { return Rates{m.probe.ReadBandwidth(), m.probe.MatrixRate()} }

// Noise is how much the machine changed while something was measured.
type Noise struct {
	// Rates are medians over the whole time, Before and After over its first and second half.
	Rates  Rates `json:"rates"`
	Before Rates `json:"first_half"`
	After  Rates `json:"second_half"`
	// Others is the share of the processors' time that other programs used, Stolen the share that a
	// hypervisor gave to others; 0 where the system does not say.
	Others float64 `json:"others"`
	Stolen float64 `json:"stolen"`
}

// The levels above which a measurement does not count.
const (
	// MostDrift is by how much the rates may change from the first half to the second.
	MostDrift = 0.05
	// MostOthers is the largest share of the processors that other programs may use, where the
	// stopwatch reads wall time.
	MostOthers = 0.03
	// MostStolen is the largest share that a hypervisor may take.
	MostStolen = 0.02
)

// Drift returns the larger change of the two rates, as a share.
func (n Noise) Drift() float64 {
	change := func(a, b float64) float64 { return math.Abs(math.Log(b / a)) }
	return max(change(n.Before.Bandwidth, n.After.Bandwidth),
		change(n.Before.FLOPRate, n.After.FLOPRate))
}

// Watch follows the rates of the machine until Stop.
type Watch struct {
	machine *Machine
	samples []Rates
	begun   int // how many samples are older than the last call of Begin
	wall    time.Time
	used    time.Duration // processor time of this process at the beginning
	system  ticks
}

// ends is how often the rates are measured when a watch begins and when it stops.
const ends = 3

// Watch begins to look for noise.
func (m *Machine) Watch() *Watch {
	w := &Watch{machine: m, wall: time.Now(), system: systemTicks()}
	w.used = processTime(w.wall)
	for range ends {
		w.Sample()
	}
	return w
}

// Sample measures the rates.
func (w *Watch) Sample() { w.samples = append(w.samples, w.machine.rates()) }

// Begin starts a part of the watch.
func (w *Watch) Begin() { w.begun = len(w.samples) }

// Rates returns the medians since Begin, of one sample at least.
func (w *Watch) Rates() Rates { return medians(w.samples[w.begun:]) }

// Stop returns what happened since the watch began.
func (w *Watch) Stop() Noise {
	for range ends {
		w.Sample()
	}
	own := (processTime(w.wall) - w.used).Seconds() / time.Since(w.wall).Seconds() / float64(
		runtime.NumCPU())
	stolen, used := systemTicks().since(w.system)
	half := len(w.samples) / 2
	return Noise{
		Rates: medians(w.samples), Before: medians(w.samples[:half]),
		After:  medians(w.samples[half:]),
		Others: max(0, used-own), Stolen: stolen,
	}
}

// processTime returns the processor time of this process. If no clock gives it, it returns the
// wall-clock time since a fixed moment, as if one processor had been busy.
func processTime(since time.Time) time.Duration {
	if used, ok := engine.ProcessTime(); ok {
		return used
	}
	return time.Since(since)
}

func medians(samples []Rates) Rates {
	bandwidths, rates := make([]float64, len(samples)), make([]float64, len(samples))
	for i, s := range samples {
		bandwidths[i], rates[i] = s.Bandwidth, s.FLOPRate
	}
	return Rates{Median(bandwidths), Median(rates)}
}

// Median returns the median of at least one number.
func Median(x []float64) float64 {
	x = slices.Sorted(slices.Values(x))
	return (x[(len(x)-1)/2] + x[len(x)/2]) / 2
}
