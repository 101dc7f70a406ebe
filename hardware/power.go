package hardware

// Power returns the watts that an accelerator draws while steps run that use the given shares of its peak memory bandwidth and of its
// peak arithmetic: what an idle one draws, what one draws that runs kernels at all, and in proportion to what it moves and computes,
// up to its limit.
func (a *Accelerator) Power(bandwidth, arithmetic float64) float64 {
	dynamic := a.PeakPower - a.IdlePower
	p := a.IdlePower + dynamic*(powerRunning+powerMemory*min(1, bandwidth)+powerArithmetic*min(1, arithmetic))
	return min(p, a.PeakPower)
}

// The shares of the span between idle and peak power that running kernels, full bandwidth and full arithmetic draw.
const (
	powerRunning    = 0.30
	powerMemory     = 0.50
	powerArithmetic = 1.0
)
