package trace

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"math/bits"
	"strings"

	"github.com/llmsim/llmsim/internal/files"
	"github.com/llmsim/llmsim/sim"
)

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
	// FS is the file system of the file; nil means that of the operating system.
	FS fs.FS
	// Format is one of Formats; empty means that the first line decides.
	Format string
	// Speed is a factor on the rate, in [1e-6, 1e6]; 0 means 1. Times are divided by it exactly,
	// and rounded down to the tick.
	Speed float64
	// From and For choose the requests that arrive in [From, From+For) of the trace's own time;
	// From becomes 0. For 0 means to the end. Both apply before Speed.
	From, For sim.Time
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

// ErrNoneLeft is the error for a trace that has rows, but none within the options.
var ErrNoneLeft = errors.New("no request is left")

// Reader is an open trace.
type Reader struct {
	file    *file
	decoder decoder
	options Options
	counts  Counts
	last    sim.Time
	err     error
}

// Open opens a trace and reads enough to find its format. It returns an error if the file is
// missing, empty, or in no known format.
func Open(path string, o Options) (*Reader, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	f, err := openFile(files.Or(o.FS), path)
	if err != nil {
		return nil, err
	}
	r := &Reader{file: f, options: o}
	if err := r.detect(); err != nil {
		f.closer.Close()
		return nil, err
	}
	return r, nil
}

func (r *Reader) detect() error {
	format, err := findFormat(r.file, r.options.Format)
	if err != nil {
		return err
	}
	r.decoder, err = format.open(r.file, r.options, &r.counts)
	if err == nil && !r.decoder.timed() && (r.options.From != 0 || r.options.For != 0) {
		err = fmt.Errorf("%s: found a slice of time, but %s files have no times", r.file.path,
			format.name)
	}
	return err
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

// Timed reports whether the trace has arrival times. If it has none, Arrival is 0.
func (r *Reader) Timed() bool { return r.decoder.timed() }

// Counts returns what happened to the rows so far.
func (r *Reader) Counts() Counts { return r.counts }

// Close closes the file.
func (r *Reader) Close() error { return r.file.closer.Close() }

// Read fills q with the next request, reusing the space of q.Content. Every field but ID is
// written; Deadline counts from the arrival. It returns io.EOF after the last request, and an
// error, now and ever after, where the file is corrupt, out of order, or holds no request within
// the options.
func (r *Reader) Read(q *sim.Request) error {
	if r.err == nil {
		r.err = r.read(q)
	}
	return r.err
}

func (r *Reader) read(q *sim.Request) error {
	for {
		*q = sim.Request{ID: q.ID, Content: q.Content[:0]}
		if err := r.decoder.decode(q); err == io.EOF {
			return r.end()
		} else if err != nil {
			return err
		}
		r.counts.Rows++
		if q.Arrival < r.last {
			return r.file.errorf(
				"found a row %v before the one above it, allowed: rows in order of time; sort "+
					"the file first", r.last-q.Arrival)
		}
		r.last = q.Arrival
		if r.options.For > 0 && q.Arrival-r.options.From >= r.options.For {
			r.counts.Outside++
			return r.end()
		}
		if q.Arrival < r.options.From {
			r.counts.Outside++
			continue
		}
		r.raise(q)
		if !r.fit(q) {
			continue
		}
		q.Arrival = slower(q.Arrival-r.options.From+r.options.Shift, r.options.Speed)
		if q.Arrival == sim.Never {
			return r.file.errorf("found a time that divided by a speed of %v is out of range",
				r.options.Speed)
		}
		r.counts.Requests++
		return nil
	}
}

// end returns io.EOF, or an error if there was no request at all.
func (r *Reader) end() error {
	if r.counts.Requests > 0 {
		return io.EOF
	}
	var why []string
	for _, c := range []struct {
		n    int64
		what string
	}{
		{r.counts.Failed, "failed requests"},
		{r.counts.Dropped, fmt.Sprintf("longer than the context of %d tokens",
			r.options.MaxContext)},
		{r.counts.Outside, "outside the slice of time"},
	} {
		if c.n > 0 {
			why = append(why, fmt.Sprintf("%d %s", c.n, c.what))
		}
	}
	if why == nil {
		return fmt.Errorf("%s: %w", r.file.path, errors.New("the trace holds no requests"))
	}
	return fmt.Errorf("%s: %w of the %d rows read: %s", r.file.path, ErrNoneLeft, r.counts.Rows,
		strings.Join(why, ", "))
}

// raise gives a request without prompt or output one token.
func (r *Reader) raise(q *sim.Request) {
	if q.Prompt == 0 || q.Output == 0 {
		r.counts.Raised++
		q.Prompt, q.Output = max(q.Prompt, 1), max(q.Output, 1)
	}
}

// fit cuts a request to the context if Overlong says so, and reports whether the request stays.
func (r *Reader) fit(q *sim.Request) bool {
	most := r.options.MaxContext
	if most == 0 || q.Prompt+q.Output <= most {
		return true
	}
	if r.options.Overlong == Drop {
		r.counts.Dropped++
		return false
	}
	r.counts.Clamped++
	q.Prompt = min(q.Prompt, most-1)
	q.Output = min(q.Output, most-q.Prompt)
	left := q.Prompt
	for i := range q.Content {
		if s := &q.Content[i]; s.Tokens < left {
			left -= s.Tokens
		} else {
			s.Tokens = left
			q.Content = q.Content[:i+1]
			break
		}
	}
	return true
}

// slower returns t / speed, rounded down; a speed of 0 means 1. It returns sim.Never where that is
// out of range.
//
// A float64 is m / 2^s with whole m below 2^53, so t·2^s / m is exact in 128 bits.
func slower(t sim.Time, speed float64) sim.Time {
	if speed == 0 || speed == 1 || t == 0 {
		return t
	}
	fraction, exponent := math.Frexp(speed)
	m, s := uint64(fraction*(1<<53)), 53-exponent
	if bits.Len64(uint64(t))+s > 127 {
		return sim.Never
	}
	var high, low uint64
	if s < 64 {
		high, low = uint64(t)>>(64-s), uint64(t)<<s
	} else {
		high = uint64(t) << (s - 64)
	}
	if high >= m {
		return sim.Never
	}
	quotient, _ := bits.Div64(high, low, m)
	return sim.Time(min(quotient, uint64(sim.Never)))
}
