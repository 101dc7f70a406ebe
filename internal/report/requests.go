package report

import (
	"bufio"
	"cmp"
	"io"
	"math"
	"strconv"

	"github.com/llmsim/llmsim/metrics"
	"github.com/llmsim/llmsim/sim"
)

// requestRow is one request in requests.csv. Times are in seconds from the start of the run,
// latencies in milliseconds. They are 0 for a request without an answer, and tokens and latencies
// of an answer that the user cut are those that the user had.
type requestRow struct {
	ID           int64
	Class        int32
	Replica      int32
	Status       string
	Arrival      float64
	PromptTokens int64
	OutputTokens int64
	CachedTokens int64
	Preemptions  int32
	Queue        float64
	TTFT         float64
	TPOT         float64
	E2EL         float64
}

func finishedRow(s *sim.Sequence) requestRow {
	return requestRow{
		ID: s.ID, Class: int32(s.Class), Replica: int32(s.Replica), Status: "completed",
		Arrival:      s.Arrival.Seconds(),
		PromptTokens: int64(s.Prompt), OutputTokens: int64(s.Output), CachedTokens: int64(s.Cached),
		Preemptions: int32(s.Preemptions),
		Queue:       (s.Scheduled - s.Arrival).Milliseconds(),
		TTFT:        s.TTFT().Milliseconds(), TPOT: s.TPOT().Milliseconds(),
		E2EL: s.E2E().Milliseconds(),
	}
}

func endedRow(s *sim.Sequence, why sim.Rejection) requestRow {
	part, _, cut := metrics.Cut(s, why)
	if !cut {
		return rejectedRow(&s.Request, why)
	}
	row := finishedRow(&part)
	row.Status = "cut"
	return row
}

func rejectedRow(r *sim.Request, why sim.Rejection) requestRow {
	return requestRow{
		ID: r.ID, Class: int32(r.Class), Status: "rejected: " +
			why.String(), Arrival: r.Arrival.Seconds(),
		PromptTokens: int64(r.Prompt), OutputTokens: int64(r.Output),
	}
}

// csvRequests writes rows as CSV, numbers to the nanosecond. It writes them itself since a run has
// millions; no field needs quotes.
type csvRequests struct {
	out  *bufio.Writer
	line []byte
}

func newCSVRequests(out io.Writer) (*csvRequests, error) {
	w := bufio.NewWriterSize(out, 1<<16)
	_, err := w.WriteString("id,class,replica,status,arrival_s,prompt_tokens,output_tokens," +
		"cached_tokens,preemptions,queue_ms,ttft_ms,tpot_ms,e2el_ms\n")
	return &csvRequests{out: w}, err
}

func (c *csvRequests) write(r *requestRow) error {
	line := c.line[:0]
	for _, n := range [...]int64{r.ID, int64(r.Class), int64(r.Replica)} {
		line = append(strconv.AppendInt(line, n, 10), ',')
	}
	line = append(append(line, r.Status...), ',')
	line = append(appendFixed(line, r.Arrival, 9), ',')
	for _, n := range [...]int64{r.PromptTokens, r.OutputTokens, r.CachedTokens,
		int64(r.Preemptions)} {
		line = append(strconv.AppendInt(line, n, 10), ',')
	}
	for _, ms := range [...]float64{r.Queue, r.TTFT, r.TPOT, r.E2EL} {
		line = append(appendFixed(line, ms, 6), ',')
	}
	line[len(line)-1] = '\n'
	c.line = line
	_, err := c.out.Write(line)
	return err
}

// appendFixed appends x, which is not negative, with six or nine digits after the point: several
// times as fast as strconv does.
func appendFixed(line []byte, x float64, digits int) []byte {
	unit := int64(1e6)
	if digits == 9 {
		unit = 1e9
	}
	n := int64(math.Round(x * float64(unit)))
	line = append(strconv.AppendInt(line, n/unit, 10), '.')
	var fraction [9]byte
	n %= unit
	for i := digits - 1; i >= 0; i-- {
		fraction[i] = '0' + byte(n%10)
		n /= 10
	}
	return append(line, fraction[:digits]...)
}

func (c *csvRequests) close() error { return c.out.Flush() }

// Requests is a sim.Observer that writes the table of requests alone, as requests.csv has it.
type Requests struct {
	sim.NopObserver
	out *csvRequests
	err error
}

// NewRequests writes the head of the table.
func NewRequests(out io.Writer) *Requests {
	c, err := newCSVRequests(out)
	return &Requests{out: c, err: err}
}

func (r *Requests) add(row requestRow) {
	if r.err == nil {
		r.err = r.out.write(&row)
	}
}

// Finished implements sim.Observer.
func (r *Requests) Finished(s *sim.Sequence) { r.add(finishedRow(s)) }

// Rejected implements sim.Observer.
func (r *Requests) Rejected(q *sim.Request, why sim.Rejection) { r.add(rejectedRow(q, why)) }

// Ended implements sim.EndObserver.
func (r *Requests) Ended(s *sim.Sequence, why sim.Rejection, _ sim.Time) { r.add(endedRow(s, why)) }

// Close writes what is left, and returns the first error.
func (r *Requests) Close() error { return cmp.Or(r.err, r.out.close()) }
