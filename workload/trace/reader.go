package trace

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"math/bits"
	"runtime"
	"strings"

	"github.com/llmsim/llmsim/internal/files"
	"github.com/llmsim/llmsim/sim"
)

// ErrNoneLeft is the error for a trace that has rows, but no row within the options.
var ErrNoneLeft = errors.New("no request is left")

// Reader is an open trace.
type Reader struct {
	file    *file
	decoder decoder
	options Options
	counts  Counts
	last    sim.Time
	origin  sim.Time // of the times, see Options.FromFirst
	err     error
}

// Open opens a trace and reads enough to find its format. It returns an error if the file is
// missing, empty, or in no known format.
func Open(path string, o Options) (*Reader, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	if runtime.GOOS == "js" { // the page for browsers has no files, and is smaller without readers
		return nil, fmt.Errorf("%s: %w", path, fs.ErrNotExist)
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

// Timed reports whether the trace has arrival times. Without one, Arrival is 0.
func (r *Reader) Timed() bool { return r.decoder.timed() }

// sessions is a decoder whose requests begin sessions.
type sessions interface{ turns() []Turn }

// Sessions reports whether each request is the first of a session.
func (r *Reader) Sessions() bool {
	_, ok := r.decoder.(sessions)
	return ok
}

// Turns returns the later turns of the session that the request which was read last begins, valid
// until the next call of Read.
func (r *Reader) Turns() []Turn {
	if s, ok := r.decoder.(sessions); ok {
		return s.turns()
	}
	return nil
}

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
		if r.counts.Rows++; r.counts.Rows == r.counts.Failed+1 && r.options.FromFirst {
			r.origin = q.Arrival
		}
		if q.Arrival < r.last {
			return r.file.errorf(
				"found a row %v before the one above it, allowed: rows in order of time; sort "+
					"the file first", r.last-q.Arrival)
		}
		r.last = q.Arrival
		q.Arrival -= r.origin
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
