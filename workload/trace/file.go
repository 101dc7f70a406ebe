package trace

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"github.com/llmsim/llmsim/internal/files"
)

// Bounds on a file, which may be a few bytes of gzip that unpack to gigabytes.
const (
	// maxLine is the longest line, or entry of ShareGPT, in bytes: a Mooncake row of a million
	// tokens has about 20 kB, and a conversation of a million tokens 4 MB.
	maxLine = 8 << 20
	// maxBlank bounds the lines without text in a row.
	maxBlank = 100_000
	// maxColumns bounds the columns of a table; the formats have eight at most, beside others that
	// are ignored.
	maxColumns = 1000
)

// file reads a text file, plain or gzip, and knows the current line.
type file struct {
	path   string
	closer io.Closer
	in     *bufio.Reader
	lines  *bufio.Scanner
	// line is the number of the line read last, from 1.
	line int
	// damage is why the file cannot be read to its end.
	damage error
}

// openFile opens a file of fsys and sees by its first bytes whether it is a gzip.
func openFile(fsys fs.FS, path string) (*file, error) {
	if err := files.Repeatable(fsys, path); err != nil {
		return nil, err
	}
	raw, err := fsys.Open(path)
	if err != nil {
		return nil, err
	}
	f := &file{path: path, closer: raw, in: bufio.NewReaderSize(raw, 1<<16)}
	if magic, _ := f.in.Peek(2); bytes.Equal(magic, []byte{0x1f, 0x8b}) {
		unzipped, err := unzip(f.in)
		if err != nil {
			raw.Close()
			return nil, fmt.Errorf("%s: in the first line: %w", path, files.Damage(err))
		}
		f.in = bufio.NewReaderSize(&watched{unzipped, &f.damage}, 1<<16)
	}
	if mark, _ := f.in.Peek(3); bytes.Equal(mark, []byte("\xef\xbb\xbf")) {
		f.in.Discard(len(mark)) // the byte order mark that some spreadsheets write
	}
	f.lines = bufio.NewScanner(f.in)
	f.lines.Buffer(make([]byte, 1<<16), maxLine)
	f.lines.Split(f.split)
	return f, nil
}

// watched is a reader that notes the error which ends it early.
type watched struct {
	io.Reader
	damage *error
}

// Read reads on.
func (w *watched) Read(p []byte) (int, error) {
	n, err := w.Reader.Read(p)
	if err != nil && err != io.EOF {
		*w.damage = err
	}
	return n, err
}

// split finds lines. What comes before damage is no line.
func (f *file) split(data []byte, end bool) (advance int, line []byte, err error) {
	if end && f.damage != nil && bytes.IndexByte(data, '\n') < 0 {
		return 0, nil, f.damage
	}
	return bufio.ScanLines(data, end)
}

// head returns the first line that is not blank, or what of it fits into the buffer, without
// consuming it. If it only opens an object or a list, head returns what follows too.
func (f *file) head() ([]byte, error) {
	start, err := f.in.Peek(f.in.Size())
	start = bytes.TrimLeft(start, " \t\r\n")
	whole := bytes.IndexByte(start, '\n') >= 0 // damage behind it is found where it is
	if !whole && err != nil && err != io.EOF && err != bufio.ErrBufferFull {
		return nil, f.broken(err)
	}
	if len(start) == 0 {
		return nil, fmt.Errorf("%s: the file is empty", f.path)
	}
	line, _, _ := bytes.Cut(start, []byte("\n"))
	line = bytes.TrimRight(line, " \t\r")
	if len(line) == 1 && (line[0] == '{' || line[0] == '[') {
		return start, nil // the keys of an object are on lines of their own
	}
	return line, nil
}

// next returns the next line that is not blank, valid until the call after, or io.EOF.
func (f *file) next() ([]byte, error) {
	for blank := 0; f.lines.Scan(); blank++ {
		f.line++
		if line := bytes.TrimSpace(f.lines.Bytes()); len(line) > 0 {
			return line, nil
		}
		if blank == maxBlank {
			return nil, f.errorf("found more than %d empty lines in a row", maxBlank)
		}
	}
	switch err := f.lines.Err(); {
	case err == nil:
		return nil, io.EOF
	case errors.Is(err, bufio.ErrTooLong):
		f.line++
		return nil, f.errorf("found a line of more than %d bytes", maxLine)
	default:
		return nil, f.broken(err)
	}
}

// errorf returns an error at the line read last.
func (f *file) errorf(format string, args ...any) error {
	return fmt.Errorf("%s:%d: %w", f.path, f.line, fmt.Errorf(format, args...))
}

// broken returns an error for a file that cannot be read further.
func (f *file) broken(err error) error {
	err = files.Damage(err)
	if f.line == 0 {
		return fmt.Errorf("%s: in the first line: %w", f.path, err)
	}
	return fmt.Errorf("%s: after line %d: %w", f.path, f.line, err)
}
