package engines

import (
	"fmt"
	"slices"
	"strings"

	"github.com/llmsim/llmsim/hardware"
	"github.com/llmsim/llmsim/internal/nearest"
)

// without begins what is asked for where a back end shall not be taken.
const without = "no-"

// Backend returns the kernels that the release takes for routed experts of a format. Asked is
// empty, the name of a back end, or names after "no-" with commas between them that leave out the
// back ends that begin with them. It returns false if the registry does not say.
func (r *Release) Backend(format hardware.DType, at Place, asked string) (Backend, bool) {
	if r.Engine == nil {
		return Backend{}, false
	}
	named := asked != "" && !strings.HasPrefix(asked, without)
	var fallback *Backend
	for i := range r.Kernels {
		b := &r.Kernels[i]
		switch {
		case !b.has(format, at.Accelerator.Generation):
		case named && b.Name == asked:
			if fallback == nil {
				fallback = b
			}
		case named || b.Asked || !r.Version.IsZero() && !b.Versions.Has(r.Version) ||
			!b.When.hold(at) || leftOut(b.Name, asked):
		default:
			return *b, true
		}
	}
	if fallback == nil {
		return Backend{}, false
	}
	chosen := *fallback
	chosen.Few = ""
	return chosen, true
}

// has reports whether the back end is for a format on a generation.
func (b *Backend) has(format hardware.DType, generation string) bool {
	return (len(b.Formats) == 0 || slices.Contains(b.Formats, format)) &&
		(len(b.Generations) == 0 || slices.Contains(b.Generations, generation))
}

// leftOut reports whether what is asked for leaves a back end out.
func leftOut(name, asked string) bool {
	for word := range strings.SplitSeq(asked, ",") {
		if prefix, no := strings.CutPrefix(word, without); no && strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return false
}

// CheckExperts returns an error, with the nearest name, for back ends of routed experts that the
// engine does not have.
func (e *Engine) CheckExperts(asked string) error {
	var known []string
	for _, b := range e.Kernels {
		known = append(known, b.Name)
	}
	slices.Sort(known)
	known = slices.Compact(known)
	for word := range strings.SplitSeq(asked, ",") {
		prefix, no := strings.CutPrefix(word, without)
		switch {
		case no && prefix != "" && slices.ContainsFunc(known, func(name string) bool {
			return strings.HasPrefix(name, prefix)
		}), slices.Contains(known, asked):
		case len(known) == 0:
			return fmt.Errorf("found %q; %s has no choice of them", asked, e.Title)
		default:
			return fmt.Errorf("%s", nearest.Unknown("back end of experts in "+e.Title, prefix,
				known))
		}
	}
	return nil
}

// AskedExperts returns what flags and environment variables ask for as the back end of routed
// experts, in the form of Release.Backend; "" where they do not say. A zero version means any.
func (e *Engine) AskedExperts(v Version, given map[string]string) string {
	var left []string
	for i := range e.Switches {
		s := &e.Switches[i]
		if !v.IsZero() && !s.Versions.Has(v) || !s.isSet(given) {
			continue
		}
		if !strings.HasPrefix(s.Experts, without) {
			return s.Experts
		}
		left = append(left, s.Experts)
	}
	slices.Sort(left)
	return strings.Join(slices.Compact(left), ",")
}

// isSet reports whether all of the switch's variables have its values.
func (s *Switch) isSet(given map[string]string) bool {
	for name, value := range s.Set {
		if text, is := given[name]; !is || !strings.EqualFold(text, value) {
			return false
		}
	}
	return true
}

// ExpertsName returns the name that the registry has for a back end of routed experts as flags
// write it, and "" for the engine's own choice.
func ExpertsName(flag string) string {
	switch name := strings.ReplaceAll(strings.ToLower(flag), "_", "-"); name {
	case "auto":
		return ""
	case "deep-gemm":
		return "deepgemm"
	case "vllm-cutlass":
		return "cutlass"
	default:
		return name
	}
}

// ExpertsFlag returns a back end of routed experts as the flags of an engine write it.
func (e *Engine) ExpertsFlag(name string) string {
	if e.Name == "trtllm" {
		return strings.ToUpper(name)
	}
	if name == "deepgemm" {
		return "deep_gemm"
	}
	return strings.ReplaceAll(name, "-", "_")
}
