//go:build !js

package measured

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"

	"github.com/parquet-go/parquet-go"

	"github.com/llmsim/llmsim/internal/files"
)

// eachOfParquet calls f with every row of a Parquet file of flat columns.
func eachOfParquet(dir fs.FS, name string, f func(*Row)) (err error) {
	defer func() {
		// The library checks what it reads in most places, and panics in others.
		if p := recover(); p != nil {
			err = fmt.Errorf("%s: not a Parquet file that can be read: %v", name, p)
		}
	}()
	data, err := files.Read(dir, name, maxBytes)
	if err != nil {
		return err
	}
	p, err := openParquet(data)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	var header []string
	for _, column := range p.Schema().Columns() {
		header = append(header, strings.Join(column, "."))
	}
	row, err := newRow(header)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return rows(name, p, row, f)
}

// openParquet opens a file that is read within the limits.
func openParquet(data []byte) (*parquet.File, error) {
	if err := checkFooter(data); err != nil {
		return nil, err
	}
	p, err := parquet.OpenFile(bytes.NewReader(data), int64(len(data)),
		parquet.SkipPageIndex(true), parquet.SkipBloomFilters(true))
	if err != nil {
		return nil, err
	}
	return p, checkParquet(p, data)
}

// rows calls f with every row.
func rows(name string, p *parquet.File, r *Row, f func(*Row)) error {
	reader := parquet.NewReader(p)
	defer reader.Close()
	buffer := make([]parquet.Row, 512)
	for number := int64(1); ; {
		n, err := reader.ReadRows(buffer)
		for _, row := range buffer[:n] {
			if len(row) != len(r.fields) {
				return fmt.Errorf("%s: row %d has %d values for %d columns", name, number, len(row),
					len(r.fields))
			}
			for i, v := range row {
				if r.fields[i] = ""; !v.IsNull() {
					r.fields[i] = v.String()
				}
			}
			if f(r); r.err != nil {
				return fmt.Errorf("%s: row %d: %w", name, number, r.err)
			}
			number++
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			err = atMost(number-1, maxRows, "rows")
		}
		if err != nil {
			return fmt.Errorf("%s: row %d: %w", name, number, err)
		}
	}
}
