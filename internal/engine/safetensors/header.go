package safetensors

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/llmsim/llmsim/internal/files"
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

// decodeEntries decodes the JSON object; a repeated name is an error.
func decodeEntries(header []byte) ([]Info, error) {
	var entries map[string]json.RawMessage
	if err := json.Unmarshal(header, &entries); err != nil || entries == nil {
		return nil, fmt.Errorf("the header is not a JSON object: %w",
			cmp.Or(err, errors.New("found null")))
	}
	if err := files.CheckKeys(header); err != nil {
		return nil, fmt.Errorf("the header: %w", err)
	}
	var tensors []Info
	for _, name := range slices.Sorted(maps.Keys(entries)) {
		var e entry
		var into any = &e
		metadata := name == "__metadata__"
		if metadata {
			into = &map[string]string{}
		}
		if err := json.Unmarshal(entries[name], into); err != nil {
			return nil, fmt.Errorf("header entry %q: %w", name, err)
		}
		if !metadata {
			tensors = append(tensors, Info{name, e.DType, e.Shape, e.Offsets[0], e.Offsets[1]})
		}
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
