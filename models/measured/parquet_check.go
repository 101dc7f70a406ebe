//go:build !js

package measured

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zstd"
	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
)

// The library makes room for what a file says of itself before it reads it. So the sizes are
// checked first.

// checkFooter refuses a file whose description is not as long as it says.
func checkFooter(data []byte) error {
	end := len(data) - 8 // the description's length and "PAR1"
	if end < 0 || string(data[end+4:]) != "PAR1" {
		return errors.New("its end is not that of a Parquet file")
	}
	length := int64(binary.LittleEndian.Uint32(data[end:]))
	if err := atMost(length, maxFooter, "bytes of description"); err != nil {
		return err
	}
	if length > int64(end) {
		return errors.New("its description is longer than the file")
	}
	_, err := structLength(data[end-int(length) : end])
	return err
}

// checkParquet refuses files that would take more memory or time than a table of kernels does.
func checkParquet(p *parquet.File, data []byte) error {
	columns := p.Root().Columns()
	if err := errors.Join(atMost(p.NumRows(), maxRows, "rows"),
		atMost(int64(len(columns)), maxColumns, "columns")); err != nil {
		return err
	}
	unpacker, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1),
		zstd.WithDecoderMaxMemory(maxUnpacked), zstd.WithDecoderLowmem(true))
	if err != nil {
		return err
	}
	defer unpacker.Close()
	c := checker{data: data, zstd: unpacker}
	for _, group := range p.Metadata().RowGroups {
		if len(group.Columns) != len(columns) {
			return errors.New("a group of rows does not have all columns")
		}
		for i := range group.Columns {
			if err := c.column(columns[i], &group.Columns[i].MetaData); err != nil {
				return fmt.Errorf("column %.60s: %w", columns[i].Name(), err)
			}
		}
	}
	return nil
}

// checker adds up what the columns of a file take.
type checker struct {
	data                     []byte
	zstd                     *zstd.Decoder
	packed, unpacked, values int64
}

// column refuses a column that is not flat or not in the file, and its pages.
func (c *checker) column(column *parquet.Column, m *format.ColumnMetaData) error {
	switch kind := m.Type; {
	case !column.Leaf() || column.Repeated():
		return errors.New("holds lists or further columns, want single values")
	case kind == format.FixedLenByteArray || kind == format.Int96:
		return fmt.Errorf("has values of type %s, want numbers or texts", kind)
	}
	at, size := m.DataPageOffset, m.TotalCompressedSize
	if m.DictionaryPageOffset > 0 {
		at = min(at, m.DictionaryPageOffset)
	}
	if n := int64(len(c.data)); at < 0 || size < 0 || at > n || size > n-at {
		return errors.New("is not in the file")
	}
	if c.packed += size; c.packed > int64(len(c.data)) {
		return errors.New("shares its pages with others")
	}
	for rest := c.data[at : at+size]; len(rest) > 0; {
		n, err := structLength(rest)
		if err != nil {
			return fmt.Errorf("the header of a page: %w", err)
		}
		var header format.PageHeader
		if err := thrift.Unmarshal(&thrift.CompactProtocol{}, rest[:n], &header); err != nil {
			return fmt.Errorf("the header of a page: %w", err)
		}
		body := rest[n:]
		if header.CompressedPageSize < 0 || int(header.CompressedPageSize) > len(body) {
			return errors.New("a page is not in the file")
		}
		body, rest = body[:header.CompressedPageSize], body[header.CompressedPageSize:]
		if err := c.page(column, m, &header, body); err != nil {
			return err
		}
	}
	return nil
}

// page refuses a page that is not what its header says.
func (c *checker) page(column *parquet.Column, m *format.ColumnMetaData, h *format.PageHeader,
	body []byte) error {
	p := page{column: column, packed: true}
	switch h.Type {
	case format.DictionaryPage:
		v := &h.DictionaryPageHeader.V
		p.values, p.encoding = int64(v.NumValues), v.Encoding
		//lint:ignore SA1019 older files have it
		if v.Encoding == format.PlainDictionary {
			p.encoding = format.Plain // its older name in a dictionary
		}
	case format.DataPage:
		v := &h.DataPageHeader.V
		p.values, p.encoding = int64(v.NumValues), v.Encoding
		p.levels = inFront
		if column.Optional() && v.DefinitionLevelEncoding != format.RLE {
			return fmt.Errorf("encoding %s, want RLE", v.DefinitionLevelEncoding)
		}
	case format.DataPageV2:
		v := &h.DataPageHeaderV2.V
		p.values, p.encoding = int64(v.NumValues), v.Encoding
		p.levels = int64(v.DefinitionLevelsByteLength)
		p.packed = !v.IsCompressed.Valid || v.IsCompressed.V
		if v.RepetitionLevelsByteLength != 0 || p.levels < 0 || p.levels > int64(len(body)) {
			return errors.New("a page is shorter than its levels")
		}
	default:
		return fmt.Errorf("a page of type %s", h.Type)
	}
	if c.values += p.values; p.values < 0 || c.values > maxValues {
		return atMost(c.values, maxValues, "values")
	}
	outside := max(p.levels, 0)
	content, err := c.unpack(m.Codec, body[outside:], p.packed)
	if err != nil {
		return err
	}
	if int64(h.UncompressedPageSize) != outside+int64(len(content)) {
		return fmt.Errorf("a page of %d bytes says that it has %d", outside+int64(len(content)),
			h.UncompressedPageSize)
	}
	return p.check(m.Type, body[:outside], content)
}

// unpack returns what a page holds.
func (c *checker) unpack(codec format.CompressionCodec, body []byte, packed bool) (
	content []byte, err error) {
	switch {
	case codec == format.Uncompressed || !packed:
		content = body
	case codec == format.Snappy:
		var n int
		if n, err = snappy.DecodedLen(body); err == nil {
			err = atMost(int64(n), maxUnpacked, "bytes in a page")
		}
		if err == nil {
			content, err = snappy.Decode(nil, body)
		}
	case codec == format.Zstd:
		content, err = c.zstd.DecodeAll(body, nil)
	default:
		err = fmt.Errorf("packed with %s, want Zstandard or Snappy", codec)
	}
	if err == nil {
		c.unpacked += int64(len(content))
		err = atMost(c.unpacked, maxUnpacked, "bytes, once unpacked")
	}
	return content, err
}
