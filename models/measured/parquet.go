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
)

// eachOfParquet calls f with every row of a Parquet file of flat columns.
func eachOfParquet(dir fs.FS, name string, f func(*Row)) (err error) {
	defer func() {
		// The library checks what it reads in most places, and panics in others.
		if p := recover(); p != nil {
			err = fmt.Errorf("%s: not a Parquet file that can be read: %v", name, p)
		}
	}()
	file, size, err := open(dir, name)
	if err != nil {
		return err
	}
	defer file.Close()
	if err := checkFooter(file, size); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	p, err := parquet.OpenFile(file, size, parquet.SkipPageIndex(true),
		parquet.SkipBloomFilters(true))
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	if err := check(p, file, size); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	var header []string
	for _, column := range p.Schema().Columns() {
		header = append(header, strings.Join(column, "."))
	}
	return rows(name, p, newRow(header), f)
}

// randomAccess is a file that can be read anywhere.
type randomAccess interface {
	io.ReaderAt
	io.Closer
}

// inMemory is the content of a file that cannot.
type inMemory struct{ *bytes.Reader }

func (inMemory) Close() error { return nil }

// open opens a file of at most maxBytes and returns its size.
func open(dir fs.FS, name string) (randomAccess, int64, error) {
	file, err := dir.Open(name)
	if err != nil {
		return nil, 0, err
	}
	info, err := file.Stat()
	if err == nil && info.Size() > maxBytes {
		err = fmt.Errorf("%s: %d bytes are more than the %d that are read", name, info.Size(),
			maxBytes)
	}
	if err != nil {
		file.Close()
		return nil, 0, err
	}
	if f, ok := file.(randomAccess); ok {
		return f, info.Size(), nil
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, maxBytes))
	return inMemory{bytes.NewReader(data)}, int64(len(data)), err
}

// rows calls f with every row.
func rows(name string, p *parquet.File, r *Row, f func(*Row)) error {
	reader := parquet.NewReader(p)
	defer reader.Close()
	buffer := make([]parquet.Row, 512)
	r.fields = make([]string, len(r.columns))
	for number := 1; ; {
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
		if err != nil {
			return fmt.Errorf("%s: row %d: %w", name, number, err)
		}
	}
}
