package tokenizer

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// contractions are split off words.
var contractions = [...]string{"'s", "'t", "'re", "'ve", "'m", "'ll", "'d"}

// firstPiece returns the length in bytes of the first piece of text, which is not empty. Pieces are
// those of GPT-2's pattern
//
//	's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
//
// whose look-ahead Go's regular expressions do not have.
func firstPiece(text string) int {
	for _, c := range contractions {
		if strings.HasPrefix(text, c) {
			return len(c)
		}
	}
	start := 0
	if text[0] == ' ' {
		start = 1
	}
	if start < len(text) {
		r, _ := utf8.DecodeRuneInString(text[start:])
		if kind := kindOf(r); kind != space {
			return start + run(text[start:], kind)
		}
	}
	spaces := run(text, space)
	if spaces == len(text) {
		return spaces
	}
	// The last space before a word belongs to the word, unless it is the only one.
	_, last := utf8.DecodeLastRuneInString(text[:spaces])
	if spaces > last {
		return spaces - last
	}
	return spaces
}

// kind is a class of characters.
type kind uint8

const (
	space kind = iota
	letter
	number
	other
)

func kindOf(r rune) kind {
	switch {
	case unicode.IsSpace(r):
		return space
	case unicode.IsLetter(r):
		return letter
	case unicode.IsNumber(r):
		return number
	}
	return other
}

// run returns the length in bytes of the characters of one kind that text begins with.
func run(text string, k kind) int {
	for i, r := range text {
		if kindOf(r) != k {
			return i
		}
	}
	return len(text)
}
