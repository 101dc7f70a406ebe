package engines

import (
	"fmt"
	"slices"
	"strings"

	"github.com/llmsim/llmsim/hardware"
	"github.com/llmsim/llmsim/internal/nearest"
)

// Operator is a part of a step for which an engine chooses among back ends, which are libraries of
// kernels.
type Operator string

// The operators with back ends. Attention is Prefill and Decode together: a rule for it holds for
// both.
const (
	Experts   Operator = "experts"   // the matrix products of routed experts
	Products  Operator = "products"  // all other matrix products
	Attention Operator = "attention" // attention of any tokens
	Prefill   Operator = "prefill"   // the attention of prompts
	Decode    Operator = "decode"    // the attention of sequences that decode
	Exchange  Operator = "exchange"  // the exchange of tokens between data-parallel ranks
)

// Operators returns the operators that have one back end each.
func Operators() []Operator { return []Operator{Experts, Products, Prefill, Decode, Exchange} }

// Asks returns the operators whose back end a scenario may name: Attention stands for two.
func Asks() []Operator { return append(Operators(), Attention) }

// Key returns the key of a scenario that names the back end of the operator.
func (o Operator) Key() string { return "engine." + string(o) + "-backend" }

// Title returns the operator in words.
func (o Operator) Title() string {
	switch o {
	case Products:
		return "matrix products"
	case Prefill:
		return "attention of prompts"
	case Decode:
		return "attention of decoding"
	case Exchange:
		return "the exchange of experts' tokens"
	}
	return string(o)
}

// is reports whether a rule or a switch for o says something of other.
func (o Operator) is(other Operator) bool {
	if o == "" {
		o = Experts
	}
	half := func(x Operator) bool { return x == Prefill || x == Decode }
	return o == other || o == Attention && half(other) || other == Attention && half(o)
}

// without begins what is asked for where a back end shall not be taken.
const without = "no-"

// Backend returns the kernels that the release takes for an operator. The format is the KV
// cache's for attention, and else the weights'. Asked is empty, the name of a back end, or names
// after "no-" with commas between them that leave out the back ends that begin with them. It
// returns false if the registry does not say.
func (r *Release) Backend(of Operator, format hardware.DType, at Place, asked string) (Backend,
	bool) {
	if r.Engine == nil {
		return Backend{}, false
	}
	named := asked != "" && !strings.HasPrefix(asked, without)
	var fallback *Backend
	for i := range r.Kernels {
		b := &r.Kernels[i]
		switch {
		case !b.Of.is(of) || !b.has(format, at):
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

// Kin returns the back end whose servers were measured in place of one: the own choice of the
// nearest measured version. It is empty if the given one is the own choice of some measured version
// of the preset, or if the registry does not say what the nearest one takes.
func (r *Release) Kin(of Operator, format hardware.DType, at Place, name string) (kin string) {
	near := r.nearest(r.Preset, r.Version)
	for _, e := range r.Evidence {
		if e.Preset != r.Preset {
			continue
		}
		measured := Release{Engine: r.Engine, Version: e.Version}
		own, _ := measured.Backend(of, format, at, "")
		if own.Name == name {
			return ""
		}
		if e.Version == near {
			kin = own.Name
		}
	}
	return kin
}

// has reports whether the back end is for a format and a kind of attention on a generation.
func (b *Backend) has(format hardware.DType, at Place) bool {
	return (len(b.Formats) == 0 || slices.Contains(b.Formats, format)) &&
		(len(b.Generations) == 0 || slices.Contains(b.Generations, at.Accelerator.Generation)) &&
		(b.Attention == "" || b.Attention == at.Attention)
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

// CheckBackend returns an error, with the nearest name, for back ends of an operator that the
// engine does not have.
func (e *Engine) CheckBackend(of Operator, asked string) error {
	var known []string
	for i := range e.Kernels {
		if b := &e.Kernels[i]; b.Of.is(of) {
			known = append(known, b.Name)
		}
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
			return fmt.Errorf("%s", nearest.Unknown("back end of "+of.Title()+" in "+e.Title,
				prefix, known))
		}
	}
	return nil
}

// AskedBackend returns what flags and environment variables ask for as the back end of an operator,
// in the form of Release.Backend; "" where they do not say. A zero version means any.
func (e *Engine) AskedBackend(of Operator, v Version, given map[string]string) string {
	var left []string
	for i := range e.Switches {
		s := &e.Switches[i]
		if !s.Of.is(of) || !v.IsZero() && !s.Versions.Has(v) || !s.isSet(given) {
			continue
		}
		if !strings.HasPrefix(s.Backend, without) {
			return s.Backend
		}
		left = append(left, s.Backend)
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

// BackendName returns the name that the registry has for a back end as flags write it, and "" for
// the engine's own choice. Up to 0.11 vLLM's variable told of some that they are of version 1.
func BackendName(flag string) string {
	name := strings.ReplaceAll(strings.ToLower(flag), "_", "-")
	switch name = strings.TrimSuffix(name, "-vllm-v1"); name {
	case "auto":
		return ""
	case "deep-gemm":
		return "deepgemm"
	case "vllm-cutlass":
		return "cutlass"
	case "flashinfer-all2allv":
		return "flashinfer-nvlink-two-sided"
	}
	return name
}

// BackendFlag returns a back end as the flags of an engine write it.
func (e *Engine) BackendFlag(of Operator, name string) string {
	switch {
	case e.Name == "trtllm":
		return strings.ToUpper(name)
	case name == "deepgemm":
		return "deep_gemm"
	case e.Name == "vllm" && of == Attention:
		name = strings.ToUpper(name)
	}
	return strings.ReplaceAll(name, "-", "_")
}
