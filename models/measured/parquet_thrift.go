//go:build !js

package measured

import (
	"encoding/binary"
	"errors"
)

// The types of Thrift's compact protocol.
const (
	thriftTrue   = 1
	thriftFalse  = 2
	thriftByte   = 3
	thriftI16    = 4
	thriftI64    = 6
	thriftDouble = 7
	thriftBinary = 8
	thriftList   = 9
	thriftSet    = 10
	thriftStruct = 12
)

// maxDepth bounds structures within structures; those of Parquet have five levels.
const maxDepth = 16

var errThrift = errors.New("its description of itself is broken")

// structLength returns the length of the structure of Thrift's compact protocol that data begins
// with. It is an error if a text or a list in it is longer than data has bytes for it.
func structLength(data []byte) (int, error) {
	s := scanner{data}
	if !s.structure(maxDepth) {
		return 0, errThrift
	}
	return len(data) - len(s.rest), nil
}

// scanner skips values of Thrift's compact protocol. Its methods report whether they are whole.
type scanner struct{ rest []byte }

func (s *scanner) structure(depth int) bool {
	for depth > 0 {
		head, ok := s.byte()
		if !ok || head == 0 {
			return ok
		}
		if head>>4 == 0 && !s.number() { // the field has its number with it
			return false
		}
		kind := head & 0xf
		if kind != thriftTrue && kind != thriftFalse && !s.value(kind, depth-1) {
			return false
		}
	}
	return false
}

func (s *scanner) value(kind byte, depth int) bool {
	switch {
	case kind == thriftTrue, kind == thriftFalse, kind == thriftByte:
		return s.skip(1)
	case kind >= thriftI16 && kind <= thriftI64:
		return s.number()
	case kind == thriftDouble:
		return s.skip(8)
	case kind == thriftBinary:
		n, ok := s.length()
		return ok && s.skip(n)
	case kind == thriftList, kind == thriftSet:
		return s.list(depth)
	case kind == thriftStruct:
		return s.structure(depth)
	}
	return false // Parquet has no maps
}

func (s *scanner) list(depth int) bool {
	head, ok := s.byte()
	n := int(head >> 4)
	if ok && n == 0xf {
		n, ok = s.length()
	}
	if !ok || n > len(s.rest) || depth == 0 {
		return false
	}
	for range n {
		if !s.value(head&0xf, depth-1) {
			return false
		}
	}
	return true
}

// length reads a length, of at most as many as bytes are left.
func (s *scanner) length() (int, bool) {
	v, n := binary.Uvarint(s.rest)
	if n <= 0 || v > uint64(len(s.rest)-n) {
		return 0, false
	}
	s.rest = s.rest[n:]
	return int(v), true
}

func (s *scanner) number() bool {
	_, n := binary.Uvarint(s.rest)
	return n > 0 && s.skip(n)
}

func (s *scanner) byte() (byte, bool) {
	if len(s.rest) == 0 {
		return 0, false
	}
	b := s.rest[0]
	return b, s.skip(1)
}

func (s *scanner) skip(n int) bool {
	if n > len(s.rest) {
		return false
	}
	s.rest = s.rest[n:]
	return true
}
