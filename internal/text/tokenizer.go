package text

import (
	"fmt"
	"os"
	"path/filepath"
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
