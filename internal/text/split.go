package text

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// contractions are split off words.
var contractions = [...]string{"'s", "'t", "'re", "'ve", "'m", "'ll", "'d"}

// firstPiece returns the length in bytes of the first piece of text, which is not empty. Pieces
// match GPT-2's pattern
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
	return spaceBefore(text)
}

// spaceBefore returns the length in bytes of the white space that text begins with, without the
// last one if a word follows, to which it belongs; a single one is kept.
func spaceBefore(text string) int {
	spaces := run(text, space)
	if spaces == len(text) {
		return spaces
	}
	_, last := utf8.DecodeLastRuneInString(text[:spaces])
	if spaces > last {
		return spaces - last
	}
	return spaces
}

// firstPieceCL100K returns the length in bytes of the first piece of text, which is not empty.
// Pieces match the pattern of cl100k_base (openai/tiktoken, tiktoken_ext/openai_public.py)
//
//	'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|
//	\s*[\r\n]+|\s+(?!\S)|\s+
func firstPieceCL100K(text string) int {
	for _, c := range contractions {
		if len(text) >= len(c) && lower(text[:len(c)]) == c {
			return len(c)
		}
	}
	r, size := utf8.DecodeRuneInString(text)
	of := kindOf(r)
	if of == number {
		return digits(text)
	}
	before := 0
	if of != letter && r != '\r' && r != '\n' {
		before = size
	}
	if n := run(text[before:], letter); n > 0 {
		return before + n
	}
	before = 0
	if r == ' ' {
		before = 1
	}
	if n := run(text[before:], other); n > 0 {
		n += before
		return n + len(text[n:]) - len(strings.TrimLeft(text[n:], "\r\n"))
	}
	if n := strings.LastIndexAny(text[:run(text, space)], "\r\n"); n >= 0 {
		return n + 1
	}
	return spaceBefore(text)
}

// lower returns s with the letters of ASCII in lower case, others as they are.
func lower(s string) string {
	return strings.Map(func(r rune) rune {
		if 'A' <= r && r <= 'Z' {
			r += 'a' - 'A'
		}
		return r
	}, s)
}

// digits returns the length in bytes of the numbers that text begins with, three at most.
func digits(text string) int {
	end := 0
	for range 3 {
		r, size := utf8.DecodeRuneInString(text[end:])
		if size == 0 || kindOf(r) != number {
			break
		}
		end += size
	}
	return end
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
