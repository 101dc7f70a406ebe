// Kernels converts the tables of measured kernels that ai-dynamo/aiconfigurator publishes as
// Parquet into CSV files, which hardware.operators and llmsim validate --kernels read.
//
// Usage:
//
//	go run . PUBLISHED OUT
//
// A table PUBLISHED/GPU/FAMILY/ENGINE/VERSION/NAME.parquet becomes OUT/GPU/…/NAME.csv. The columns
// must be flat. Convert only files that you trust: the size of a table is not bounded.
package main

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/parquet-go/parquet-go"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: go run . PUBLISHED OUT")
		os.Exit(2)
	}
	if err := convert(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// convert writes a CSV file under out for each Parquet file under published.
func convert(published, out string) error {
	return filepath.WalkDir(published, func(file string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || filepath.Ext(file) != ".parquet" {
			return err
		}
		below, err := filepath.Rel(published, file)
		if err != nil {
			return err
		}
		to := filepath.Join(out, strings.TrimSuffix(below, ".parquet")+".csv")
		if err := os.MkdirAll(filepath.Dir(to), 0o777); err != nil {
			return err
		}
		if err := table(file, to); err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		return nil
	})
}

// table converts one file. A null becomes an empty field.
func table(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	info, err := in.Stat()
	if err != nil {
		return err
	}
	p, err := parquet.OpenFile(in, info.Size())
	if err != nil {
		return err
	}
	file, err := os.Create(to)
	if err != nil {
		return err
	}
	return errors.Join(write(csv.NewWriter(file), p), file.Close())
}

// write writes the names of the columns and all rows.
func write(out *csv.Writer, p *parquet.File) error {
	var fields []string
	for _, column := range p.Schema().Columns() {
		fields = append(fields, strings.Join(column, "."))
	}
	if err := out.Write(fields); err != nil {
		return err
	}
	rows := parquet.NewReader(p)
	defer rows.Close()
	buffer := make([]parquet.Row, 512)
	for {
		n, err := rows.ReadRows(buffer)
		for _, row := range buffer[:n] {
			if len(row) != len(fields) {
				return fmt.Errorf("a row has %d values for %d columns", len(row), len(fields))
			}
			for i, v := range row {
				if fields[i] = ""; !v.IsNull() {
					fields[i] = v.String()
				}
			}
			if err := out.Write(fields); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) {
			out.Flush()
			return out.Error()
		}
		if err != nil {
			return err
		}
	}
}
