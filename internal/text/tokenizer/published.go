package tokenizer

import loader "github.com/pkoukk/tiktoken-go-loader"

// GPT2 returns GPT-2's own tokenizer. Its vocabulary is the one that tiktoken calls r50k_base.
func GPT2() (*Tokenizer, error) {
	t, err := published("r50k_base.tiktoken", firstPiece)
	if err != nil {
		return nil, err
	}
	t.largest = publishedVocab - 1
	t.texts[t.largest] = []byte(endOfText)
	return t, nil
}

// CL100K returns the tokenizer that tiktoken calls cl100k_base, without special tokens.
func CL100K() (*Tokenizer, error) { return published("cl100k_base.tiktoken", firstPieceCL100K) }

// published returns a tokenizer with a vocabulary that the library embeds, in which a token's
// number is its rank.
func published(file string, first func(text string) int) (*Tokenizer, error) {
	tokens, err := loader.NewOfflineLoader().LoadTiktokenBpe(file)
	if err != nil {
		return nil, err
	}
	t := newBPE()
	t.first = first
	for text, token := range tokens {
		t.tokens[t.spellOut(text)] = int32(token)
		t.texts[int32(token)] = []byte(text)
		t.largest = max(t.largest, int32(token))
	}
	return t, nil
}
