package safetensors

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"math"

	"github.com/llmsim/llmsim/internal/files"
)

// Spec names a float32 tensor to be written.
type Spec struct {
	Name  string
	Shape []int64
}

// Create writes a file of F32 tensors in the order given. It calls fill for each tensor and row
// (the last dimension), so that a tensor need not be in memory as a whole; fill writes every
// element of row. The file appears once it is whole; an error of fill ends it.
func Create(path string, tensors []Spec, fill func(tensor int, row []float32) error) error {
	header, err := encodeHeader(tensors)
	if err != nil {
		return err
	}
	return files.Write(path, func(w io.Writer) error {
		if _, err := w.Write(header); err != nil {
			return err
		}
		return writeTensors(w, tensors, fill)
	})
}

func writeTensors(w io.Writer, tensors []Spec, fill func(tensor int, row []float32) error) error {
	for i, t := range tensors {
		width := t.Shape[len(t.Shape)-1]
		row := make([]float32, width)
		raw := make([]byte, 4*width)
		for range rows(t.Shape) {
			if err := fill(i, row); err != nil {
				return err
			}
			for j, v := range row {
				binary.LittleEndian.PutUint32(raw[4*j:], math.Float32bits(v))
			}
			if _, err := w.Write(raw); err != nil {
				return err
			}
		}
	}
	return nil
}

// rows returns the number of vectors along the last dimension.
func rows(shape []int64) int64 {
	n := int64(1)
	for _, d := range shape[:len(shape)-1] {
		n *= d
	}
	return n
}

// encodeHeader returns the length prefix and the header, padded with spaces to a multiple of 8 as
// the format recommends.
func encodeHeader(tensors []Spec) ([]byte, error) {
	var b bytes.Buffer
	b.Write(make([]byte, 8))
	b.WriteString(`{"__metadata__":{"format":"pt"}`)
	at := int64(0)
	for _, t := range tensors {
		if len(t.Shape) == 0 {
			return nil, fmt.Errorf("tensor %q has no dimension", t.Name)
		}
		end := at + 4*rows(t.Shape)*t.Shape[len(t.Shape)-1]
		name, err := json.Marshal(t.Name)
		if err != nil {
			return nil, err
		}
		value, err := json.Marshal(entry{F32, t.Shape, [2]int64{at, end}})
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(&b, ",%s:%s", name, value)
		at = end
	}
	b.WriteByte('}')
	for b.Len()%8 != 0 {
		b.WriteByte(' ')
	}
	binary.LittleEndian.PutUint64(b.Bytes(), uint64(b.Len()-8))
	return b.Bytes(), nil
}
