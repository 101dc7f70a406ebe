package models

import (
	"fmt"
	"path"
	"regexp"
	"regexp/syntax"
	"strconv"
	"strings"

	"github.com/llmsim/llmsim/hardware"
)

// modulePattern names modules of a checkpoint: one and all within it ("model.layers.0.self_attn"),
// the last parts of some ("gate", "lm_head"), a pattern with * as ModelOpt writes it, a regular
// expression after "re:" as compressed-tensors does, or the class "Linear", which all matrices are.
type modulePattern struct {
	text string
	// expression is the part after "re:"; nil for other patterns.
	expression *regexp.Regexp
}

// modulePrefixes matches the text before "layers" in the checkpoints of different families.
var modulePrefixes = regexp.MustCompile(`^(model\.|language_model\.|backbone\.|transformer\.)+`)

// newModulePattern returns the pattern of a text, or an error for a text that is no regular
// expression.
func newModulePattern(text string) (modulePattern, error) {
	if source, found := strings.CutPrefix(text, "re:"); found {
		expression, err := compile(source)
		return modulePattern{text, expression}, err
	}
	return modulePattern{text: modulePrefixes.ReplaceAllString(text, "")}, nil
}

// compile returns an expression that is matched from the start of a name. One that begins with .*
// may start anywhere, which is found much faster by what follows.
func compile(source string) (*regexp.Regexp, error) {
	tree, err := syntax.Parse(source, syntax.Perl)
	if err == nil && tree.Op == syntax.OpConcat && tree.Sub[0].Op == syntax.OpStar &&
		tree.Sub[0].Sub[0].Op == syntax.OpAnyCharNotNL {
		tree.Sub = tree.Sub[1:]
		return regexp.Compile(tree.String())
	}
	return regexp.Compile("^(?:" + source + ")")
}

// layer returns the number of the layer whose modules are named, or false where modules of several
// layers may be.
func (p modulePattern) layer() (int, bool) {
	rest, found := strings.CutPrefix(p.text, "layers.")
	if !found {
		return 0, false
	}
	end := strings.IndexFunc(rest, func(r rune) bool { return r < '0' || r > '9' })
	if end < 0 {
		end = len(rest)
	}
	n, err := strconv.Atoi(rest[:end])
	return n, err == nil && (end == len(rest) || rest[end] == '.')
}

// matches reports whether the pattern names a module such as "layers.3.self_attn.q_proj".
func (p modulePattern) matches(module string) bool {
	switch {
	case p.text == "Linear":
		return true
	case p.expression != nil:
		return p.expression.MatchString(module) || p.expression.MatchString("model."+module) ||
			p.expression.MatchString("model.language_model."+module) ||
			p.expression.MatchString("language_model.model."+module)
	// which matches dots too; path.Match stops at slashes only
	case strings.Contains(p.text, "*"):
		matched, err := path.Match(p.text, module)
		return err == nil && matched
	}
	return strings.Contains("."+module+".", "."+p.text+".")
}

// modulePatterns are patterns by the layer that they name, so that long lists are not searched for
// each module.
type modulePatterns struct {
	byLayer map[int][]modulePattern
	all     []modulePattern
}

func (ps *modulePatterns) add(p modulePattern) {
	if n, one := p.layer(); one {
		if ps.byLayer == nil {
			ps.byLayer = map[int][]modulePattern{}
		}
		ps.byLayer[n] = append(ps.byLayer[n], p)
		return
	}
	ps.all = append(ps.all, p)
}

// match reports whether one of the patterns names one of the modules of a layer.
func (ps *modulePatterns) match(layer int, modules []string) bool {
	return anyMatches(ps.byLayer[layer], modules) || anyMatches(ps.all, modules)
}

// empty reports whether there are no patterns.
func (ps *modulePatterns) empty() bool { return len(ps.byLayer) == 0 && len(ps.all) == 0 }

// anyMatches reports whether one of the patterns names one of the modules.
func anyMatches(patterns []modulePattern, modules []string) bool {
	for _, p := range patterns {
		for _, m := range modules {
			if p.matches(m) {
				return true
			}
		}
	}
	return false
}

