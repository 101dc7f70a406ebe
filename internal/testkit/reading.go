package testkit

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"testing"
	"time"
)

// What reading may take, far above what honest files take.
const (
	// mostTime is processor time, for any input that a fuzzer makes.
	mostTime = 10 * time.Second
	// baseBytes is allocated for an empty input, bytesPerByte for each byte of a longer one.
	baseBytes    = 256 << 20
	bytesPerByte = 4 << 10
)

// Bounded calls read, which reads an input of a number of bytes, and fails the test if that takes
// more time or allocates more memory than any such input is worth. Nothing else may run meanwhile.
func Bounded(t testing.TB, size int, read func()) {
	t.Helper()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	begin := processorTime()
	read()
	took := processorTime() - begin
	runtime.ReadMemStats(&after)
	if took > mostTime {
		t.Errorf("reading %d bytes takes %v", size, took)
	}
	if used := after.TotalAlloc - before.TotalAlloc; used > baseBytes+bytesPerByte*uint64(size) {
		t.Errorf("reading %d bytes allocates %d MiB", size, used>>20)
	}
}

// Changed calls read with texts that differ from a text in one byte, which is another, in the other
// case, doubled or removed, at each place. It fails the test unless read returns an error or what
// it returns for the text itself.
func Changed[T any](t testing.TB, text []byte, read func(text []byte) (T, error)) {
	t.Helper()
	want, err := read(text)
	if err != nil {
		t.Fatal(err)
	}
	wrong := 0
	for at := range text {
		other, flipped := bytes.Clone(text), bytes.Clone(text)
		other[at] ^= 1
		flipped[at] ^= 0x20
		for _, changed := range [][]byte{other, flipped, slices.Insert(bytes.Clone(text), at,
			text[at]), slices.Delete(bytes.Clone(text), at, at+1)} {
			got, err := read(changed)
			if err != nil || reflect.DeepEqual(got, want) {
				continue
			}
			if wrong++; wrong <= 3 {
				t.Errorf("byte %d, %q: read as %v, want %v or an error", at,
					changed[max(0, at-20):min(len(changed), at+20)], got, want)
			}
		}
	}
	if wrong > 0 {
		t.Errorf("%d of %d changes are read as something else", wrong, 4*len(text))
	}
}

// Oracle has the results of an independent implementation for one model.
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
