//go:build !js

package measured

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/zstd"
	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
)

// The library makes room for what a file says of itself before it reads it. So the sizes are
// checked first.

// maxPage bounds the bytes of a page once it is unpacked; the published tables have some KiB.
const maxPage = 16 << 20

// checkFooter refuses a file whose description is said to be longer than the file.
func checkFooter(file io.ReaderAt, size int64) error {
	var tail [8]byte // the description's length and "PAR1"
	if _, err := file.ReadAt(tail[:], size-8); err != nil {
		return errors.New("too short for a Parquet file")
	}
	if n := int64(binary.LittleEndian.Uint32(tail[:])); n > size-8 || string(tail[4:]) != "PAR1" {
		return errors.New("its end is not that of a Parquet file")
	}
	return nil
}

// check refuses files that would take more memory than a table of kernels does.
func check(p *parquet.File, file io.ReaderAt, size int64) error {
	if n := p.NumRows(); n < 0 || n > maxRows {
		return fmt.Errorf("%d rows, want at most %d", n, maxRows)
	}
	if n := len(p.Schema().Columns()); n > 100 {
		return fmt.Errorf("%d columns, want at most 100", n)
	}
	for _, group := range p.Metadata().RowGroups {
		for _, column := range group.Columns {
			if err := checkPages(&column.MetaData, file, size); err != nil {
				return err
			}
		}
	}
	return nil
}

// checkPages refuses columns with pages that are larger than maxPage or not in the file.
func checkPages(c *format.ColumnMetaData, file io.ReaderAt, size int64) error {
	at := c.DataPageOffset
	if c.DictionaryPageOffset > 0 {
		at = min(at, c.DictionaryPageOffset)
	}
	end := at + c.TotalCompressedSize
	if at < 0 || c.TotalCompressedSize < 0 || end > size {
		return errors.New("a column is not in the file")
	}
	var protocol thrift.CompactProtocol
	for at < end {
		section := &counter{r: io.NewSectionReader(file, at, end-at)}
		buffered := bufio.NewReaderSize(section, 256)
		var page format.PageHeader
		if err := thrift.NewDecoder(protocol.NewReader(buffered)).Decode(&page); err != nil {
			return fmt.Errorf("the header of a page: %w", err)
		}
		packed, unpacked := int64(page.CompressedPageSize), int64(page.UncompressedPageSize)
		if packed < 0 || unpacked < 0 || packed > end-at || unpacked > maxPage {
			return fmt.Errorf("a page of %d bytes, %d unpacked, is larger than any of a table",
				packed, unpacked)
		}
		at += section.n - int64(buffered.Buffered())
		body := at
		// before the packed part are two that are not
		if v2, ok := page.DataPageHeaderV2.Get(); ok {
			body += int64(v2.RepetitionLevelsByteLength) + int64(v2.DefinitionLevelsByteLength)
		}
		at += packed
		if body < at {
			if err := checkPacked(c.Codec, io.NewSectionReader(file, body, at-body)); err != nil {
				return err
			}
		}
	}
	return nil
}

// checkPacked refuses a page that unpacks to more than maxPage: by its own account, which the
// libraries hold it to, or where it gives none, as far as that is unpacked.
func checkPacked(codec format.CompressionCodec, page io.Reader) error {
	var start [zstd.HeaderMaxSize]byte
	n, err := io.ReadFull(page, start[:])
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
		return err
	}
	unpacked := uint64(0)
	switch codec {
	case format.Uncompressed:
	case format.Snappy:
		unpacked, _ = binary.Uvarint(start[:n])
	case format.Zstd:
		var h zstd.Header
		if err := h.Decode(start[:n]); err != nil {
			return err
		}
		if unpacked = h.FrameContentSize; !h.HasFCS {
			unpacked = unpackedSize(io.MultiReader(bytes.NewReader(start[:n]), page))
		}
	default:
		return fmt.Errorf("columns are packed with %s, want Zstandard or Snappy", codec)
	}
	if unpacked > maxPage {
		return fmt.Errorf("a page of %d bytes, unpacked, is larger than any of a table", unpacked)
	}
	return nil
}

// unpackedSize returns the bytes that a stream of Zstandard unpacks to, or a little more than
// maxPage where they are more. What is broken counts as far as it is whole.
func unpackedSize(packed io.Reader) uint64 {
	r, err := zstd.NewReader(packed, zstd.WithDecoderConcurrency(1),
		zstd.WithDecoderMaxMemory(maxPage), zstd.WithDecoderLowmem(true))
	if err != nil {
		return 0
	}
	defer r.Close()
	n, err := io.Copy(io.Discard, io.LimitReader(r, maxPage+1))
	if errors.Is(err, zstd.ErrWindowSizeExceeded) || errors.Is(err, zstd.ErrDecoderSizeExceeded) {
		return maxPage + 1
	}
	return uint64(n)
}

// counter counts what is read.
type counter struct {
	r io.Reader
	n int64
}

func (c *counter) Read(b []byte) (int, error) {
	n, err := c.r.Read(b)
	c.n += int64(n)
	return n, err
}
