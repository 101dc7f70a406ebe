package scenarios

import (
	"github.com/llmsim/llmsim/models/steptime"
	"github.com/llmsim/llmsim/sim"
)

// StepTimes are the times of a step, of one stage where there is a pipeline. A step with prompts
// and answers takes the larger of the two fixed times.
type StepTimes struct {
	Prefill PrefillTimes `json:"prefill" required:"true" jsonschema:"Steps that compute prompts."`
	Decode  DecodeTimes  `json:"decode" required:"true" jsonschema:"Steps that give each sequence one token."`
}

// PrefillTimes are those of prompts.
type PrefillTimes struct {
	Step   Span `json:"step" required:"true" above:"0" jsonschema:"Fixed time."`
	Token  Span `json:"token,omitempty" min:"0" jsonschema:"Time for each prompt token."`
	Square Span `json:"square,omitempty" min:"0" jsonschema:"Time for each pair of tokens of a prompt: n² pairs for n tokens."`
}

// DecodeTimes are those of answers.
type DecodeTimes struct {
	Step    Span `json:"step,omitempty" min:"0" jsonschema:"Fixed time."`
	Token   Span `json:"token,omitempty" min:"0" jsonschema:"Time for each sequence."`
	Context Span `json:"context,omitempty" min:"0" jsonschema:"Time for each token of the sequences' contexts."`
}

// given returns the step times as the clock takes them, or nil.
func (s *StepTimes) given() *steptime.Given {
	if s == nil {
		return nil
	}
	return &steptime.Given{
		PrefillStep: sim.Time(s.Prefill.Step), PrefillToken: sim.Time(s.Prefill.Token),
		PrefillSquare: sim.Time(s.Prefill.Square),
		DecodeStep:    sim.Time(s.Decode.Step), DecodeToken: sim.Time(s.Decode.Token),
		DecodeContext: sim.Time(s.Decode.Context),
	}
}
