package trace

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"github.com/llmsim/llmsim/internal/files"
	"github.com/llmsim/llmsim/sim"
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

// decoder reads the rows of one format.
type decoder interface {
	// decode fills r, whose other fields are zero, from the next row; Arrival counts from the
	// origin of the trace. It returns io.EOF at the end.
	decode(r *sim.Request) error
	// timed reports whether rows have arrival times.
	timed() bool
}

// Overlong says what happens to a request whose prompt and output together do not fit into the
// context.
type Overlong int

const (
	// Drop leaves the request out.
	Drop Overlong = iota
	// Clamp cuts the prompt to leave room for one token, and then the output to what fits.
	Clamp
)

// Options say how a trace is read. The zero value reads the whole trace unchanged.
type Options struct {
	// FS is the file system of the file; nil means the operating system's.
	FS fs.FS
	// Format is one of Formats; empty means that the first line decides.
	Format string
	// Speed is a factor on the rate, in [1e-6, 1e6]; 0 means 1. Times are divided by it exactly,
	// and rounded down to the tick.
	Speed float64
	// From and For choose the requests that arrive in [From, From+For) of the trace's own time;
	// From becomes 0. For 0 means to the end. Both apply before Speed.
	From, For sim.Time
	// FromFirst lets times count from the first row, in place of the trace's own origin.
	FromFirst bool
	// Shift is added to the times that are left, before Speed: 0 or more.
	Shift sim.Time
	// MaxContext is the longest prompt and output together, in tokens, at least 2; 0 means any.
	MaxContext int
	// Overlong says what happens to longer requests.
	Overlong Overlong
	// Classes are the names of the request classes, looked up in the column "class" of our own
	// format.
	Classes []string
}

func (o Options) check() error {
	switch {
	case o.Speed != 0 && !(o.Speed >= 1e-6 && o.Speed <= 1e6):
		return fmt.Errorf("trace speed: found %v, allowed: 1e-6 to 1e6", o.Speed)
	case o.From < 0 || o.From == sim.Never:
		return fmt.Errorf("trace slice: from: found %v, allowed: finite times from 0", o.From)
	case o.For < 0:
		return fmt.Errorf("trace slice: length: found %v, allowed: spans above 0, or 0 for all",
			o.For)
	case o.Shift < 0 || o.Shift > sim.Never-o.For:
		return fmt.Errorf("trace shift: found %v, allowed: finite times from 0", o.Shift)
	case o.MaxContext < 0 || o.MaxContext == 1:
		return fmt.Errorf("longest context: found %d, allowed: 2 or more tokens, or 0 for any",
			o.MaxContext)
	}
	return nil
}

// Counts holds the numbers of rows of a trace by what happened to them, for reports and warnings.
type Counts struct {
	// Rows is the number of rows read, and Requests the number of requests delivered. In a trace of
	// sessions, a row is a session with all its rounds, and a request its first.
	Rows, Requests int64
	// Failed is the number of rows that were failed requests in the recording. Dropped requests
	// were longer than the context, and Outside ones were before or after the slice. These rows are
	// not delivered.
	Failed, Dropped, Outside int64
	// Clamped requests were cut to the context. Raised requests had no prompt token or no output
	// token, and got one.
	Clamped, Raised int64
}

// Add adds what happened to other rows.
func (c *Counts) Add(other Counts) {
	c.Rows += other.Rows
	c.Requests += other.Requests
	c.Failed += other.Failed
	c.Dropped += other.Dropped
	c.Outside += other.Outside
	c.Clamped += other.Clamped
	c.Raised += other.Raised
}

// Warnings returns what a reader of the results should know, in words. Rows outside the slice are
// left out on purpose, and give no warning.
func (c Counts) Warnings() []string {
	var list []string
	for _, w := range []struct {
		n    int64
		text string
	}{
		{c.Failed, "%d of %d rows of the trace are failed requests and were left out"},
		{c.Dropped, "%d of %d rows of the trace do not fit into the context and were left out"},
		{c.Clamped, "%d of %d rows of the trace did not fit into the context and were cut"},
		{c.Raised, "%d of %d rows of the trace had no prompt or no output token and got one"},
	} {
		if w.n > 0 {
			list = append(list, fmt.Sprintf(w.text, w.n, c.Rows))
		}
	}
	return list
}
