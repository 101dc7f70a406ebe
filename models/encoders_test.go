package models

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// Images are as many tokens as the rules of their models' papers and processors say.
func TestImageTokens(t *testing.T) {
	vision := func(keys string) string {
		return `"vision_config": {"num_hidden_layers": 24, "hidden_size": 1024, "intermediate_size": 4096, ` + keys + `}`
	}
	for _, c := range []struct {
		name, config         string
		width, height, wants int
	}{
		{"Qwen3-VL: 32 pixels a token",
			vision(`"model_type": "qwen3_vl", "patch_size": 16, "spatial_merge_size": 2`), 1024,
			768, 32 * 24},
		{"Qwen2.5-VL: 28 pixels, rounded",
			vision(`"model_type": "qwen2_5_vl", "patch_size": 14, "spatial_merge_size": 2`), 100,
			43, 4 * 2},
		{"Pixtral: a token more a row",
			vision(`"model_type": "pixtral", "patch_size": 16, "image_size": 1024`), 1024, 512,
			32 * 65},
		{"Mistral Small 3.1: longest side 1540, 28 pixels",
			vision(`"model_type": "pixtral", "patch_size": 14, "image_size": 1540`) +
				`, "spatial_merge_size": 2`, 3080, 1540, 28 * 56},
		{"Gemma 3: always 256",
			vision(`"model_type": "siglip_vision_model", "patch_size": 14, "image_size": 896`) +
				`, "mm_tokens_per_image": 256`, 2000, 100, 256},
		{"InternVL: one tile",
			vision(`"model_type": "intern_vit_6b", "patch_size": 14, "image_size": 448`) +
				`, "downsample_ratio": 0.5, "dynamic_image_size": true, "max_dynamic_patch": 12`,
			448,
			448, 256},
		{"InternVL: two tiles and the whole",
			vision(`"model_type": "intern_vit_6b", "patch_size": 14, "image_size": 448`) +
				`, "downsample_ratio": 0.5, "dynamic_image_size": true, "max_dynamic_patch": 12`,
			896,
			448, 3 * 256},
	} {
		a, _, err := FromHuggingFace(strings.NewReader(`{"text_config": {`+llama+`}, `+c.config+
			`}`), "test")
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		tokens, flops := a.Towers[0].Images.Encode(c.width, c.height)
		if tokens != c.wants || !(flops > 0) {
			t.Errorf("%s: %d tokens and %g FLOPs, want %d tokens", c.name, tokens, flops, c.wants)
		}
	}
	sound := `"audio_config": {"model_type": "qwen3_omni_moe_audio_encoder", "d_model": 64, "encoder_layers": 2, "encoder_ffn_dim": 128}`
	a, _, err := FromHuggingFace(strings.NewReader(`{"text_config": {`+llama+`}, `+sound+`}`),
		"test")
	if err != nil || a.Towers[0].Images != nil {
		t.Errorf("an encoder of sounds: %v", err)
	}
	a, _, err = FromHuggingFace(strings.NewReader(`{"text_config": {`+llama+`}, `+
		vision(`"model_type": "new_vit", "patch_size": 14`)+`}`), "test")
	if err != nil || a.Towers[0].Images != nil {
		t.Errorf("an encoder whose rule is not known has %+v, %v", a.Towers[0].Images, err)
	}
}

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
