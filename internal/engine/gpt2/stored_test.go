package gpt2

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/llmsim/llmsim/internal/engine/kernels"
	"github.com/llmsim/llmsim/internal/testkit"
)

// store rewrites the tiny model's weights in a 16-bit format, rounded towards zero, and returns the
// folder.
func store(t *testing.T, format string, convert func(float32) uint16) string {
	t.Helper()
	dir := copyFixture(t)
	path := filepath.Join(dir, "model.safetensors")
	data := testkit.Read(t, path)
	length := binary.LittleEndian.Uint64(data)
	var header map[string]map[string]any
	testkit.OK(t, json.Unmarshal(data[8:8+length], &header))
	delete(header, "__metadata__")
	for _, tensor := range header {
		tensor["dtype"] = format
		offsets := tensor["data_offsets"].([]any)
		tensor["data_offsets"] = []float64{offsets[0].(float64) / 2, offsets[1].(float64) / 2}
	}
	text, err := json.Marshal(header)
	testkit.OK(t, err)
	var out bytes.Buffer
	out.Write(binary.LittleEndian.AppendUint64(nil, uint64(len(text))))
	out.Write(text)
	for values := data[8+length:]; len(values) > 0; values = values[4:] {
		f := math.Float32frombits(binary.LittleEndian.Uint32(values))
		out.Write(binary.LittleEndian.AppendUint16(nil, convert(f)))
	}
	testkit.OK(t, os.WriteFile(path, out.Bytes(), 0o600))
	return dir
}

// TestStoredFormats loads weights stored in half the bytes. What is left of the logits is bounded
// by the precision that is.
func TestStoredFormats(t *testing.T) {
	p := testkit.LoadOracle(t, fixture("tiny")).Prompts[4]
	for format, c := range map[string]struct {
		convert func(float32) uint16
		bound   float64
	}{
		"BF16": {func(f float32) uint16 { return uint16(math.Float32bits(f) >> 16) }, 1},
		"F16": {func(f float32) uint16 {
			bits := math.Float32bits(f)
			exponent := int(bits>>23&255) - 127 + 15
			if exponent <= 0 {
				return uint16(bits >> 31 << 15) // subnormal: take zero
			}
			return uint16(bits>>31<<15 | uint32(exponent)<<10 | bits>>13&1023)
		}, 0.2},
	} {
		r := newRunner(t, loadModel(t, store(t, format, c.convert), Options{}), 1, 1,
			kernels.Best())
		testkit.OK(t, r.Forward([]Segment{{Tokens: p.IDs, Blocks: []int32{0}, Logits: 1}}))
		if d := farthest(r.Logits(0), p.LastLogits); d > c.bound || d == 0 {
			t.Errorf("%s: logits are off by %v, expected something up to %v", format, d, c.bound)
		}
	}
}
