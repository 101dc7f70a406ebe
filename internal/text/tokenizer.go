package text

import (
	_ "embed"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/llmsim/llmsim/internal/content"
)

// publishedVocab is the size of GPT-2's own vocabulary, the end-of-text token included.
const publishedVocab = 50257

// endOfText is the text of the one special token.
const endOfText = "<|endoftext|>"

// ForModel returns the tokenizer for a model's folder: its vocab.json and merges.txt where they are
// there, or the published vocabulary if the model has that many tokens.
func ForModel(dir string, vocab int) (*Tokenizer, error) {
	names := []string{filepath.Join(dir, "vocab.json"), filepath.Join(dir, "merges.txt")}
	if _, err := os.Stat(names[0]); err == nil {
		b, err := readBPE(names[0], names[1])
		if err != nil {
			return nil, err
		}
		if b.largest >= int32(vocab) {
			return nil, fmt.Errorf("%s has token %d; the model has a vocabulary of %d", names[0],
				b.largest, vocab)
		}
		return b, nil
	}
	if vocab != publishedVocab {
		return nil, fmt.Errorf("%s has no vocab.json, and a vocabulary of %d is not GPT-2's of %d",
			dir, vocab, publishedVocab)
	}
	return GPT2()
}

// Token numbers a piece of text in the vocabulary.
type Token = int32

// Vocabulary encodes and decodes with cl100k_base; its counts differ by some percent from other
// tokenizers'. It is safe for use by several goroutines.
type Vocabulary struct {
	tokens *Tokenizer
	words  []word
}

// word is a token that is a whole word, and the text of it.
type word struct {
	token Token
	text  string
}

// words lists the words that made-up text consists of, one a line: common ones that may be shown in
// any office or school, as may their beginnings, for a text may be cut.
//
//go:embed words.txt
var words string

// NewVocabulary returns the vocabulary of cl100k_base. It takes about a quarter of a second.
func NewVocabulary() (*Vocabulary, error) {
	tokens, err := CL100K()
	if err != nil {
		return nil, err
	}
	v := &Vocabulary{tokens: tokens}
	for name := range strings.Lines(words) {
		piece := " " + strings.TrimSuffix(name, "\n")
		ids, err := tokens.Encode(piece)
		if err != nil || len(ids) != 1 {
			return nil, fmt.Errorf("text: %q has %d tokens, want 1 (%w)", piece, len(ids), err)
		}
		v.words = append(v.words, word{ids[0], piece})
	}
	return v, nil
}

// Encode returns the tokens of a text.
func (v *Vocabulary) Encode(s string) ([]Token, error) { return v.tokens.Encode(s) }

// Decode returns the text of tokens. It fails for a number outside the vocabulary.
func (v *Vocabulary) Decode(tokens []Token) (string, error) {
	var text strings.Builder
	for _, t := range tokens {
		piece, err := v.tokens.Decode(t)
		if err != nil {
			return "", err
		}
		text.Write(piece)
	}
	return text.String(), nil
}

// Piece returns the text of one token, and an empty text for a number outside the vocabulary.
func (v *Vocabulary) Piece(t Token) string {
	s, err := v.Decode([]Token{t})
	if err != nil {
		return ""
	}
	return s
}

// Word returns the i-th word of the text that a name means: the same for the same name. Words in a
// row have one token each, also after they were decoded and encoded again.
func (v *Vocabulary) Word(name uint64, i int) Token { return v.pick(name, i).token }

// Spell returns the text of that word, a space before it.
func (v *Vocabulary) Spell(name uint64, i int) string { return v.pick(name, i).text }

func (v *Vocabulary) pick(name uint64, i int) *word {
	return &v.words[content.Hash(name*content.Increment+uint64(i))%uint64(len(v.words))]
}
