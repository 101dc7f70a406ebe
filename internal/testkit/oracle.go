package testkit

import (
	"encoding/json"
	"path/filepath"
	"testing"
)

// Oracle is what an independent implementation computed for one model.
type Oracle struct {
	Prompts []OraclePrompt `json:"prompts"`
}

// OraclePrompt is one prompt with what follows from it.
type OraclePrompt struct {
	IDs        []int32     `json:"ids"`
	LastLogits []float32   `json:"last_logits"`
	AllLogits  [][]float32 `json:"all_logits"`
	Greedy     []int32     `json:"greedy"`
	// Trace holds the hidden states at the last position: embed, block_0, …, ln_f.
	Trace map[string][]float32 `json:"trace_last_position"`
	// Probabilities of the next token.
	T1     []float64 `json:"probs_last_T1"`
	T07Top []float64 `json:"probs_last_T0.7_top20"`
	Loss   []float64 `json:"nll_of_prompt_f64"`
	// Speculation: the probability that the first drafted token is accepted, and the distribution
	// after a rejection.
	AcceptT1   float64   `json:"accept_prob_T1_first_draft_token"`
	AcceptT07  float64   `json:"accept_prob_T0.7_first_draft_token"`
	ResidualT1 []float64 `json:"residual_T1"`
}

// LoadOracle reads the oracle in a folder of internal/engine/testdata.
func LoadOracle(t testing.TB, dir string) Oracle {
	t.Helper()
	var o Oracle
	OK(t, json.Unmarshal(Read(t, filepath.Join(dir, "oracle.json")), &o))
	return o
}
