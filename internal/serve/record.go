package serve

import (
	"bufio"
	"errors"
	"io"
	"strconv"

	"github.com/llmsim/llmsim/sim"
)

// Recorder writes requests as they arrive, as a trace in Mooncake's format that llmsim scenario
// replays: timestamps in milliseconds of simulated time, lengths, and a hash for each block of the
// prompt.
type Recorder struct {
	out  *bufio.Writer
	file io.Closer
	line []byte
	err  error
}

// NewRecorder returns a recorder that writes to a file, which it closes in the end.
func NewRecorder(file io.WriteCloser) *Recorder {
	return &Recorder{out: bufio.NewWriterSize(file, 1<<16), file: file}
}

// Record writes a request.
func (r *Recorder) Record(q *sim.Request) {
	if r.err != nil {
		return
	}
	const digits = 8 // of milliseconds, down to the tick
	b := append(r.line[:0], `{"timestamp": `...)
	b = strconv.AppendFloat(b, q.Arrival.Milliseconds(), 'f', digits, 64)
	b = strconv.AppendInt(append(b, `, "input_length": `...), int64(q.Prompt), 10)
	b = strconv.AppendInt(append(b, `, "output_length": `...), int64(q.Output), 10)
	b = strconv.AppendInt(append(b, `, "block_size": `...), contentBlock, 10)
	b = append(b, `, "hash_ids": [`...)
	for i, s := range q.Content {
		if i > 0 {
			b = append(b, ", "...)
		}
		b = strconv.AppendUint(b, s.ID, 10)
	}
	b = append(b, "]}\n"...)
	r.line = b
	_, r.err = r.out.Write(b)
}

// Close writes what is left, and returns the first error.
func (r *Recorder) Close() error {
	return errors.Join(r.err, r.out.Flush(), r.file.Close())
}
