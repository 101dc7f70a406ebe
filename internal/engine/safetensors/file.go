// Package safetensors reads and writes the safetensors file format
// (github.com/huggingface/safetensors): eight bytes that give the length of a JSON header, the
// header with the name, format, shape and place of every tensor, and the data.
//
// The header of a file from elsewhere is not trusted: lengths, shapes and offsets are checked
// against each other and against the size of the file before anything is allocated from them.
package safetensors

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"os"
)

// File is an open safetensors file. Its methods may be called from several goroutines at once.
type File struct {
	f       *os.File
	path    string
	data    int64 // offset of the data section in the file
	tensors []Info
	byName  map[string]int
}

// Open opens the file and checks its header. The errors name the file.
func Open(path string) (*File, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	file, err := read(f)
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	file.path = path
	return file, nil
}

func read(f *os.File) (*File, error) {
	stat, err := f.Stat()
	if err != nil {
		return nil, err
	}
	var prefix [8]byte
	if _, err := f.ReadAt(prefix[:], 0); err != nil {
		return nil, fmt.Errorf("the file has %d bytes, too few for a safetensors file", stat.Size())
	}
	length := binary.LittleEndian.Uint64(prefix[:])
	if length > maxHeader || int64(length) > stat.Size()-8 {
		return nil, fmt.Errorf(
			"the header claims %d bytes in a file of %d: truncated or not a safetensors file",
			length, stat.Size())
	}
	header := make([]byte, length)
	if _, err := f.ReadAt(header, 8); err != nil {
		return nil, fmt.Errorf("reading the header: %w", err)
	}
	data := 8 + int64(length)
	tensors, err := parseHeader(header, stat.Size()-data)
	if err != nil {
		return nil, err
	}
	byName := make(map[string]int, len(tensors))
	for i := range tensors {
		byName[tensors[i].Name] = i
	}
	return &File{f: f, data: data, tensors: tensors, byName: byName}, nil
}

// Close closes the file.
func (f *File) Close() error { return f.f.Close() }

// Path returns the name under which the file was opened.
func (f *File) Path() string { return f.path }

// Tensors returns what the file holds, in the order of the data. The slice must not be changed.
func (f *File) Tensors() []Info { return f.tensors }

// Lookup returns the tensor of that name, or nil.
func (f *File) Lookup(name string) *Info {
	if i, ok := f.byName[name]; ok {
		return &f.tensors[i]
	}
	return nil
}

// Float32s fills dst, which has t.Elements() elements, with the values of a tensor of this file
// whose format is F32, F16 or BF16.
func (f *File) Float32s(t *Info, dst []float32) error {
	if !t.DType.IsFloat() {
		return fmt.Errorf("%s: tensor %q is stored as %s; F32, F16 and BF16 can be read", f.path,
			t.Name, t.DType)
	}
	if int64(len(dst)) != t.Elements() {
		return fmt.Errorf("%s: tensor %q has %d elements, not %d", f.path, t.Name, t.Elements(),
			len(dst))
	}
	size := int(t.DType.size())
	buf := make([]byte, min(1<<20, len(dst)*size))
	at := f.data + t.Begin
	for len(dst) > 0 {
		n := min(len(buf)/size, len(dst))
		if _, err := f.f.ReadAt(buf[:n*size], at); err != nil {
			if err == io.EOF {
				err = io.ErrUnexpectedEOF
			}
			return fmt.Errorf("%s: reading tensor %q: %w", f.path, t.Name, err)
		}
		t.DType.decode(dst[:n], buf[:n*size])
		dst = dst[n:]
		at += int64(n * size)
	}
	return nil
}

// DType is a number format as the header spells it.
type DType string

// The formats that can be read as float32.
const (
	F32  DType = "F32"
	F16  DType = "F16"
	BF16 DType = "BF16"
)

// size returns the bytes of one element, or 0 for a format that the file format does not know.
func (d DType) size() int64 {
	switch d {
	case "BOOL", "U8", "I8", "F8_E5M2", "F8_E4M3":
		return 1
	case "U16", "I16", F16, BF16:
		return 2
	case "U32", "I32", F32:
		return 4
	case "U64", "I64", "F64":
		return 8
	}
	return 0
}

// decode fills dst from the little-endian bytes of src, which holds len(dst) elements of a format
// that IsFloat accepts.
func (d DType) decode(dst []float32, src []byte) {
	switch d {
	case F32:
		for i := range dst {
			dst[i] = math.Float32frombits(binary.LittleEndian.Uint32(src[4*i:]))
		}
	case F16:
		for i := range dst {
			dst[i] = float16(binary.LittleEndian.Uint16(src[2*i:]))
		}
	case BF16:
		for i := range dst {
			dst[i] = math.Float32frombits(uint32(binary.LittleEndian.Uint16(src[2*i:])) << 16)
		}
	}
}

// IsFloat reports whether tensors of the format can be read as float32: F32, F16 and BF16.
func (d DType) IsFloat() bool { return d == F32 || d == F16 || d == BF16 }

// float16 converts an IEEE 754 half-precision number; every one is exact in float32.
func float16(h uint16) float32 {
	sign := uint32(h>>15) << 31
	exponent := uint32(h>>10) & 0x1f
	fraction := uint32(h) & 0x3ff
	switch exponent {
	case 0: // zero and subnormals: fraction · 2⁻²⁴
		f := float32(fraction) * (1.0 / (1 << 24))
		return math.Float32frombits(math.Float32bits(f) | sign)
	case 0x1f: // infinity and NaN
		return math.Float32frombits(sign | 0x7f800000 | fraction<<13)
	}
	return math.Float32frombits(sign | (exponent+127-15)<<23 | fraction<<13)
}
