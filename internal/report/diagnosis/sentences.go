package diagnosis

import (
	"fmt"
	"math"

	"github.com/llmsim/llmsim/internal/units"
	"github.com/llmsim/llmsim/models/steptime"
	"github.com/llmsim/llmsim/scenarios"
)

// phases says what bounds a typical step of each phase.
func phases(prefill, decode *scenarios.Phenomenon) []string {
	var list []string
	if p := prefill; p != nil {
		list = append(list, fmt.Sprintf(
			"Prefill is bound by %s: a prompt of %s alone takes %s, %.0f%% of it %s.",
			BoundWords(p.Bound), units.Plural(p.Tokens, "token"), units.FormatDuration(p.Step/1000),
			100*p.Share, shareWords(p.Bound)))
	}
	if d := decode; d != nil {
		words := units.Plural(d.Batch, "sequence")
		if d.Tokens > d.Batch {
			words += fmt.Sprintf(", drafts included %s,", units.Plural(d.Tokens, "token"))
		}
		beside := ""
		if d.Prompts >= 0.5 {
			words += " and " + units.Plural(int(math.Round(d.Prompts)), "prompt token")
			if d.Plain > 0 {
				beside = "; without prompts " + units.FormatDuration(d.Plain/1000)
			}
		}
		list = append(list, fmt.Sprintf(
			"Decode is bound by %s: a step for %s takes %s on average, %.0f%% of it %s%s.",
			BoundWords(d.Bound), words, units.FormatDuration(d.Step/1000),
			100*d.Share, shareWords(d.Bound), beside))
	}
	return list
}

// boundWords names what bounds a step, and says what that part of it is spent on.
func boundWords(b steptime.Bound) [2]string {
	switch b {
	case steptime.Compute:
		return [2]string{"compute", "in arithmetic"}
	case steptime.Memory:
		return [2]string{"memory bandwidth", "reading weights and KV cache"}
	case steptime.Network:
		return [2]string{"communication", "between accelerators"}
	case steptime.Latency:
		return [2]string{"the fixed time of kernels", "starting kernels"}
	case steptime.Tiles:
		return [2]string{"tiles that its rows do not fill", "computing tiles that are not full"}
	case steptime.Drafts:
		return [2]string{"drafting", "drafting"}
	}
	return [2]string{"the host", "waiting for the host"}
}

// BoundWords names what bounds a step.
func BoundWords(b steptime.Bound) string { return boundWords(b)[0] }

func shareWords(b steptime.Bound) string { return boundWords(b)[1] }
