package safetensors

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
)

// maxHeader is the longest header accepted, in bytes: the limit of the reference implementation.
const maxHeader = 100_000_000

// Info describes one tensor: its number format, its shape (row-major) and the bytes [Begin, End) of
// the data section.
type Info struct {
	Name       string
	DType      DType
	Shape      []int64
	Begin, End int64
}

// Elements returns the number of elements.
func (t *Info) Elements() int64 {
	n := int64(1)
	for _, d := range t.Shape {
		n *= d
	}
	return n
}

// entry is the JSON form of a tensor in the header.
type entry struct {
	DType   DType    `json:"dtype"`
	Shape   []int64  `json:"shape"`
	Offsets [2]int64 `json:"data_offsets"`
}

// parseHeader reads the JSON header of a file whose data section is dataSize bytes long and returns
// its tensors in the order of the data. The tensors must cover the data section without gap or
// overlap, as the format demands.
func parseHeader(header []byte, dataSize int64) ([]Info, error) {
	tensors, err := decodeEntries(header)
	if err != nil {
		return nil, err
	}
	for i := range tensors {
		if err := tensors[i].check(dataSize); err != nil {
			return nil, err
		}
	}
	slices.SortFunc(tensors, func(a, b Info) int {
		return cmp.Or(cmp.Compare(a.Begin, b.Begin), cmp.Compare(a.End, b.End),
			strings.Compare(a.Name, b.Name))
	})
	end := int64(0)
	for i := range tensors {
		t := &tensors[i]
		if t.Begin != end {
			return nil, fmt.Errorf(
				"tensor %q begins at byte %d of the data, but the tensor before it ends at %d",
				t.Name, t.Begin, end)
		}
		end = t.End
	}
	if end != dataSize {
		return nil, fmt.Errorf(
			"the header describes %d bytes of data, but the file has %d: truncated or not a "+
				"safetensors file", end, dataSize)
	}
	return tensors, nil
}

// decodeEntries decodes the JSON object by hand, because a repeated name must be an error.
func decodeEntries(header []byte) ([]Info, error) {
	dec := json.NewDecoder(bytes.NewReader(header))
	if tok, err := dec.Token(); err != nil || tok != json.Delim('{') {
		return nil, errors.New("the header is not a JSON object")
	}
	var tensors []Info
	seen := map[string]bool{}
	for dec.More() {
		tok, err := dec.Token()
		if err != nil {
			return nil, fmt.Errorf("the header is not valid JSON: %w", err)
		}
		name := tok.(string) // the keys of a JSON object are strings
		if seen[name] {
			return nil, fmt.Errorf("the header names %q twice", name)
		}
		seen[name] = true
		if name == "__metadata__" {
			var metadata map[string]string
			if err := dec.Decode(&metadata); err != nil {
				return nil, fmt.Errorf("header entry __metadata__: %w", err)
			}
			continue
		}
		var e entry
		if err := dec.Decode(&e); err != nil {
			return nil, fmt.Errorf("header entry %q: %w", name, err)
		}
		tensors = append(tensors, Info{name, e.DType, e.Shape, e.Offsets[0], e.Offsets[1]})
	}
	if _, err := dec.Token(); err != nil {
		return nil, fmt.Errorf("the header is not valid JSON: %w", err)
	}
	if _, err := dec.Token(); err != io.EOF {
		return nil, errors.New("the header has text after its JSON object")
	}
	return tensors, nil
}

// check reports a tensor whose shape, format and offsets contradict each other or the size of the
// data section.
func (t *Info) check(dataSize int64) error {
	size := t.DType.size()
	if size == 0 {
		return fmt.Errorf("tensor %q has the unknown format %q", t.Name, t.DType)
	}
	if t.Begin < 0 || t.End < t.Begin || t.End > dataSize {
		return fmt.Errorf("tensor %q lies at bytes %d to %d of a data section of %d bytes: "+
			"truncated or lying header", t.Name, t.Begin, t.End, dataSize)
	}
	bytes := size
	for _, d := range t.Shape {
		if d < 0 {
			return fmt.Errorf("tensor %q has the shape %v", t.Name, t.Shape)
		}
		if d != 0 && bytes > math.MaxInt64/d {
			return fmt.Errorf("tensor %q has the shape %v, which is too large", t.Name, t.Shape)
		}
		bytes *= d
	}
	if bytes != t.End-t.Begin {
		return fmt.Errorf("tensor %q of shape %v and format %s takes %d bytes, but the header "+
			"gives it %d", t.Name, t.Shape, t.DType, bytes, t.End-t.Begin)
	}
	return nil
}
