package policies

import "github.com/llmsim/llmsim/policies/speculation"

// draftLengths returns the policies of package speculation for how many tokens are drafted, the
// default first.
func draftLengths() []Policy[speculation.Lengths] {
	return []Policy[speculation.Lengths]{
		{
			Name: "fixed", Doc: "as many tokens as the scenario allows, always",
			Source: "Leviathan et al. 2023 (γ); Chen et al. 2023 (K)",
			Settings: plain[speculation.Lengths]{func(Deployment) speculation.Lengths {
				return speculation.Fixed{}
			}},
		},
		{
			Name:   "optimal",
			Doc:    `the length that gives most tokens a second, from the true acceptance and predicted step times; none where arithmetic binds`,
			Source: "Leviathan et al. 2023, section 3.5, with step times in place of c",
			Settings: plain[speculation.Lengths]{func(Deployment) speculation.Lengths {
				return speculation.Optimal{}
			}},
		},
		{
			Name: "adaptive", Doc: "as optimal, from the acceptance observed over all requests",
			Source:   "SmartSpec: Liu et al. 2024, arXiv:2406.14066, section 4",
			Settings: adaptiveLength{},
		},
		{
			Name:     "per-request",
			Doc:      "for each request the length that its own acceptance so far is worth",
			Settings: lengthPerRequest{},
		},
		{
			Name: "by-batch", Doc: "a length for each size of the batch",
			Source:   `the default steps are SGLang's: sglang/srt/speculative/adaptive_spec_params.py, 2026; vLLM V0 had speculative_disable_by_batch_size`,
			Settings: lengthByBatch{},
		},
	}
}

// expected is the acceptance before any was seen: high, so that drafting is tried before it is
// given up.
type expected struct {
	Initial float64 `json:"initial" default:"0.9" jsonschema:"the acceptance rate expected before any was seen"`
}

type adaptiveLength struct {
	expected
	Memory int `json:"memory" default:"100" jsonschema:"steps that are remembered, later ones more"`
}

func (s adaptiveLength) New(Deployment) (speculation.Lengths, error) {
	return speculation.NewAdaptive(s.Initial, s.Memory)
}

type lengthPerRequest struct {
	expected
	Weight int `json:"weight" default:"2" jsonschema:"drafted tokens for which the initial acceptance counts"`
}

func (s lengthPerRequest) New(Deployment) (speculation.Lengths, error) {
	return speculation.NewPerRequest(s.Initial, s.Weight)
}

type lengthByBatch struct {
	Schedule string `json:"schedule" default:"1:7, 8:3, 32:1, 64:0" jsonschema:"from how many sequences on how many tokens are drafted, at most the scenario's"`
}

func (s lengthByBatch) New(Deployment) (speculation.Lengths, error) {
	lengths, err := speculation.NewByBatch(s.Schedule)
	if err != nil {
		return nil, &ParamError{"schedule", err.Error()}
	}
	return lengths, nil
}
