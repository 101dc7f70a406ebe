package hardware

import "sync"

// PowerLaw is what an accelerator draws while steps run, in shares of the span between its idle and
// its peak power: what running kernels at all draws, and what reading and arithmetic at their full
// rates add.
type PowerLaw struct {
	// Accelerator is the catalogue name of the device that was measured.
	Accelerator string
	// Running, Memory and Arithmetic are the shares. Together they may be more than 1: a device
	// slows down to keep its limit.
	Running, Memory, Arithmetic float64
	// Source names the measurements and the error, Date is when the law was fitted (2006-01-02).
	Source, Date string
}

var powerLaws = sync.OnceValue(func() []PowerLaw {
	return readFile[[]PowerLaw]("fitted/power.yaml")
})

// PowerLaw returns the law of a, or that of the measured accelerator with the most similar
// generation and bandwidth.
func (a *Accelerator) PowerLaw() PowerLaw {
	laws := powerLaws()
	best := laws[0]
	for _, law := range laws {
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

// Power returns the watts that a draws while steps run that use the given shares of its peak memory
// bandwidth and of its peak arithmetic: idle power, and the law's parts in proportion, up to the
// limit.
func (a *Accelerator) Power(bandwidth, arithmetic float64) float64 {
	law := a.PowerLaw()
	dynamic := a.PeakPower - a.IdlePower
	// Conversions keep products from being fused with sums, so that figures are the same on any
	// machine.
	share := law.Running + float64(law.Memory*min(1, bandwidth)) +
		float64(law.Arithmetic*min(1, arithmetic))
	return min(a.PeakPower, a.IdlePower+float64(dynamic*share))
}
