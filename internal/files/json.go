package files

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"unicode"
)

// CheckKeys reports the first key that an object of a JSON document has twice; readers would take
// one or the other. The error names its line. Whether the document is JSON at all is for others to
// say.
func CheckKeys(data []byte) error {
	return checkKeys(data, func(key string) string { return key })
}

// CheckFields is CheckKeys for documents that encoding/json decodes into structs, for which it
// takes keys in large and small letters alike.
func CheckFields(data []byte) error {
	return checkKeys(data, func(key string) string { return strings.Map(folded, key) })
}

// folded returns one of the letters that differ in case only, the same for each of them.
func folded(r rune) rune {
	first := r
	for next := unicode.SimpleFold(r); next != r; next = unicode.SimpleFold(next) {
		first = min(first, next)
	}
	return unicode.ToLower(first) // most keys are in small letters, and stay as they are
}

// KeyTwice is the error of a key that an object has twice.
type KeyTwice string

// Error names the key.
func (k KeyTwice) Error() string { return fmt.Sprintf("the key %.60q is given twice", string(k)) }

// maxDepth is the nesting depth beyond which encoding/json refuses a document.
const maxDepth = 10_000

// checkKeys looks for brackets and texts only, which is several times as fast as a decoder: traces
// have millions of objects.
func checkKeys(data []byte, same func(key string) string) error {
	var open []map[string]bool // the keys of the objects that are open; nil for a list
	next := false              // the next text is a key
	for i := 0; i < len(data) && len(open) <= maxDepth; i++ {
		top := len(open) - 1
		switch data[i] {
		case '{':
			open, next = append(open, map[string]bool{}), true
		case '[':
			open, next = append(open, nil), false
		case '}', ']':
			if top < 0 {
				return nil
			}
			open, next = open[:top], false
		case ',':
			next = top >= 0 && open[top] != nil
		case '"':
			end := textEnd(data, i)
			if end < 0 {
				return nil
			}
			if next {
				name := unquoted(data[i : end+1])
				key := same(name)
				if open[top][key] {
					line := 1 + bytes.Count(data[:i], []byte("\n"))
					return fmt.Errorf("line %d: %w", line, KeyTwice(name))
				}
				open[top][key] = true
			}
			i, next = end, false
		}
	}
	return nil
}

// textEnd returns where the text ends that begins at a quotation mark, or -1.
func textEnd(data []byte, at int) int {
	for i := at + 1; i < len(data); i++ {
		n := bytes.IndexByte(data[i:], '"')
		if n < 0 {
			return -1
		}
		i += n
		strokes := 0
		for data[i-1-strokes] == '\\' {
			strokes++
		}
		if strokes%2 == 0 {
			return i
		}
	}
	return -1
}

// unquoted returns what a text means.
func unquoted(text []byte) string {
	var s string
	if bytes.IndexByte(text, '\\') < 0 || json.Unmarshal(text, &s) != nil {
		return string(text[1 : len(text)-1])
	}
	return s
}
