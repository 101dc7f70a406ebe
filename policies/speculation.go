package policies

import "github.com/llmsim/llmsim/policies/speculation"

// draftLengths returns the policies of package speculation for how many tokens are drafted, the
// default first.
func draftLengths() []Policy[speculation.Lengths] {
	return []Policy[speculation.Lengths]{fixedLength(), optimalLength(), adaptiveLength(),
		lengthPerRequest(), lengthByBatch()}
}

func fixedLength() Policy[speculation.Lengths] {
	return Policy[speculation.Lengths]{
		Name:   "fixed",
		Doc:    "as many tokens as the scenario allows, always",
		Source: "Leviathan et al. 2023 (γ); Chen et al. 2023 (K)",
		New: func(Deployment, Values) (speculation.Lengths, error) {
			return speculation.Fixed{},
				nil
		},
	}
}

func optimalLength() Policy[speculation.Lengths] {
	return Policy[speculation.Lengths]{
		Name: "optimal",
		Doc: "the length that gives most tokens a second, from the true acceptance and " +
			"predicted step times; none where arithmetic binds",
		Source: "Leviathan et al. 2023, section 3.5, with step times in place of c",
		New: func(Deployment, Values) (speculation.Lengths, error) {
			return speculation.Optimal{}, nil
		},
	}
}

func adaptiveLength() Policy[speculation.Lengths] {
	return Policy[speculation.Lengths]{
		Name:   "adaptive",
		Doc:    "as optimal, from the acceptance observed over all requests",
		Source: "SmartSpec: Liu et al. 2024, arXiv:2406.14066, section 4",
		Params: []Param{
			initialAcceptance(),
			{Name: "memory", Doc: "steps that are remembered, later ones more", Default: "100"},
		},
		New: func(_ Deployment, v Values) (speculation.Lengths, error) {
			return speculation.NewAdaptive(v.Number("initial"), v.Count("memory"))
		},
	}
}

func lengthPerRequest() Policy[speculation.Lengths] {
	return Policy[speculation.Lengths]{
		Name: "per-request",
		Doc:  "for each request the length that its own acceptance so far is worth",
		Params: []Param{
			initialAcceptance(),
			{Name: "weight", Doc: "drafted tokens for which the initial acceptance counts",
				Default: "2"},
		},
		New: func(_ Deployment, v Values) (speculation.Lengths, error) {
			return speculation.NewPerRequest(v.Number("initial"), v.Count("weight"))
		},
	}
}

// initialAcceptance is high, so that drafting is tried before it is given up.
func initialAcceptance() Param {
	return Param{Name: "initial", Doc: "the acceptance rate expected before any was seen",
		Default: "0.9", Kind: Number}
}

func lengthByBatch() Policy[speculation.Lengths] {
	return Policy[speculation.Lengths]{
		Name: "by-batch",
		Doc:  "a length for each size of the batch",
		Source: "the default steps are SGLang's: sglang/srt/speculative/adaptive_spec_params.py, " +
			"2026; vLLM V0 had speculative_disable_by_batch_size",
		Params: []Param{{
			Name: "schedule", Doc: "from how many sequences on how many tokens are drafted, at " +
				"most the scenario's", Default: "1:7, 8:3, 32:1, 64:0", Kind: Word,
		}},
		New: func(_ Deployment, v Values) (speculation.Lengths, error) {
			lengths, err := speculation.NewByBatch(v.Word("schedule"))
			if err != nil {
				return nil, &ParamError{"schedule", err.Error()}
			}
			return lengths, nil
		},
	}
}
