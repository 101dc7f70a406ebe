package files_test

import (
	"bytes"
	"testing"

	"pgregory.net/rapid"

	"github.com/llmsim/llmsim/internal/files"
	"github.com/llmsim/llmsim/internal/testkit"
)

// What is sealed is read back, and no change of a byte or of up to 8 adjacent bytes passes.
func TestSeal(t *testing.T) {
	for seal, text := range map[files.Seal]string{
		files.ObjectSeal(): `{"key":"a","result":{"b":[1,2.5,"}"]}}`,
		files.LinesSeal():  "a: 1\nb: {c: 2}\n",
	} {
		sealed := seal.Add([]byte(text))
		got, err := seal.Open(bytes.Clone(sealed))
		testkit.OK(t, err)
		if string(got) != text {
			t.Errorf("read back as %q, want %q", got, text)
		}
		testkit.Changed(t, sealed, seal.Open)
		rapid.Check(t, func(t *rapid.T) {
			changed := bytes.Clone(sealed)
			n := rapid.IntRange(1, 8).Draw(t, "bytes")
			at := rapid.IntRange(0, len(sealed)-n).Draw(t, "at")
			copy(changed[at:], rapid.SliceOfN(rapid.Byte(), n, n).Draw(t, "others"))
			if _, err := seal.Open(changed); err == nil && !bytes.Equal(changed, sealed) {
				t.Fatalf("%q passes for %q", changed, sealed)
			}
		})
		if _, err := seal.Open([]byte(text)); err == nil {
			t.Errorf("%q passes without a seal", text)
		}
	}
}
