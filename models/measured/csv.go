package measured

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"

	"github.com/llmsim/llmsim/internal/files"
)

// Each calls f with every row of the table, which is reused. An error of the row names its file and
// line. Tables may be too long for files.Rows, which holds all rows: here they are read one by one.
func (t Table) Each(dir fs.FS, f func(*Row)) error {
	info, err := fs.Stat(dir, t.Path)
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return fmt.Errorf("%s: not a regular file", t.Path)
	}
	name := t.Path
	file, err := dir.Open(name)
	if err != nil {
		return err
	}
	defer file.Close()
	lines := csv.NewReader(&shortLines{r: files.Limit(file, name, maxBytes)})
	lines.ReuseRecord = true
	header, err := lines.Read()
	if err == io.EOF {
		return fmt.Errorf("%s: the file is empty", name)
	}
	if err != nil {
		return within(name, err)
	}
	r, err := newRow(header)
	if err != nil {
		return within(name, err)
	}
	for rows := int64(1); ; rows++ {
		r.fields, err = lines.Read()
		if err == io.EOF {
			return nil
		}
		if err == nil {
			err = errors.Join(atMost(rows, maxRows, "rows"),
				atMost(rows*int64(len(header)), maxValues, "values"))
		}
		if err != nil {
			return within(name, err)
		}
		if f(r); r.err != nil {
			line, _ := lines.FieldPos(0)
			return fmt.Errorf("%s:%d: %w", name, line, r.err)
		}
	}
}

// within puts the file's name before an error, unless it names the file.
func within(name string, err error) error {
	if large := (files.TooLarge{}); errors.As(err, &large) {
		return err
	}
	return fmt.Errorf("%s: %w", name, err)
}

// shortLines refuses lines of more than maxLine bytes, and fields of several lines, before a reader
// of CSV makes room for them and for what separates them.
type shortLines struct {
	r      io.Reader
	line   int64 // bytes since the last end of a line
	quoted bool
}

// Read reads on.
func (s *shortLines) Read(p []byte) (int, error) {
	n, err := s.r.Read(p)
	for _, c := range p[:n] {
		s.line++
		switch {
		case c == '"':
			s.quoted = !s.quoted
		case c == '\n' && s.quoted:
			return 0, errors.New("a field goes on over the end of its line")
		case c == '\n':
			s.line = 0
		}
		if s.line > maxLine {
			return 0, fmt.Errorf("a line of more than %d bytes", maxLine)
		}
	}
	return n, err
}

// newRow returns a row of columns. A mark of the byte order, which spreadsheets write first, is no
// part of a name.
func newRow(header []string) (*Row, error) {
	if err := atMost(int64(len(header)), maxColumns, "columns"); err != nil {
		return nil, err
	}
	r := &Row{columns: map[string]int{}, fields: make([]string, len(header))}
	for i, column := range header {
		column = strings.TrimSpace(strings.TrimPrefix(column, "\ufeff"))
		if _, twice := r.columns[column]; twice && column != "" {
			return nil, fmt.Errorf("found the column %.60q twice; leave one of the two out", column)
		}
		r.columns[column] = i
	}
	return r, nil
}
