package openai

import (
	"fmt"
	"regexp"
	"regexp/syntax"
	"strings"
	"unicode/utf8"
)

// maxPattern bounds a pattern, in bytes.
const maxPattern = 1 << 12

// matching makes up a short text that a regular expression finds a match in. Patterns that Go's
// engine does not know, such as look-ahead, are refused.
func matching(pattern string) (string, error) {
	if len(pattern) > maxPattern {
		return "", fmt.Errorf("pattern: found %d bytes, allowed: at most %d", len(pattern),
			maxPattern)
	}
	tree, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return "", fmt.Errorf("pattern: found %q, which this server cannot follow",
			shorten(pattern))
	}
	compiled, err := regexp.Compile(pattern)
	if err != nil {
		return "", fmt.Errorf("pattern: found %q, which this server cannot follow",
			shorten(pattern))
	}
	var text strings.Builder
	spell(&text, tree)
	if s := text.String(); compiled.MatchString(s) && utf8.ValidString(s) {
		return s, nil
	}
	return "", fmt.Errorf("pattern: found %q, for which this server can make up no text",
		shorten(pattern))
}

// spell writes what a part of an expression matches, as short as may be.
func spell(text *strings.Builder, part *syntax.Regexp) {
	if text.Len() > maxInstance {
		return
	}
	switch part.Op {
	case syntax.OpLiteral:
		for _, r := range part.Rune {
			text.WriteRune(r)
		}
	case syntax.OpCharClass:
		text.WriteRune(member(part.Rune))
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		text.WriteByte('a')
	case syntax.OpCapture, syntax.OpPlus:
		spell(text, part.Sub[0])
	case syntax.OpRepeat:
		for range part.Min {
			spell(text, part.Sub[0])
		}
	case syntax.OpConcat:
		for _, sub := range part.Sub {
			spell(text, sub)
		}
	case syntax.OpAlternate:
		spell(text, part.Sub[0])
	}
}

// member returns a character of a class, given as ranges: a letter or a digit if there is one.
func member(ranges []rune) rune {
	for _, want := range "a0A" {
		for i := 0; i+1 < len(ranges); i += 2 {
			if ranges[i] <= want && want <= ranges[i+1] {
				return want
			}
		}
	}
	if len(ranges) == 0 {
		return 'a'
	}
	return ranges[0]
}
