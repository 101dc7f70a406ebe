package gpt2

import (
	"context"
	"encoding/json"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/llmsim/llmsim/internal/engine/safetensors"
	"github.com/llmsim/llmsim/internal/files"
)

// WriteRandom writes config.json and model.safetensors of a model with random weights to dir, which
// it makes. The weights are drawn as GPT-2's are before training (Radford et al. 2019, section
// 2.3): normal with standard deviation 0.02, 0.01 for positions, and 1/√(2·layers) of that where a
// block adds to the residual stream. The same seed gives the same files. It ends with the error of
// ctx where that is done, and then leaves no weights.
func WriteRandom(ctx context.Context, dir string, c Config, seed uint64) error {
	c = c.completed()
	if err := c.Check(); err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	text, err := json.MarshalIndent(c, "", "  ")
	if err != nil {
		return err
	}
	if err := files.WriteBytes(filepath.Join(dir, "config.json"), append(text, '\n'),
		0o666); err != nil {
		return err
	}
	rng := rand.New(rand.NewPCG(seed, 0))
	specs := slices.Collect(tensorSpecs(c))
	return safetensors.Create(filepath.Join(dir, "model.safetensors"), specs,
		func(i int, row []float32) error {
			mean, deviation := initial(specs[i].Name, c.Layers)
			for j := range row {
				row[j] = mean
				if deviation > 0 {
					row[j] += float32(rng.NormFloat64() * deviation)
				}
			}
			return ctx.Err()
		})
}

// initial returns mean and standard deviation of a tensor's initial values.
func initial(name string, layers int) (mean float32, deviation float64) {
	switch {
	case strings.HasSuffix(name, ".bias"):
		return 0, 0
	case strings.Contains(name, "ln_"):
		return 1, 0
	case strings.HasSuffix(name, "c_proj.weight"):
		return 0, 0.02 / math.Sqrt(2*float64(layers))
	case name == "wpe.weight":
		return 0, 0.01
	}
	return 0, 0.02
}
