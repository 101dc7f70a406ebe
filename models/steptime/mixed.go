package steptime

import (
	"math"

	"github.com/llmsim/llmsim/sim"
)

// crowd is the number of decoding sequences at which half of the factor on mixed steps applies: it
// is chosen between the 18 that a vLLM 0.23 server on an H100 has at 8 requests/s, where its steps
// take what a lone prompt and a lone batch take, and the 250 it has when it is saturated, where
// they take longer (tables requests_vllm_0.23).
const crowd = 64

// mixed returns the time t of the accelerators in step s under the factor on mixed steps.
func (c *Clock) mixed(t sim.Time, s *sim.Step) sim.Time {
	f := or1(c.cfg.Factors.Mixed)
	if f == 1 || s.Decodes == 0 || len(s.Prefill) == 0 {
		return t
	}
	tokens := 0
	for i := range s.Prefill {
		tokens += s.Prefill[i].New
	}
	share := float64(s.Decodes) / float64(s.Decodes+crowd)
	share *= float64(tokens) / float64(tokens+s.Decodes)
	return sim.Time(math.Round(float64(t) * (1 + (f-1)*share)))
}
