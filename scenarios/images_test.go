package scenarios

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/policies"
)

// seeing is a model that sees and hears, as its config.json.
const seeing = `{"vision_config": {"model_type": "qwen3_vl", "depth": 27, "hidden_size": 1152,
	"intermediate_size": 4304, "patch_size": 16, "spatial_merge_size": 2},
	"audio_config": {"model_type": "qwen2_audio_encoder", "d_model": 1280, "encoder_layers": 32,
	"encoder_ffn_dim": 5120},
	"text_config": {"model_type": "llama", "hidden_size": 4096, "intermediate_size": 14336,
	"num_attention_heads": 32, "num_key_value_heads": 8, "num_hidden_layers": 32,
	"vocab_size": 128256, "max_position_embeddings": 131072, "torch_dtype": "bfloat16"}}`

// pages is twenty documents of three pages that are asked about again and again, where no KV is
// kept.
const pages = "hardware: h100-sxm\nmemory: paged\nworkload: {prompt: 100, output: 10, rate: 2/s, " +
	"requests: 200, prefix: {groups: 20, tokens: 3072}, images: {count: 3, size: 1024x1024}}\n"

// withEncoders returns a scenario of the model that sees and hears.
func withEncoders(t *testing.T, text string) (*Simulation, error) {
	t.Helper()
	config := filepath.Join(t.TempDir(), "config.json")
	testkit.OK(t, os.WriteFile(config, []byte(seeing), 0o600))
	file, err := Parse("t.yaml", []byte("model: "+config+"\n"+text))
	if err != nil {
		return nil, err
	}
	return file.Build(policies.Default())
}

// A cache of encoded images saves time, the more the larger it is, and one that keeps a single
// image of three in turn saves none.
func TestEncodedImagesAreKept(t *testing.T) {
	ttft := func(cache string) float64 {
		s, err := withEncoders(t, pages+cache)
		testkit.OK(t, err)
		return run(t, s).MeanTTFT
	}
	none, one := ttft(""), ttft("engine: {encoder-cache: 1}\n")
	some, all := ttft("engine: {encoder-cache: 30000}\n"), ttft("engine: {encoder-cache: 61440}\n")
	if one != none || some >= none || all >= some {
		t.Errorf("TTFT %g ms without, %g, %g and %g ms with caches", none, one, some, all)
	}
}

// What cannot be said of images and sounds is refused at its place.
func TestImagesRefuse(t *testing.T) {
	for text, want := range map[string]string{
		"workload: {images: 64x64, audio: 3s}": "workload.audio: prompts begin with images",
		"workload: {audio: 31s}":               "workload.audio: ",
		"workload: {audio: 25h}":               "workload.audio.length: found 25h0m0s, want",
		"engine: {encoder-cache: 9}":           "engine.encoder-cache: prompts begin neither",
		"fleet: {encoders: 2}":                 "fleet.encoders: prompts begin neither",
		"workload: {images: 64x}":              "workload.images.size: found",
		"workload: {audio: 30s}":               "",
	} {
		_, err := withEncoders(t, "hardware: h100-sxm\n"+text+"\n")
		if want == "" && err == nil {
			continue
		}
		if !IsInputError(err) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

// Encoders apart take the time of images out of steps and have a price; with a cache they work less
// often, and one for a request that finds nothing waiting costs its own time and no more.
func TestEncodersApart(t *testing.T) {
	of := func(text string) *Result {
		s, err := withEncoders(t, pages+text)
		testkit.OK(t, err)
		return run(t, s)
	}
	together, apart := of(""), of("fleet: {encoders: 2}\n")
	cached := of("fleet: {encoders: 2}\nengine: {encoder-cache: 61440}\n")
	if apart.MeanTPOT >= together.MeanTPOT || cached.MeanTTFT >= apart.MeanTTFT {
		t.Errorf("TPOT %g and %g ms, TTFT %g and %g ms", together.MeanTPOT, apart.MeanTPOT,
			apart.MeanTTFT, cached.MeanTTFT)
	}
	if hours := apart.AcceleratorHours / together.AcceleratorHours; hours < 2.9 || hours > 3.1 {
		t.Errorf("%g times the accelerator hours with two encoders beside one replica", hours)
	}
}

// Encoders and their caches go together with every order of requests, with pools, failures, scaling
// and sessions: leaping and stepping give the same, and account for all requests.
func TestEncodersCompose(t *testing.T) {
	config := filepath.Join(t.TempDir(), "config.json")
	testkit.OK(t, os.WriteFile(config, []byte(seeing), 0o600))
	registry, ran := policies.Default(), 0
	rapid.Check(t, func(t *rapid.T) {
		one := func(label string, from ...string) string {
			return rapid.SampledFrom(from).Draw(t, label)
		}
		text := "model: " + config + "\nhardware: h100-sxm\nreplicas: 3\nworkload: {" +
			"requests: 60, prompt: 600, output: {distribution: uniform, min: 1, max: 60}, " +
			"rate: 20/s, " +
			"prefix: {tokens: 900, groups: 4}, " + one("kind", "images: {count: 3, size: 640x480}",
			"audio: {count: 2, length: 9s}") + one("sessions", "", ", sessions: {turns: 3}") + "}\n"
		overrides := []string{"batching.policy=" + registry.Batching.Policies[rapid.IntRange(0,
			len(registry.Batching.Policies)-1).Draw(t, "batching")].Name}
		for _, o := range []string{"fleet.encoders=2", "engine.encoder-cache=700",
			"fleet.outages=[{replica: 0, at: 1s, for: 2s}]", "fleet.retries=1",
			"workload.patience=2s", "memory=prefix-cache", one("pools",
				"fleet.pools=[{role: prefill, replicas: 1}, {role: decode, replicas: 2}]",
				"fleet.pools=[{name: a, replicas: 3, scaling: {policy: queue, per-replica: 1, "+
					"every: 1s, cold-start: 1s}}]")} {
			if rapid.Bool().Draw(t, o) {
				overrides = append(overrides, o)
			}
		}
		var results [2]*Result
		for i := range results {
			s := attempt(t, func() (*File, error) {
				return Parse("s.yaml", []byte(text), overrides...)
			})
			if s == nil {
				return
			}
			if i > 0 {
				s.config.MaxLeap = 1
			}
			var err error
			results[i], err = s.Run(t.Context())
			testkit.OK(t, err)
		}
		ran++
		if diff := cmp.Diff(results[0], results[1]); diff != "" {
			t.Fatalf("leaping (-) and stepping (+) differ:\n%s%v\n%s", text, overrides, diff)
		}
	})
	if ran == 0 {
		t.Error("no scenario was accepted")
	}
}
