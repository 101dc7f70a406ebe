package hardware

import "sync"

// Usage is what steps ask of an accelerator, in shares.
type Usage struct {
	// Bandwidth is what all kernels move, over what the memory could move in that time.
	Bandwidth float64
	// Computing is the share of the time for which arithmetic is what a kernel waits for, however
	// little of the peak it reaches.
	Computing float64
	// Arithmetic is what is computed, over what could be in the number format of the products.
	Arithmetic float64
}

// Mixed returns the usage where a share of the time goes as u says, and the rest as other does.
func (u Usage) Mixed(share float64, other Usage) Usage {
	mix := func(a, b float64) float64 { return float64(share*a) + float64((1-share)*b) }
	return Usage{mix(u.Bandwidth, other.Bandwidth), mix(u.Computing, other.Computing),
		mix(u.Arithmetic, other.Arithmetic)}
}

// PowerLaw is what an accelerator draws while steps run, in shares of the span between its idle and
// its peak power: what running steps at all draws, and what each part of a Usage adds at 1.
type PowerLaw struct {
	// Accelerator is the catalogue name of the device that was measured.
	Accelerator string
	// Running, Memory, Computing and Arithmetic are the shares. Together they may be more than 1: a
	// device slows down to keep its limit.
	Running, Memory, Computing, Arithmetic float64
	// Source names the measurements and the error, Date is when the law was fitted (2006-01-02).
	Source, Date string
}

// powerLimit is the share of its peak power that a server of hours draws at most: of ML.ENERGY's,
// those in the largest batches draw 0.93 to 0.97 of it on B200 and up to 0.98 on H100.
const powerLimit = 0.97

var powerLaws = sync.OnceValue(func() []PowerLaw {
	return readFile[[]PowerLaw]("fitted/power.yaml")
})

// PowerLaw returns the law of a, or that of the measured accelerator with the most similar
// generation and bandwidth.
func (a *Accelerator) PowerLaw() *PowerLaw {
	laws := powerLaws()
	best := &laws[0]
	for i := range laws {
		law := &laws[i]
		relative, err := dataSheets().Accelerator(law.Accelerator)
		if err != nil {
			panic(err) // both files are part of the program
		}
		if law.Accelerator == a.Name {
			return law
		}
		if relative.Generation == a.Generation {
			best = law
		}
	}
	return best
}

// Power returns the watts that a draws while steps run that ask so much of it.
func (a *Accelerator) Power(u Usage) float64 { return a.PowerLaw().Watts(a, u) }

// Watts returns what a draws under the law: idle power, and the law's parts in proportion, up to
// the limit.
func (l *PowerLaw) Watts(a *Accelerator, u Usage) float64 {
	// Conversions keep products from being fused with sums, so that figures are the same on any
	// machine.
	share := l.Running + float64(l.Memory*min(1, u.Bandwidth)) +
		float64(l.Computing*min(1, u.Computing)) + float64(l.Arithmetic*min(1, u.Arithmetic))
	span := a.PeakPower - a.IdlePower
	return min(powerLimit*a.PeakPower, a.IdlePower+float64(span*share))
}
