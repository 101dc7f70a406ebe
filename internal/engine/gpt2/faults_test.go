package gpt2

import (
	"bytes"
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/llmsim/llmsim/internal/engine/kernels"
	"github.com/llmsim/llmsim/internal/testkit"
)

// copyFixture copies the tiny model to a folder of its own, so that a test can damage it.
func copyFixture(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{"config.json", "model.safetensors"} {
		data := testkit.Read(t, filepath.Join(fixture("tiny"), name))
		testkit.OK(t, os.WriteFile(filepath.Join(dir, name), data, 0o600))
	}
	return dir
}

// replaceIn changes old to new, of the same length where the file has offsets.
func replaceIn(t *testing.T, path, old, with string) {
	t.Helper()
	data := testkit.Read(t, path)
	changed := bytes.Replace(data, []byte(old), []byte(with), 1)
	if bytes.Equal(changed, data) {
		t.Fatalf("%s does not hold %q", path, old)
	}
	testkit.OK(t, os.WriteFile(path, changed, 0o600))
}

func TestDamagedModelsAreErrors(t *testing.T) {
	config := func(old, with string) func(*testing.T, string) {
		return func(t *testing.T, dir string) {
			replaceIn(t, filepath.Join(dir, "config.json"), old, with)
		}
	}
	weights := func(old, with string) func(*testing.T, string) {
		return func(t *testing.T, dir string) {
			replaceIn(t, filepath.Join(dir, "model.safetensors"), old, with)
		}
	}
	poison := func(value float32) func(*testing.T, string) {
		return func(t *testing.T, dir string) {
			path := filepath.Join(dir, "model.safetensors")
			data := testkit.Read(t, path)
			bits := math.Float32bits(value)
			copy(data[len(data)-4:], []byte{byte(bits), byte(bits >> 8), byte(bits >> 16),
				byte(bits >> 24)})
			testkit.OK(t, os.WriteFile(path, data, 0o600))
		}
	}
	for name, c := range map[string]struct {
		damage func(t *testing.T, dir string)
		want   string
	}{
		"no config": {func(t *testing.T, dir string) {
			os.Remove(filepath.Join(dir, "config.json"))
		}, "config.json"},
		"not JSON":       {config("{", "["), "config.json"},
		"other family":   {config(`"gpt2"`, `"llama"`), "llama"},
		"heads":          {config(`"n_head": 4`, `"n_head": 5`), "not a multiple of n_head 5"},
		"no heads":       {config(`"n_head": 4`, `"n_head": 0`), "n_head is 0"},
		"negative":       {config(`"n_layer": 2`, `"n_layer": -2`), "n_layer is -2"},
		"activation":     {config("gelu_new", "swish"), "swish"},
		"epsilon":        {config("1e-05", "-1"), "layer_norm_epsilon"},
		"too few layers": {config(`"n_layer": 2`, `"n_layer": 1`), `"h.1.`},
		"missing layer":  {config(`"n_layer": 2`, `"n_layer": 3`), `"h.2.ln_1.weight" is missing`},
		"countless": {config(`"n_layer": 2`, `"n_layer": 2000000000`),
			`"h.2.ln_1.weight" is missing`},
		"vocabulary": {config(`"vocab_size": 257`, `"vocab_size": 256`), "shape [257 64]"},
		"untied": {config(`"tie_word_embeddings": true`, `"tie_word_embeddings": false`),
			`"lm_head.weight" is missing`},
		"no weights": {func(t *testing.T, dir string) {
			os.Remove(filepath.Join(dir, "model.safetensors"))
		}, "model.safetensors"},
		"missing tensor": {weights("ln_f.weight", "ln_g.weight"), `"ln_f.weight" is missing`},
		"transposed":     {weights("[64,256]", "[256,64]"), "shape [256 64]"},
		"integers":       {weights(`"F32"`, `"I32"`), "I32"},
		"NaN": {poison(float32(math.NaN())),
			`"ln_f.bias" has the value NaN at element 63`},
		"infinity": {poison(float32(math.Inf(-1))), `"ln_f.bias" has the value -Inf`},
		"truncated": {func(t *testing.T, dir string) {
			testkit.OK(t, os.Truncate(filepath.Join(dir, "model.safetensors"), 100_000))
		}, "truncated"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := copyFixture(t)
			c.damage(t, dir)
			_, err := Load(dir, Options{})
			if err == nil || !strings.Contains(err.Error(), c.want) ||
				!strings.Contains(err.Error(), dir) {
				t.Errorf("error %q, want one that names the file and says %q", err, c.want)
			}
		})
	}
}

