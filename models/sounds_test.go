package models

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// Sounds are as many tokens as the papers and processors of their models say: 25 a second, 12.5 a
// second, or 13.
func TestSoundTokens(t *testing.T) {
	for kind, want := range map[string][3]int{ // of 1, 10 and 30 s
		"qwen2_audio_encoder":          {25, 250, 750},
		"qwen2_5_omni_audio_encoder":   {25, 250, 750},
		"qwen3_omni_moe_audio_encoder": {13, 130, 390},
		"voxtral_encoder":              {375, 375, 375},
	} {
		e := soundEncoder(t, kind)
		if e == nil {
			t.Fatalf("%s has no rule", kind)
		}
		for i, seconds := range []float64{1, 10, 30} {
			if tokens, flops := e.Encode(seconds); tokens != want[i] || !(flops > 0) {
				t.Errorf("%s: %g s are %d tokens and %g FLOPs, want %d", kind, seconds, tokens,
					flops, want[i])
			}
		}
		rapid.Check(t, func(t *rapid.T) {
			short := rapid.Float64Range(0.01, 100).Draw(t, "short")
			long := short + rapid.Float64Range(0, 100).Draw(t, "more")
			a, x := e.Encode(short)
			b, y := e.Encode(long)
			if a < 1 || a > b || x > y {
				t.Fatalf("%g s are %d tokens and %g FLOPs, %g s %d and %g", short, a, x, long, b, y)
			}
		})
	}
	if e := soundEncoder(t, "new_ears"); e != nil {
		t.Errorf("an encoder whose rule is not known has %+v", e)
	}
}

// soundEncoder returns the encoder of sounds of that type, nil where its rule is not known.
func soundEncoder(t *testing.T, kind string) *SoundEncoder {
	t.Helper()
	a, _, err := FromHuggingFace(strings.NewReader(`{"text_config": {`+llama+`}, "audio_config": {`+
		`"model_type": "`+kind+`", "d_model": 64, "encoder_layers": 2, "encoder_ffn_dim": 128, `+
		`"n_window": 50}}`), "test")
	if err != nil {
		t.Fatal(err)
	}
	return a.Towers[0].Sounds
}
