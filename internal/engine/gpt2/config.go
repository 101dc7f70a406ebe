package gpt2

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/llmsim/llmsim/internal/files"
)

// Config is the shape of a GPT-2, as Hugging Face's config.json gives it. Fields that the file
// leaves out are as in GPT-2 small, as in the transformers library.
type Config struct {
	ModelType string `json:"model_type"`
	// Vocab is the number of tokens, Context the longest sequence, Width the length of a hidden
	// state.
	Vocab   int `json:"vocab_size"`
	Context int `json:"n_positions"`
	Width   int `json:"n_embd"`
	Layers  int `json:"n_layer"`
	Heads   int `json:"n_head"`
	// Inner is the width between the two matrices of the MLP; 0 (null in the file) means 4·Width.
	Inner      int     `json:"n_inner"`
	Activation string  `json:"activation_function"`
	Epsilon    float64 `json:"layer_norm_epsilon"`
	// ScaleAttention divides attention scores by √head size, ScaleByLayer also by the number of the
	// layer, from 1.
	ScaleAttention bool `json:"scale_attn_weights"`
	ScaleByLayer   bool `json:"scale_attn_by_inverse_layer_idx"`
	// Tied means that the output head is the token embedding.
	Tied bool `json:"tie_word_embeddings"`
	// EndOfText is the token that ends a text; -1 without one.
	EndOfText int `json:"eos_token_id"`
}

// activations returns the names of the tanh form of GELU, with which GPT-2 was trained.
func activations() []string { return []string{"gelu_new", "gelu_pytorch_tanh", "gelu_fast"} }

// DefaultConfig returns the shape of GPT-2 small (124M parameters).
func DefaultConfig() Config {
	return Config{
		ModelType: "gpt2", Vocab: 50257, Context: 1024, Width: 768, Layers: 12, Heads: 12,
		Activation: "gelu_new", Epsilon: 1e-5, ScaleAttention: true, Tied: true, EndOfText: 50256,
	}
}

// Shapes lists the published sizes by the number of parameters (Radford et al. 2019, table 2).
func Shapes() []string { return []string{"124M", "355M", "774M", "1558M"} }

// ShapeConfig returns the configuration of a published size, which also goes by "small", "medium",
// "large" or "xl", or the configuration in a config.json, whose path ends with ".json".
func ShapeConfig(shape string) (Config, error) {
	c := DefaultConfig()
	switch shape {
	case "124M", "small":
	case "355M", "medium":
		c.Layers, c.Heads, c.Width = 24, 16, 1024
	case "774M", "large":
		c.Layers, c.Heads, c.Width = 36, 20, 1280
	case "1558M", "xl":
		c.Layers, c.Heads, c.Width = 48, 25, 1600
	default:
		if strings.HasSuffix(shape, ".json") {
			return ReadConfig(shape)
		}
		return Config{}, fmt.Errorf(
			"unknown shape %q: want %s (small, medium, large, xl) or the path of a config.json",
			shape, strings.Join(Shapes(), ", "))
	}
	return c.completed(), nil
}

// mostConfig bounds a config.json, in bytes; published ones have about a thousand.
const mostConfig = 1 << 20

// ReadConfig reads and checks a config.json.
func ReadConfig(path string) (Config, error) {
	data, err := files.Read(files.Disk{}, path, mostConfig)
	if err != nil {
		return Config{}, err
	}
	c, err := parseConfig(data)
	if err != nil {
		return Config{}, fmt.Errorf("%s: %w", path, err)
	}
	return c, nil
}

func parseConfig(data []byte) (Config, error) {
	c := DefaultConfig()
	if err := files.CheckFields(data); err != nil {
		return Config{}, err
	}
	if err := json.Unmarshal(data, &c); err != nil {
		return Config{}, err
	}
	c = c.completed()
	return c, c.Check()
}

// completed fills in what follows from the rest.
func (c Config) completed() Config {
	if c.Inner == 0 {
		c.Inner = 4 * c.Width
	}
	return c
}

// Check reports the first field that is out of range or asks for what the engine does not compute.
func (c Config) Check() error {
	if c.ModelType != "gpt2" {
		return fmt.Errorf("model_type is %q; the engine runs gpt2", c.ModelType)
	}
	for _, f := range []struct {
		name  string
		value int
	}{
		{"vocab_size", c.Vocab}, {"n_positions", c.Context}, {"n_embd", c.Width},
		{"n_layer", c.Layers}, {"n_head", c.Heads}, {"n_inner", c.Inner},
	} {
		if f.value < 1 || f.value > math.MaxInt32 {
			return fmt.Errorf("%s is %d; it must be at least 1", f.name, f.value)
		}
	}
	if c.Width%c.Heads != 0 {
		return fmt.Errorf("n_embd %d is not a multiple of n_head %d", c.Width, c.Heads)
	}
	if !slices.Contains(activations(), c.Activation) {
		return fmt.Errorf("activation_function is %q; the engine computes %v", c.Activation,
			activations())
	}
	if !(c.Epsilon >= 0 && c.Epsilon < 1) {
		return fmt.Errorf("layer_norm_epsilon is %v; it must be small and not negative", c.Epsilon)
	}
	return nil
}

// HeadSize returns the width of one attention head.
func (c Config) HeadSize() int { return c.Width / c.Heads }

// Parameters returns the number of weights.
func (c Config) Parameters() int64 {
	d, inner := int64(c.Width), int64(c.Inner)
	block := 4*d + 3*d*d + 3*d + d*d + d + 2*d*inner + inner + d
	n := int64(c.Vocab)*d + int64(c.Context)*d + int64(c.Layers)*block + 2*d
	if !c.Tied {
		n += int64(c.Vocab) * d
	}
	return n
}
