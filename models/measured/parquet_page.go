//go:build !js

package measured

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"
)

// page is a page of a Parquet file, as its header describes it.
type page struct {
	column   *parquet.Column
	values   int64
	encoding format.Encoding
	// levels is the number of bytes before the packed part that say which values are there, or
	// inFront.
	levels int64
	// packed reports whether the rest is packed, where the column is.
	packed bool
}

// inFront says that the levels are packed with the values, in front of them and with their length.
const inFront = -1

// check refuses a page with more or longer values than its header says.
func (p *page) check(kind format.Type, levels, content []byte) error {
	if p.levels == inFront && p.column.Optional() {
		if len(content) < 4 {
			return errShort
		}
		n := int64(binary.LittleEndian.Uint32(content))
		if content = content[4:]; n > int64(len(content)) {
			return errShort
		}
		levels, content = content[:n], content[n:]
	}
	if err := p.runs(levels, 1); err != nil {
		return err
	}
	switch p.encoding {
	case format.Plain:
		return checkTexts(kind, content)
	//lint:ignore SA1019 older files have it
	case format.RLEDictionary, format.PlainDictionary:
		if len(content) == 0 {
			return nil
		}
		return p.runs(content[1:], int(content[0]))
	}
	return fmt.Errorf("encoding %s, want PLAIN or RLE_DICTIONARY", p.encoding)
}

var errShort = errors.New("a page ends too early")

// runs refuses repeated and packed numbers of width bits that are more than the values of the page.
// See "Run Length Encoding / Bit-Packing Hybrid" of the Parquet format.
func (p *page) runs(data []byte, width int) error {
	if width > 32 {
		return fmt.Errorf("numbers of %d bits", width)
	}
	const padding = 504 // the most that writers pack at once
	for count := int64(0); len(data) > 0; {
		head, n := binary.Uvarint(data)
		if n <= 0 || head > 1<<32 {
			return errors.New("a run that cannot be read")
		}
		length := (width + 7) / 8
		if count += int64(head >> 1); head&1 == 1 {
			count += 7 * int64(head>>1)
			length = int(head>>1) * width
		}
		if count > p.values+padding {
			return fmt.Errorf("a page of %d values has more", p.values)
		}
		if length > len(data)-n {
			return errShort
		}
		data = data[n+length:]
	}
	return nil
}

// checkTexts refuses texts of more than maxField bytes.
func checkTexts(kind format.Type, content []byte) error {
	for kind == format.ByteArray && len(content) > 0 {
		if len(content) < 4 {
			return errShort
		}
		n := int64(binary.LittleEndian.Uint32(content))
		if err := atMost(n, maxField, "bytes in a field"); err != nil {
			return err
		}
		if content = content[4:]; n > int64(len(content)) {
			return errShort
		}
		content = content[n:]
	}
	return nil
}
