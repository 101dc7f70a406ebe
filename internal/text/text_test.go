package text

import (
	"slices"
	"testing"
	"testing/quick"
)

// TestWordsKeepTheirNumber decodes made-up texts and encodes them again: the tokens are the same,
// so that a text of n words has n tokens wherever it is counted.
func TestWordsKeepTheirNumber(t *testing.T) {
	v, err := New()
	if err != nil {
		t.Fatal(err)
	}
	same := func(name uint64, n uint8) bool {
		tokens := make([]Token, int(n)+1)
		for i := range tokens {
			tokens[i] = v.Word(name, i)
		}
		s, err := v.Decode(tokens)
		if err != nil {
			return false
		}
		again, err := v.Encode(s)
		return err == nil && slices.Equal(tokens, again)
	}
	if err := quick.Check(same, nil); err != nil {
		t.Error(err)
	}
}

// FuzzRoundTrip encodes any text and decodes it again.
func FuzzRoundTrip(f *testing.F) {
	f.Add("Hello, world\n\n  12345 \x00")
	v, err := New()
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, s string) {
		tokens, err := v.Encode(s)
		if err != nil {
			t.Skip() // the encoder refuses some bytes
		}
		if back, err := v.Decode(tokens); err != nil || len(back) > 4*len(s) {
			t.Errorf("%q became %q, %v", s, back, err)
		}
	})
}
