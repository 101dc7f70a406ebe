package measured

import (
	"encoding/csv"
	"fmt"
	"io"
	"io/fs"
	"strings"
)

// Each calls f with every row of the table, which is reused. An error of the row names its file and
// line.
func (t Table) Each(dir fs.FS, f func(*Row)) error {
	if strings.HasSuffix(t.Path, ".parquet") {
		return eachOfParquet(dir, t.Path, f)
	}
	return eachOfCSV(dir, t.Path, f)
}

func eachOfCSV(dir fs.FS, name string, f func(*Row)) error {
	file, err := dir.Open(name)
	if err != nil {
		return err
	}
	defer file.Close()
	lines := csv.NewReader(io.LimitReader(file, maxBytes))
	lines.ReuseRecord = true
	header, err := lines.Read()
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	r := newRow(header)
	for rows := 0; ; rows++ {
		r.fields, err = lines.Read()
		if err == io.EOF {
			return nil
		}
		if err == nil && rows == maxRows {
			err = fmt.Errorf("more than %d rows", maxRows)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if f(r); r.err != nil {
			line, _ := lines.FieldPos(0)
			return fmt.Errorf("%s:%d: %w", name, line, r.err)
		}
	}
}

func newRow(header []string) *Row {
	r := &Row{columns: map[string]int{}}
	for i, column := range header {
		r.columns[column] = i
	}
	return r
}
