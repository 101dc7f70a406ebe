package text

import (
	"bufio"
	"compress/gzip"
	"embed"
	"encoding/base64"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// vocabularies holds the files that openai/tiktoken publishes (tiktoken_ext/openai_public.py),
// compressed. A test holds them to the SHA-256 sums in that file.
//
//go:embed vocabularies/*.tiktoken.gz
var vocabularies embed.FS

// GPT2 returns GPT-2's own tokenizer. Its vocabulary is the one that tiktoken calls r50k_base.
func GPT2() (*Tokenizer, error) {
	t, err := published("r50k_base", firstPiece)
	if err != nil {
		return nil, err
	}
	t.largest = publishedVocab - 1
	t.texts[t.largest] = []byte(endOfText)
	return t, nil
}

// CL100K returns the tokenizer that tiktoken calls cl100k_base, without special tokens.
func CL100K() (*Tokenizer, error) { return published("cl100k_base", firstPieceCL100K) }

// published returns a tokenizer with an embedded vocabulary. Each line of its file has a token's
// bytes in base64, a space, and the token's number, which is its rank.
func published(name string, first func(text string) int) (*Tokenizer, error) {
	file, err := vocabularies.Open("vocabularies/" + name + ".tiktoken.gz")
	if err != nil {
		return nil, err
	}
	defer file.Close()
	unpacked, err := gzip.NewReader(file)
	if err != nil {
		return nil, fmt.Errorf("vocabulary %s: %w", name, err)
	}
	t := newBPE()
	t.first = first
	lines := bufio.NewScanner(unpacked)
	for lines.Scan() {
		encoded, number, _ := strings.Cut(lines.Text(), " ")
		text, err := base64.StdEncoding.DecodeString(encoded)
		token, err2 := strconv.ParseInt(number, 10, 32)
		if err := errors.Join(err, err2); err != nil {
			return nil, fmt.Errorf("vocabulary %s: %w", name, err)
		}
		t.tokens[t.spellOut(string(text))] = int32(token)
		t.texts[int32(token)] = text
		t.largest = max(t.largest, int32(token))
	}
	return t, lines.Err()
}
