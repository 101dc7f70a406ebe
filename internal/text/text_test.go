package text

import (
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"slices"
	"strings"
	"testing"
	"testing/quick"

	"github.com/llmsim/llmsim/internal/testkit"
)

// TestWordsKeepTheirNumber decodes made-up texts and encodes them again: the tokens are the same,
// so that a text of n words has n tokens wherever it is counted.
func TestWordsKeepTheirNumber(t *testing.T) {
	v, err := NewVocabulary()
	testkit.OK(t, err)
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
	v, err := NewVocabulary()
	testkit.OK(f, err)
	f.Fuzz(func(t *testing.T, s string) {
		tokens, err := v.Encode(s)
		testkit.OK(t, err)
		if back, err := v.Decode(tokens); err != nil || back != s {
			t.Errorf("%q became %q, %v", s, back, err)
		}
	})
}

// stems are beginnings of words that do not belong into an office or a school, as the first six
// bytes of their SHA-256, so that nobody has to read them here.
//
//go:embed testdata/stems.sha256
var stems string

// improper reports whether a word begins with a stem, or has one of four letters or more inside.
func improper(word string) bool {
	for i := range word {
		for end := i + 3; end <= len(word); end++ {
			sum := sha256.Sum256([]byte(word[i:end]))
			if (i == 0 || end > i+3) && strings.Contains(stems, hex.EncodeToString(sum[:6])) {
				return true
			}
		}
	}
	return false
}

// Made-up text can be shown to anybody: no word, and no beginning of one, is improper.
func TestWordsAreProper(t *testing.T) {
	if !improper("killing") || improper("spring") {
		t.Fatal("the stems find nothing, or everything")
	}
	v, err := NewVocabulary()
	testkit.OK(t, err)
	if len(v.words) < 1000 {
		t.Errorf("%d words are few: texts would repeat themselves", len(v.words))
	}
	for _, w := range v.words {
		if w.token >= 32_000 {
			t.Errorf("%q is token %d: no token of smaller vocabularies, such as those of Llama 2 "+
				"(32,000) and GPT-2 (50,257), which refuse it in prompts", w.text, w.token)
		}
		if word := w.text[1:]; improper(word) || strings.ToLower(word) != word {
			t.Errorf("the vocabulary has a word that may offend: number %d", w.token)
		}
	}
}

// At most a character's beginning is held back, and only where it is not complete.
func TestBeginningsOfCharacters(t *testing.T) {
	for _, c := range []string{"a", "é", "€", "😀"} {
		for n := range len(c) + 1 {
			want := n % len(c)
			if got := incomplete("xé" + c[:n]); got != want {
				t.Errorf("%d bytes of %q: %d are held back, want %d", n, c, got, want)
			}
			if got := incomplete(c[:n]); got != want {
				t.Errorf("%d bytes of %q alone: %d are held back, want %d", n, c, got, want)
			}
		}
	}
	if got := incomplete("\x80\x80\x80\x80"); got != 0 {
		t.Errorf("%d bytes without a beginning are held back", got)
	}
}
