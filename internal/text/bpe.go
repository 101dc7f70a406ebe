package text

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"

	"github.com/llmsim/llmsim/internal/files"
)

// Tokenizer encodes and decodes text with one vocabulary. Inside, bytes are spelled as the
// printable characters that vocab.json and merges.txt use for them.
type Tokenizer struct {
	tokens map[string]int32
	texts  map[int32][]byte
	// ranks orders the pairs that may be merged; nil means by the number of the token that they
	// make, as GPT-2's are numbered.
	ranks map[pair]int
	// first returns the length in bytes of the first piece of a text, within which parts are
	// merged.
	first   func(text string) int
	spell   [256]string
	largest int32
}

// pair is two neighbouring parts of a word.
type pair struct{ left, right string }

func newBPE() *Tokenizer {
	return &Tokenizer{tokens: map[string]int32{}, texts: map[int32][]byte{},
		first: firstPiece, spell: spelling()}
}

// mostVocabulary bounds the files of a vocabulary, in bytes: vocabularies of a quarter of a million
// tokens have a tenth of it.
const mostVocabulary = 64 << 20

func readBPE(vocabPath, mergesPath string) (*Tokenizer, error) {
	data, err := files.Read(files.Disk{}, vocabPath, mostVocabulary)
	if err != nil {
		return nil, err
	}
	if err := files.CheckKeys(data); err != nil {
		return nil, fmt.Errorf("%s: %w", vocabPath, err)
	}
	t := newBPE()
	if err := json.Unmarshal(data, &t.tokens); err != nil {
		return nil, fmt.Errorf("%s: %w", vocabPath, err)
	}
	if err := t.readMerges(mergesPath); err != nil {
		return nil, err
	}
	bytes := map[rune]byte{}
	for i, s := range t.spell {
		bytes[[]rune(s)[0]] = byte(i)
		if _, ok := t.tokens[s]; !ok {
			return nil, fmt.Errorf("%s has no token for the byte %#02x", vocabPath, i)
		}
	}
	for word, token := range t.tokens {
		if other, ok := t.texts[token]; ok || token < 0 {
			return nil, fmt.Errorf("%s: token %d is %.80q, and was %.80q", vocabPath, token, word,
				other)
		}
		t.texts[token] = unspell(word, bytes)
		t.largest = max(t.largest, token)
	}
	return t, nil
}

// readMerges reads one pair a line, the most important first.
func (t *Tokenizer) readMerges(path string) error {
	data, err := files.Read(files.Disk{}, path, mostVocabulary)
	if err != nil {
		return err
	}
	t.ranks = map[pair]int{}
	for i, line := range strings.Split(string(data), "\n") {
		line = strings.TrimSuffix(line, "\r")
		if line == "" || i == 0 && strings.HasPrefix(line, "#version") {
			continue
		}
		left, right, ok := strings.Cut(line, " ")
		if !ok || left == "" || right == "" || strings.Contains(right, " ") {
			return fmt.Errorf("%s:%d: %.80q is not a pair", path, i+1, line)
		}
		if _, ok := t.tokens[left+right]; !ok {
			return fmt.Errorf("%s:%d: %.80q is not in the vocabulary", path, i+1, left+right)
		}
		t.ranks[pair{left, right}] = i
	}
	return nil
}

// spelling returns the character that spells each byte: itself if it is printable, else one from
// U+0100 on.
func spelling() (spell [256]string) {
	next := rune(0x100)
	for i := range spell {
		r := rune(i)
		if r < '!' || r > '~' && r < '¡' || r == 0xad || r > 'ÿ' {
			r = next
			next++
		}
		spell[i] = string(r)
	}
	return spell
}

// unspell returns the bytes that a word of the vocabulary spells. Special tokens stand for their
// own text.
func unspell(word string, bytes map[rune]byte) []byte {
	var text []byte
	for _, r := range word {
		c, ok := bytes[r]
		if !ok {
			return []byte(word)
		}
		text = append(text, c)
	}
	return text
}

// Encode returns the tokens of text. Text is never taken for a special token.
func (t *Tokenizer) Encode(text string) ([]int32, error) {
	var tokens []int32
	var parts []string
	for text != "" {
		n := t.first(text)
		if token, ok := t.whole(text[:n]); ok {
			tokens = append(tokens, token)
			text = text[n:]
			continue
		}
		parts = parts[:0]
		for i := range n {
			parts = append(parts, t.spell[text[i]])
		}
		for _, part := range t.merge(parts) {
			tokens = append(tokens, t.tokens[part])
		}
		text = text[n:]
	}
	return tokens, nil
}

// whole returns the token of a piece that a published vocabulary has as it is, as all but few are.
func (t *Tokenizer) whole(piece string) (token int32, ok bool) {
	if t.ranks != nil {
		return 0, false
	}
	token, ok = t.tokens[t.spellOut(piece)]
	return token, ok
}

// merge joins neighbouring parts, all occurrences of the most important pair at a time, until no
// known pair is left.
func (t *Tokenizer) merge(parts []string) []string {
	for {
		best, rank := pair{}, math.MaxInt
		for i := range len(parts) - 1 {
			p := pair{parts[i], parts[i+1]}
			if r, ok := t.rank(p); ok && r < rank {
				best, rank = p, r
			}
		}
		if rank == math.MaxInt {
			return parts
		}
		merged := parts[:0]
		for i := 0; i < len(parts); i++ {
			if i+1 < len(parts) && parts[i] == best.left && parts[i+1] == best.right {
				merged = append(merged, best.left+best.right)
				i++
			} else {
				merged = append(merged, parts[i])
			}
		}
		parts = merged
	}
}

func (t *Tokenizer) rank(p pair) (int, bool) {
	if t.ranks == nil {
		token, ok := t.tokens[p.left+p.right]
		return int(token), ok
	}
	r, ok := t.ranks[p]
	return r, ok
}

// spellOut returns text with every byte spelled.
func (t *Tokenizer) spellOut(text string) string {
	var s strings.Builder
	for i := range len(text) {
		s.WriteString(t.spell[text[i]])
	}
	return s.String()
}

// Decode returns the bytes of one token, which need not be whole characters.
func (t *Tokenizer) Decode(token int32) ([]byte, error) {
	text, ok := t.texts[token]
	if !ok {
		return nil, fmt.Errorf("token %d is outside the vocabulary", token)
	}
	return text, nil
}
