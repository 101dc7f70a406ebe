package serve

import (
	"bufio"
	"errors"
	"strconv"

	"github.com/llmsim/llmsim/internal/files"
	"github.com/llmsim/llmsim/sim"
)

// Recorder writes requests as they arrive, as a trace in Mooncake's format that llmsim scenario
// replays: timestamps in milliseconds of simulated time since the first request, lengths, a hash
// for each segment of the prompt with the lengths of the segments, and the hash that the answer has
// in later prompts.
type Recorder struct {
	out  *bufio.Writer
	file *files.Pending
	line []byte   // of the last request
	from sim.Time // when the first request arrived
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
	if r.line == nil {
		r.from = q.Arrival
	}
	const digits = 8 // of milliseconds, down to the tick
	b := append(r.line[:0], `{"timestamp": `...)
	b = strconv.AppendFloat(b, (q.Arrival - r.from).Milliseconds(), 'f', digits, 64)
	b = strconv.AppendInt(append(b, `, "input_length": `...), int64(q.Prompt), 10)
	b = strconv.AppendInt(append(b, `, "output_length": `...), int64(q.Output), 10)
	b = list(append(b, `, "hash_ids": [`...), q.Content, func(s sim.Segment) uint64 { return s.ID })
	b = list(append(b, `], "block_sizes": [`...), q.Content,
		func(s sim.Segment) uint64 { return uint64(s.Tokens) })
	if b = append(b, ']'); q.Answer != 0 {
		b = strconv.AppendUint(append(b, `, "answer_id": `...), q.Answer, 10)
	}
	r.line = append(b, "}\n"...)
	_, r.err = r.out.Write(r.line)
}

// list appends a number of each segment.
func list(b []byte, segments []sim.Segment, of func(sim.Segment) uint64) []byte {
	for i, s := range segments {
		if i > 0 {
			b = append(b, ", "...)
		}
		b = strconv.AppendUint(b, of(s), 10)
	}
	return b
}

// Close writes the rest and puts the file in place, unless there was an error, which it
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
