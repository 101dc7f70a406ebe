package steptime

import "github.com/llmsim/llmsim/hardware"

// linearAttention prices linear attention as the engine's kernels were measured (see
// hardware.RecurrentKernel), where they were: chunks of a prompt follow one another, and states are
// read and written at a rate of their own.
func (c *Clock) linearAttention(a *attention) error {
	if a.Recurrent == "" || c.engine.Roofline {
		return nil
	}
	k, err := hardware.FindRecurrent(c.engine.Kernels, string(a.Recurrent), c.cfg.Accelerator)
	if err != nil || k == nil {
		return err
	}
	a.prefillCompute, a.decodeRate = k.Compute/or1(c.cfg.Factors.Prompts), c.bandwidth*k.Memory
	a.perToken = times(a.count, float64(k.Serial))
	a.decodeKernel, a.prefillKernel = float64(k.Decode), float64(k.Prefill)
	return nil
}
