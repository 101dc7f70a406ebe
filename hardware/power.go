package hardware

import "sync"

// Usage says how much steps use an accelerator, in shares of its limits.
type Usage struct {
	// Bandwidth is the number of bytes that all kernels move, divided by what the memory could move
	// in that time.
	Bandwidth float64
	// Computing is the share of the time in which kernels are bound by arithmetic, even if they
	// reach only a small part of the peak.
	Computing float64
	// Arithmetic is the number of operations, divided by the number that the peak rate of the
	// products' number format allows.
	Arithmetic float64
}

// Mixed returns the usage if it is u for a share of the time, and other for the rest.
func (u Usage) Mixed(share float64, other Usage) Usage {
	mix := func(a, b float64) float64 { return float64(share*a) + float64((1-share)*b) }
	return Usage{mix(u.Bandwidth, other.Bandwidth), mix(u.Computing, other.Computing),
		mix(u.Arithmetic, other.Arithmetic)}
}

// PowerLaw predicts the power of an accelerator while steps run. Its terms are shares of the
// difference between peak and idle power: a fixed share while any step runs, and for each part of a
// Usage the share that it adds at 1.
type PowerLaw struct {
	// Accelerator is the catalogue name of the device that was measured.
	Accelerator string
	// Running, Memory, Computing and Arithmetic are the shares. Together they may be more than 1,
	// since a device slows down to keep its limit.
	Running, Memory, Computing, Arithmetic float64
	// Source names the measurements and the error, and Date is the day of the fit (2006-01-02).
	Source, Date string
}

// powerLimit is the largest share of its peak power that an accelerator draws over hours. In the
// measurements of ML.ENERGY, the largest batches draw 0.93 to 0.97 of it on B200, and up to 0.98 on
// H100.
const powerLimit = 0.97

var powerLaws = sync.OnceValue(func() []PowerLaw {
	return readFile[[]PowerLaw]("fitted/power.yaml")
})

// PowerLaw returns the law of a, or the law of the measured accelerator with the most similar
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

// Power returns the power of a in watts while steps run that use it as u says.
func (a *Accelerator) Power(u Usage) float64 { return a.PowerLaw().Watts(a, u) }

// Watts returns the power of a in watts under the law: idle power, and the parts of the law in
// proportion, up to the limit.
func (l *PowerLaw) Watts(a *Accelerator, u Usage) float64 {
	// The conversions keep products from being fused with sums, so that figures are the same on
	// every machine.
	share := l.Running + float64(l.Memory*min(1, u.Bandwidth)) +
		float64(l.Computing*min(1, u.Computing)) + float64(l.Arithmetic*min(1, u.Arithmetic))
	span := a.PeakPower - a.IdlePower
	return min(powerLimit*a.PeakPower, a.IdlePower+float64(span*share))
}
