package models_test

import (
	"testing"

	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/models"
)

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
