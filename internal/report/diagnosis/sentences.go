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

// BoundWords names what bounds a step.
func BoundWords(b steptime.Bound) string {
	switch b {
	case steptime.Compute:
		return "compute"
	case steptime.Memory:
		return "memory bandwidth"
	case steptime.Network:
		return "communication"
	case steptime.Latency:
		return "the fixed time of kernels"
	case steptime.Tiles:
		return "tiles that its rows do not fill"
	case steptime.Drafts:
		return "drafting"
	}
	return "the host"
}

// shareWords says what the bound part of a step is spent on.
func shareWords(b steptime.Bound) string {
	switch b {
	case steptime.Compute:
		return "in arithmetic"
	case steptime.Memory:
		return "reading weights and KV cache"
	case steptime.Network:
		return "between accelerators"
	case steptime.Latency:
		return "starting kernels"
	case steptime.Tiles:
		return "computing tiles that are not full"
	case steptime.Drafts:
		return "drafting"
	}
	return "waiting for the host"
}
