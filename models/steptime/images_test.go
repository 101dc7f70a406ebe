package steptime

import (
	"testing"

	"github.com/llmsim/llmsim/models"
	"github.com/llmsim/llmsim/sim"

	"pgregory.net/rapid"
)

// Every image is encoded once, however its prompt is cut into chunks, and not where its beginning
// is cached; the time is that of its FLOPs, and steps without images are as long as they were.
func TestImagesAreEncodedOnce(t *testing.T) {
	seeing := llama8B()
	seeing.Towers = []models.Tower{{Name: "vision", Images: &models.ImageEncoder{
		Layers: 27, Width: 1152, Attention: 1152, Intermediate: 4304, Patch: 16, Join: 2,
		Rule: models.NativeSize,
	}}}
	blind := mustClock(t, Config{Model: llama8B(), Accelerator: h100(), Engine: Engines()[0]})
	c := mustClock(t, Config{Model: seeing, Accelerator: h100(), Engine: Engines()[0],
		Images: Images{Count: 3, Width: 640, Height: 480}})
	const tokens = 20 * 15
	n, layers := 4.*tokens, 27.
	flops := layers * (2*n*(4*1152*1152+2*1152*4304) + 4*n*n*1152)
	if got := c.images; got.tokens != tokens || got.flops != flops ||
		got.time != times(1, flops/(c.stage.products.wide.peak*c.stage.products.wide.efficiency)) {
		t.Fatalf("an image is %+v, want %d tokens and %g FLOPs", got, tokens, flops)
	}
	rapid.Check(t, func(t *rapid.T) {
		cached := rapid.IntRange(0, 1200).Draw(t, "cached")
		whole := cached
		encoded := 0
		for range rapid.IntRange(1, 5).Draw(t, "chunks") {
			chunk := sim.Chunk{New: rapid.IntRange(2, 700).Draw(t, "new"), Cached: whole}
			s := &sim.Step{Prefill: []sim.Chunk{chunk}}
			encoded += c.images.encoded(s)
			known := rapid.IntRange(0, c.images.encoded(s)).Draw(t, "known")
			fewer := &sim.Step{Prefill: []sim.Chunk{chunk}}
			fewer.Prefill[0].Encoded = known
			if saved := c.Duration(s) - c.Duration(fewer); saved != sim.Time(known)*c.images.time {
				t.Fatalf("%d images that are there already save %v", known, saved)
			}
			if more := c.Duration(s) - blind.Duration(s); c.images.encoded(s) == 0 && more != 0 ||
				more < 0 {
				t.Fatalf("%+v takes %v more with %d images", chunk, more, c.images.encoded(s))
			}
			if sum := total(c.Breakdown(s)); sum != c.Duration(s) {
				t.Fatalf("operators sum to %v of %v", sum, c.Duration(s))
			}
			whole += chunk.New
		}
		want := 0
		for i := range 3 {
			if start := i * tokens; start >= cached && start < whole {
				want++
			}
		}
		if encoded != want {
			t.Fatalf("tokens %d to %d encode %d images, want %d", cached, whole, encoded, want)
		}
	})
	if _, err := New(Config{Model: llama8B(), Accelerator: h100(), Engine: Engines()[0],
		Images: Images{Count: 1, Width: 64, Height: 64}}); err == nil {
		t.Error("a model without an encoder takes images")
	}
}

// Sounds take the time of their FLOPs in the step that computes their first token.
func TestSoundsTakeTime(t *testing.T) {
	hearing := llama8B()
	hearing.Towers = []models.Tower{{Name: "audio", Sounds: &models.SoundEncoder{Layers: 32,
		Width: 1280, Attention: 1280, Intermediate: 5120, Rule: models.Padded}}}
	config := Config{Model: hearing, Accelerator: h100(), Engine: Engines()[0],
		Images: Images{Count: 2, Seconds: 10}}
	c := mustClock(t, config)
	_, flops := hearing.Towers[0].Sounds.Encode(10)
	if c.images.tokens != 250 || c.images.flops != flops || c.images.encoded(&sim.Step{
		Prefill: []sim.Chunk{{New: 251}}}) != 2 {
		t.Errorf("%+v, want 250 tokens and %g FLOPs", c.images, flops)
	}
	config.Images.Seconds = 31
	if _, err := New(config); err == nil {
		t.Error("a sound of 31 s is taken by an encoder of 30 s")
	}
}
