package steptime

import (
	"math"

	"github.com/llmsim/llmsim/sim"
)

// Given holds step times from a measurement or a published fit, in place of predictions. A step
// takes the fixed time of its phase, the larger one if it has both phases, and the times of its
// tokens. Zhong et al. fit this form (DistServe, OSDI 2024, appendix A).
type Given struct {
	// PrefillStep is the fixed time of a step with prompts, above 0. PrefillToken is added for each
	// prompt token, and PrefillSquare for each pair of them: n² for a prompt of n tokens, however
	// it is cut into chunks.
	PrefillStep, PrefillToken, PrefillSquare sim.Time
	// DecodeStep is the fixed time of a step that decodes, above 0. DecodeToken is added for each
	// sequence (each token, where drafts are verified), and DecodeContext for each token attended
	// to.
	DecodeStep, DecodeToken, DecodeContext sim.Time
}

// duration returns the time of s.
func (g *Given) duration(s *sim.Step) sim.Time {
	var fixed, rest sim.Time
	for i := range s.Prefill {
		n, cached := sim.Time(s.Prefill[i].Rows()), sim.Time(s.Prefill[i].Cached)
		fixed = g.PrefillStep
		rest += n*g.PrefillToken + n*(n+2*cached)*g.PrefillSquare
	}
	if s.Decodes > 0 {
		fixed = max(fixed, g.DecodeStep)
		rest += sim.Time(s.DecodeTokens)*g.DecodeToken + sim.Time(s.Context)*g.DecodeContext
	}
	return fixed + rest
}

// decode returns the form of a step in which n sequences decode.
func (g *Given) decode(n int) sim.Affine {
	return sim.Affine{Base: g.DecodeStep + sim.Time(n)*g.DecodeToken, PerToken: g.DecodeContext,
		Through: math.MaxInt64}
}
