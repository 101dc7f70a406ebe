package gpt2

import (
	"fmt"
	"iter"
	"math"
	"path/filepath"
	"strings"

	"github.com/llmsim/llmsim/internal/engine/safetensors"
)

// tensorSpecs yields the tensors of a model under the names and in the shapes of Hugging Face's
// files (Conv1D weights are [in, out]), without the prefix "transformer.".
func tensorSpecs(c Config) iter.Seq[safetensors.Spec] {
	d, inner := int64(c.Width), int64(c.Inner)
	block := []safetensors.Spec{
		{Name: "ln_1.weight", Shape: []int64{d}}, {Name: "ln_1.bias", Shape: []int64{d}},
		{Name: "attn.c_attn.weight", Shape: []int64{d, 3 * d}},
		{Name: "attn.c_attn.bias", Shape: []int64{3 * d}},
		{Name: "attn.c_proj.weight", Shape: []int64{d, d}},
		{Name: "attn.c_proj.bias", Shape: []int64{d}},
		{Name: "ln_2.weight", Shape: []int64{d}}, {Name: "ln_2.bias", Shape: []int64{d}},
		{Name: "mlp.c_fc.weight", Shape: []int64{d, inner}},
		{Name: "mlp.c_fc.bias", Shape: []int64{inner}},
		{Name: "mlp.c_proj.weight", Shape: []int64{inner, d}},
		{Name: "mlp.c_proj.bias", Shape: []int64{d}},
	}
	return func(yield func(safetensors.Spec) bool) {
		ok := yield(safetensors.Spec{Name: "wte.weight", Shape: []int64{int64(c.Vocab), d}}) &&
			yield(safetensors.Spec{Name: "wpe.weight", Shape: []int64{int64(c.Context), d}})
		for i := 0; ok && i < c.Layers; i++ {
			for _, t := range block {
				ok = ok && yield(safetensors.Spec{Name: fmt.Sprintf("h.%d.%s", i, t.Name),
					Shape: t.Shape})
			}
		}
		ok = ok && yield(safetensors.Spec{Name: "ln_f.weight", Shape: []int64{d}}) &&
			yield(safetensors.Spec{Name: "ln_f.bias", Shape: []int64{d}})
		if ok && !c.Tied {
			yield(safetensors.Spec{Name: "lm_head.weight", Shape: []int64{int64(c.Vocab), d}})
		}
	}
}

// source reads the tensors of a weight file by their names without prefix.
type source struct {
	file   *safetensors.File
	prefix string
}

const transformerPrefix = "transformer."

// openSource opens model.safetensors in dir and checks that it holds exactly the tensors of c, in
// the right shapes, before any of them is read.
func openSource(dir string, c Config) (*source, error) {
	file, err := safetensors.Open(filepath.Join(dir, "model.safetensors"))
	if err != nil {
		return nil, err
	}
	s := &source{file: file}
	if file.Lookup("wte.weight") == nil && file.Lookup(transformerPrefix+"wte.weight") != nil {
		s.prefix = transformerPrefix
	}
	if err := s.check(c); err != nil {
		file.Close()
		return nil, fmt.Errorf("%s: %w", file.Path(), err)
	}
	return s, nil
}

// lookup finds a tensor; the output head never has the prefix.
func (s *source) lookup(name string) *safetensors.Info {
	if name == "lm_head.weight" {
		return s.file.Lookup(name)
	}
	return s.file.Lookup(s.prefix + name)
}

func (s *source) check(c Config) error {
	expected := map[string]bool{"lm_head.weight": true}
	for spec := range tensorSpecs(c) {
		t := s.lookup(spec.Name)
		if t == nil {
			return fmt.Errorf("tensor %q is missing", s.prefix+spec.Name)
		}
		if fmt.Sprint(t.Shape) != fmt.Sprint(spec.Shape) {
			return fmt.Errorf("tensor %q has shape %v; config.json asks for %v", t.Name, t.Shape,
				spec.Shape)
		}
		if !t.DType.IsFloat() {
			return fmt.Errorf("tensor %q is stored as %s; F32, F16 and BF16 can be read", t.Name,
				t.DType)
		}
		expected[t.Name] = true
	}
	for _, t := range s.file.Tensors() {
		if !expected[t.Name] && !isMask(t.Name) {
			return fmt.Errorf("tensor %q has no place in a GPT-2 of %d layers", t.Name, c.Layers)
		}
	}
	return nil
}

// isMask reports whether a tensor is one of the constant causal masks that older files hold.
func isMask(name string) bool {
	return strings.HasSuffix(name, ".attn.bias") || strings.HasSuffix(name, ".attn.masked_bias")
}

// read returns the values of a tensor, all of them finite.
func (s *source) read(name string) ([]float32, error) {
	t := s.lookup(name)
	values := make([]float32, t.Elements())
	if err := s.file.Float32s(t, values); err != nil {
		return nil, err
	}
	for i, v := range values {
		if math.IsNaN(float64(v)) || math.IsInf(float64(v), 0) {
			return nil, fmt.Errorf("%s: tensor %q has the value %v at element %d of %d",
				s.file.Path(), t.Name, v, i, len(values))
		}
	}
	return values, nil
}
