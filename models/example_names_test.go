package models_test

import (
	"fmt"
	"log"
	"strings"
	"testing"

	"github.com/llmsim/llmsim/hardware"
	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/models"
)

// lookUp returns a model of the catalogue.
func lookUp(name string) *models.Architecture {
	catalog, err := models.Load()
	if err != nil {
		panic(err)
	}
	a, err := catalog.Lookup(name)
	if err != nil {
		panic(err)
	}
	return a
}

func ExampleCatalog_Lookup() {
	catalog, err := models.Load()
	if err != nil {
		panic(err)
	}
	_, err = catalog.Lookup("llama-2-71b")
	fmt.Println(strings.ReplaceAll(err.Error(), "? ", "?\n"))
	// Output: unknown model "llama-2-71b"; did you mean llama-2-7b or llama-2-70b or llama-2-13b?
	// For another model put the path of its config.json here
}

func ExampleArchitecture_Parameters() {
	fmt.Println(lookUp("llama-2-70b").Parameters().Total())
	// Output: 68976648192
}

func ExampleArchitecture_KVBytesPerToken() {
	fmt.Println(lookUp("llama-2-70b").KVBytesPerToken(hardware.BF16))
	// Output: 327680
}

func ExampleArchitecture_WeightBytesPerGPU() {
	fmt.Println(lookUp("llama-2-70b").WeightBytesPerGPU(hardware.FP8, 4, 1))
	// Output: 17377542144
}

func ExampleArchitecture_FitsTensor() {
	fmt.Println(lookUp("llama-2-70b").FitsTensor(3))
	// Output: does not divide the 64 attention heads of llama-2-70b
}

func ExampleFromHuggingFace() {
	config := `{"model_type": "llama", "hidden_size": 64, "intermediate_size": 128,
		"num_hidden_layers": 2, "num_attention_heads": 4, "vocab_size": 100,
		"max_position_embeddings": 512, "torch_dtype": "bfloat16"}`
	a, _, err := models.FromHuggingFace(strings.NewReader(config), "tiny")
	if err != nil {
		panic(err)
	}
	fmt.Println(a.Layers(), a.Parameters().Total())
	// Output: 2 95040
}

// What a model needs follows from its architecture: parameters, bytes of weights, bytes of KV
// cache.
func Example() {
	catalog, err := models.Load()
	if err != nil {
		log.Fatal(err)
	}
	m, err := catalog.Lookup("llama-3.1-8b")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%.2f billion parameters, %.1f GB in bf16, %d bytes of KV cache a token\n",
		float64(m.Parameters().Total())/1e9, float64(m.WeightBytes(hardware.BF16))/1e9,
		m.KVBytesPerToken(hardware.BF16))
	// Output: 8.03 billion parameters, 16.1 GB in bf16, 131072 bytes of KV cache a token
}

// Models with the same tokenizer take the same time, whoever made them.
func TestTokenise(t *testing.T) {
	catalog, err := models.Load()
	testkit.OK(t, err)
	of := func(name string) float64 {
		m, err := catalog.Lookup(name)
		testkit.OK(t, err)
		return m.Tokenise()
	}
	if of("deepseek-v3") != of("deepseek-v3.2") || of("llama-3.1-8b") != of("gpt-oss-120b") {
		t.Error("models with one tokenizer differ")
	}
	if !(of("deepseek-v3") > of("llama-3.1-8b") && of("llama-3.1-8b") > 0) {
		t.Errorf("DeepSeek-V3 takes %g s a token, Llama 3.1 %g", of("deepseek-v3"),
			of("llama-3.1-8b"))
	}
}
