package serve

import (
	"bufio"
	"errors"
	"strconv"

	"github.com/llmsim/llmsim/internal/files"
	"github.com/llmsim/llmsim/sim"
)

// Recorder writes requests as they arrive, as a trace in Mooncake's format that llmsim scenario
// replays: timestamps in milliseconds of simulated time, lengths, and a hash for each block of the
// prompt.
type Recorder struct {
	out  *bufio.Writer
	file *files.Pending
	line []byte // of the last request
	err  error
}

// NewRecorder returns a recorder of a file, which appears when the recorder is closed.
func NewRecorder(path string) (*Recorder, error) {
	file, err := files.Create(path)
	if err != nil {
		return nil, err
	}
	return &Recorder{out: bufio.NewWriterSize(file, 1<<16), file: file}, nil
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

// Close writes what is left and puts the file in place, unless there was an error, which it
// returns, or no request.
func (r *Recorder) Close() error {
	if r.err == nil {
		r.err = r.out.Flush()
	}
	if r.err != nil || r.line == nil {
		return errors.Join(r.err, r.file.Discard())
	}
	return r.file.Commit()
}