// checkpointModules are the names of the modules that linear layers are made of, without
// "layers.N.", as families write them.
var checkpointModules = map[string][]string{
	"qkv": {"self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj", "self_attn.qkv_proj",
		"mixer.q_proj"},
	"gate": {"self_attn.g_proj", "self_attn.q_proj"},
	"out":  {"self_attn.o_proj", "mixer.o_proj", "linear_attn.out_proj", "mixer.out_proj"},
	"q":    {"self_attn.q_proj"}, "q_a": {"self_attn.q_a_proj"}, "q_b": {"self_attn.q_b_proj"},
	"kv_a": {"self_attn.kv_a_proj_with_mqa"}, "kv_b": {"self_attn.kv_b_proj"},
	"index_q": {"self_attn.indexer.wq_b"}, "index_k": {"self_attn.indexer.wk"},
	"in_qkvz": {"linear_attn.in_proj_qkvz", "linear_attn.in_proj_qkv", "linear_attn.in_proj_z"},
	"in_ba":   {"linear_attn.in_proj_ba", "linear_attn.in_proj_b", "linear_attn.in_proj_a"},
	"in_qkv":  {"self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj"},
	"in_beta": {"self_attn.b_proj"},
	"decay_a": {"self_attn.f_a_proj"}, "decay_b": {"self_attn.f_b_proj"},
	"gate_a": {"self_attn.g_a_proj"}, "gate_b": {"self_attn.g_b_proj"},
	"in_proj": {"mixer.in_proj", "mamba.in_proj"},
	"gate_up": {"mlp.gate_proj", "mlp.up_proj", "mlp.gate_up_proj"},
	"up":      {"mlp.up_proj", "mixer.up_proj"}, "down": {"mlp.down_proj", "mixer.down_proj"},
	"expert_gate_up": {"mlp.experts.0.gate_proj", "mlp.experts.0.up_proj",
		"mlp.experts.gate_up_proj",
		"block_sparse_moe.experts.0.w1", "block_sparse_moe.experts.0.w3"},
	"expert_up": {"mixer.experts.0.up_proj"},
	"expert_down": {"mlp.experts.0.down_proj", "mixer.experts.0.down_proj",
		"block_sparse_moe.experts.0.w2"},
	"latent_down":    {"mixer.fc1_latent_proj", "mlp.routed_expert_down_proj"},
	"latent_up":      {"mixer.fc2_latent_proj", "mlp.routed_expert_up_proj"},
	"shared_gate_up": {"mlp.shared_experts.gate_proj", "mlp.shared_expert.gate_proj"},
	"shared_up":      {"mixer.shared_experts.up_proj"},
	"shared_down": {"mlp.shared_experts.down_proj", "mlp.shared_expert.down_proj",
		"mixer.shared_experts.down_proj"},
}

// apply sets the formats of the matrices of all layers.
func (q *quantisation) apply(s *shape, layers []Group) {
	same, all := map[string]*Formats{}, map[Format]bool{}
	for i := range layers {
		f := Formats{}
		for _, p := range layers[i].parts() {
			for _, l := range p.linears(s.Hidden, 1) {
				if l.Quantised {
					f[l.Name] = q.format(&l, i, s.modulesOf(i, l.Name), s.DType)
					all[f[l.Name]] = true
				}
			}
		}
		key := fmt.Sprint(f)
		if same[key] == nil {
			same[key] = &f
		}
		layers[i].Formats = same[key]
	}
	for f := range all {
		if len(all) > 1 || f != standardFormat(f.DType) {
			return
		}
		s.DType = f.DType
	}
	for i := range layers { // all as deployments store that number format
		layers[i].Formats = nil
	}
}

// modulesOf returns the names of the modules of a linear layer.
func (s *shape) modulesOf(layer int, linear string) []string {
	names, own := s.modules[linear]
	if !own {
		names = checkpointModules[linear]
	}
	modules := make([]string, len(names))
	for i, n := range names {
		modules[i] = fmt.Sprintf("layers.%d.%s", layer, n)
	}
	return modules
}

// format returns how a matrix with those modules is stored where tensors are as wide.
func (q *quantisation) format(l *Linear, layer int, modules []string, wide hardware.DType) Format {
	plain := Format{DType: wide, Bits: 8 * wideBytes(wide)}
	for _, g := range q.byModule {
		if g.targets.match(layer, modules) {
			return g.format
		}
	}
	if !q.only.empty() && !q.only.match(layer, modules) || q.excluded.match(layer, modules) ||
		q.expertsOnly && l.Part != ExpertPart {
		return plain
	}
	for _, g := range q.groups {
		if g.targets.empty() || g.targets.match(layer, modules) {
			return g.format
		}
	}
	return plain
}

// mostUsed returns the number format in which most weights of the layers are stored.
func mostUsed(a *Architecture, layers []Group, otherwise hardware.DType) hardware.DType {
	counts := map[hardware.DType]int64{}
	best := otherwise
	for _, g := range layers {
		if g.Formats == nil {
			continue
		}
		for _, p := range g.parts() {
			for _, l := range p.linears(a.Hidden, 1) {
				if l.Quantised {
					d := (*g.Formats)[l.Name].DType
					if counts[d] += l.Weights(); counts[d] > counts[best] {
						best = d
					}
				}
			}
		}
	}
	return best
}

// patterns reads lists of modules.
func (c quantSection) patterns(spellings ...string) modulePatterns {
	var ps modulePatterns
	for _, name := range spellings {
		for _, w := range c.words(name) {
			p, err := newModulePattern(w)
			if err != nil {
				c.fail("%s: %w", name, err)
				return ps
			}
			ps.add(p)
		}
	}
	return ps
}

// pattern returns one pattern.
func (c quantSection) pattern(text string) modulePatterns {
	var ps modulePatterns
	p, err := newModulePattern(text)
	if err != nil {
		c.fail("%w", err)
		return ps
	}
	ps.add(p)
	return ps
}
