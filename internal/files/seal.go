package files

import (
	"bytes"
	"errors"
	"fmt"
	"hash/crc64"
)

// Seal is a checksum at the end of a text that the program writes for itself: the CRC-64 of what
// stands before it, in 16 hexadecimal digits. It finds every change within 8 adjacent bytes, and
// others but for one in 2^64. It is no signature: whoever changes a text on purpose can seal it.
type Seal struct{ before, after string }

// ObjectSeal seals a JSON object that is not empty, as its last key.
func ObjectSeal() Seal { return Seal{`,"sum":"`, `"}`} }

// LinesSeal seals lines of YAML, as a comment in the last line.
func LinesSeal() Seal { return Seal{"# sum: ", "\n"} }

// ErrUnsealed is the error of a text without a seal.
var ErrUnsealed = errors.New("found no sum at its end: it was cut off, or written by an older " +
	"version or another program")

// errChanged is the error of a text that its seal does not belong to.
var errChanged = errors.New("found contents that do not have the sum at their end: they were " +
	"changed after they were written")

// Add returns a text with its seal, in a slice of its own.
func (s Seal) Add(text []byte) []byte {
	if s == ObjectSeal() {
		text = bytes.TrimRight(bytes.TrimSuffix(text, []byte("}")), " \n")
	}
	return fmt.Append(bytes.Clone(text), s.before, s.sum(text), s.after)
}

// Open checks the seal of a text, and returns the text without it.
func (s Seal) Open(text []byte) ([]byte, error) {
	length := len(s.before) + 16 + len(s.after)
	at := len(text) - length
	if at < 0 || !bytes.HasPrefix(text[at:], []byte(s.before)) ||
		!bytes.HasSuffix(text, []byte(s.after)) {
		return nil, ErrUnsealed
	}
	bare := text[:at:at]
	if s.sum(bare) != string(text[at+len(s.before):len(text)-len(s.after)]) {
		return nil, errChanged
	}
	if s == ObjectSeal() {
		return append(bare, '}'), nil
	}
	return bare, nil
}

func (s Seal) sum(text []byte) string {
	return fmt.Sprintf("%016x", crc64.Checksum(text, crc64.MakeTable(crc64.ECMA)))
}