// FuzzConfig checks that what is accepted as a configuration can be computed with.
func FuzzConfig(f *testing.F) {
	f.Add([]byte(`{"model_type": "gpt2", "n_embd": 64, "n_head": 4, "n_inner": null}`))
	f.Add([]byte(`{"n_layer": 1e9, "vocab_size": -1}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		var c Config
		var err error
		testkit.Bounded(t, len(data), func() { c, err = parseConfig(data) })
		if err != nil {
			return
		}
		if c.HeadSize()*c.Heads != c.Width || min(c.HeadSize(), c.Heads, c.Layers, c.Inner, c.Vocab,
			c.Context) < 1 {
			t.Fatalf("accepted %+v", c)
		}
	})
}

func TestKVHeadsMustDivide(t *testing.T) {
	for _, n := range []int{-1, 3, 5} {
		if _, err := Load(fixture("tiny"), Options{KVHeads: n}); err == nil {
			t.Errorf("no error for %d of 4 heads", n)
		}
	}
}

func TestBadSegmentsAreErrors(t *testing.T) {
	r := newRunner(t, loadModel(t, fixture("tiny"), Options{}), 8, 1, kernels.Best())
	tokens := []int32{1, 2, 3}
	good := Segment{Tokens: tokens, Blocks: []int32{0}, Logits: 3}
	testkit.OK(t, r.Forward([]Segment{good}))
	before := append([]float32(nil), r.Logits(2)...)
	for want, s := range map[string]Segment{
		"no tokens":          {Blocks: []int32{0}},
		"token 257":          {Tokens: []int32{1, 257}, Blocks: []int32{0}},
		"token -1":           {Tokens: []int32{-1}, Blocks: []int32{0}},
		"a context of 128":   {Tokens: tokens, Start: 126, Blocks: table(0, 5)},
		"1 KV blocks":        {Tokens: tokens, Start: 30, Blocks: []int32{0}},
		"KV block 8 of 8":    {Tokens: tokens, Blocks: []int32{8}},
		"positions -1":       {Tokens: tokens, Start: -1, Blocks: []int32{0}},
		"logits of 4 of 3":   {Tokens: tokens, Blocks: []int32{0}, Logits: 4},
		"logits of -1 of 3 ": {Tokens: tokens, Blocks: []int32{0}, Logits: -1},
		"4 of 3 tokens":      {Tokens: tokens, Blocks: []int32{0}, Stored: 4},
		"-1 of 3 tokens":     {Tokens: tokens, Blocks: []int32{0}, Stored: -1},
	} {
		err := r.Forward([]Segment{good, s})
		if err == nil || !strings.Contains(err.Error(), strings.TrimSpace(want)) ||
			!strings.Contains(err.Error(), "segment 1") {
			t.Errorf("error %v, want one about segment 1 that says %q", err, want)
		}
	}
	for i, v := range r.Logits(2) {
		if v != before[i] {
			t.Fatal("a refused batch changed the logits")
		}
	}
}

// TestHeldFormats holds the weights in each format: the results stay close to those of float32.
func TestHeldFormats(t *testing.T) {
	tokens := []int32{5, 100, 200, 7}
	exact := newRunner(t, loadModel(t, fixture("tiny"), Options{}), 1, 1, kernels.Best())
	testkit.OK(t, exact.Forward([]Segment{
		{Tokens: tokens, Blocks: []int32{0}, Logits: 1}}))
	for format, bound := range map[kernels.Format]float64{kernels.BF16: 0.3, kernels.Int8: 0.6} {
		for _, set := range kernels.Available() {
			m := loadModel(t, fixture("tiny"), Options{Format: format})
			r := newRunner(t, m, 1, 1, set)
			testkit.OK(t, r.Forward([]Segment{
				{Tokens: tokens, Blocks: []int32{0}, Logits: 1}}))
			if d := farthest(r.Logits(0), exact.Logits(0)); d > bound || d == 0 {
				t.Errorf("%v with %s: logits differ by %v, expected something up to %v", format,
					set.Name, d, bound)
			}
		}
	}
}

func TestKeepLayers(t *testing.T) {
	m := loadModel(t, fixture("tiny"), Options{})
	for _, layers := range [][]int{nil, {2}, {-1}} {
		if _, err := m.Keep(layers); err == nil {
			t.Errorf("no error for layers %v of 2", layers)
		}
	}
	first, err := m.Keep([]int{0})
	testkit.OK(t, err)
	// tiny-draft is the first layer of tiny.
	a := newRunner(t, first, 1, 1, kernels.Best())
	b := newRunner(t, loadModel(t, fixture("tiny-draft"), Options{}), 1, 1, kernels.Best())
	for _, r := range []*Runner{a, b} {
		testkit.OK(t, r.Forward([]Segment{
			{Tokens: []int32{1, 2, 3}, Blocks: []int32{0}, Logits: 1}}))
	}
	if d := farthest(a.Logits(0), b.Logits(0)); d != 0 {
		t.Errorf("the first layer of tiny is off tiny-draft by %v", d)
	}
}

// Who ends the writing of weights leaves none that are half written.
func TestWriteRandomEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	dir := t.TempDir()
	if err := WriteRandom(ctx, dir, DefaultConfig(), 42); !errors.Is(err, context.Canceled) {
		t.Errorf("ended with %v", err)
	}
	left, err := os.ReadDir(dir)
	if err != nil || len(left) != 1 || left[0].Name() != "config.json" {
		t.Errorf("left %v, %v", left, err)
	}
}

func TestWriteRandom(t *testing.T) {
	c := DefaultConfig()
	c.Layers, c.Heads, c.Width, c.Inner, c.Vocab, c.Context = 1, 2, 10, 0, 30, 20
	one, two := t.TempDir(), filepath.Join(t.TempDir(), "new")
	for _, dir := range []string{one, two} {
		testkit.OK(t, WriteRandom(t.Context(), dir, c, 42))
	}
	for _, name := range []string{"config.json", "model.safetensors"} {
		a, _ := os.ReadFile(filepath.Join(one, name))
		b, _ := os.ReadFile(filepath.Join(two, name))
		if !bytes.Equal(a, b) {
			t.Errorf("%s differs for the same seed", name)
		}
	}
	if m := loadModel(t, one, Options{}); m.Config != c.completed() {
		t.Errorf("read %+v, wrote %+v", m.Config, c.completed())
	}
}

// TestParameters compares with the published sizes (Radford et al. 2019, table 2, corrected in the
// authors' repository).
func TestParameters(t *testing.T) {
	for shape, want := range map[string]int64{"124M": 124439808, "355M": 354823168,
		"774M": 774030080, "1558M": 1557611200} {
		c, err := ShapeConfig(shape)
		testkit.OK(t, err)
		if got := c.Parameters(); got != want {
			t.Errorf("%s has %d parameters, want %d", shape, got, want)
		}
	}
	if c, err := ShapeConfig(filepath.Join(fixture("tiny"), "config.json")); err != nil ||
		c.Width != 64 {
		t.Errorf("shape of a config.json: %+v, %v", c, err)
	}
	if _, err := ShapeConfig("125M"); err == nil {
		t.Error("no error for an unknown shape")
	}
}

func TestForwardDoesNotAllocate(t *testing.T) {
	r := newRunner(t, loadModel(t, fixture("tiny"), Options{}), 8, 2, kernels.Best())
	batch := make([]Segment, 4)
	for i := range batch {
		tokens := []int32{int32(rand.IntN(257))}
		batch[i] = Segment{Tokens: tokens, Start: 10 * i, Blocks: table(2*i, 2), Logits: 1}
	}
	if n := testing.AllocsPerRun(100, func() {
		testkit.OK(t, r.Forward(batch))
	}); n != 0 {
		t.Errorf("a decode step allocates %v times", n)
	}
}
