package report

import (
	"encoding/csv"
	"io"
	"strconv"

	"github.com/parquet-go/parquet-go"

	"github.com/llmsim/llmsim/sim"
)

// requestRow is one request in requests.csv and requests.parquet. Times are in seconds from the start of the run, latencies in
// milliseconds; those of a request that was turned away are 0.
type requestRow struct {
	ID           int64   `parquet:"id"`
	Class        int32   `parquet:"class"`
	Replica      int32   `parquet:"replica"`
	Status       string  `parquet:"status,dict"`
	Arrival      float64 `parquet:"arrival_s"`
	PromptTokens int64   `parquet:"prompt_tokens"`
	OutputTokens int64   `parquet:"output_tokens"`
	CachedTokens int64   `parquet:"cached_tokens"`
	Preemptions  int32   `parquet:"preemptions"`
	Queue        float64 `parquet:"queue_ms"`
	TTFT         float64 `parquet:"ttft_ms"`
	TPOT         float64 `parquet:"tpot_ms"`
	E2EL         float64 `parquet:"e2el_ms"`
}

func finishedRow(s *sim.Sequence) requestRow {
	return requestRow{
		ID: s.ID, Class: int32(s.Class), Replica: int32(s.Replica), Status: "completed", Arrival: s.Arrival.Seconds(),
		PromptTokens: int64(s.Prompt), OutputTokens: int64(s.Output), CachedTokens: int64(s.Cached), Preemptions: int32(s.Preemptions),
		Queue: (s.Scheduled - s.Arrival).Milliseconds(),
		TTFT:  s.TTFT().Milliseconds(), TPOT: s.TPOT().Milliseconds(), E2EL: s.E2E().Milliseconds(),
	}
}

func rejectedRow(r *sim.Request, why sim.Rejection) requestRow {
	return requestRow{
		ID: r.ID, Class: int32(r.Class), Status: "rejected: " + why.String(), Arrival: r.Arrival.Seconds(),
		PromptTokens: int64(r.Prompt), OutputTokens: int64(r.Output),
	}
}

// csvRequests writes rows as CSV, numbers to the nanosecond.
type csvRequests struct {
	out    *csv.Writer
	fields []string
}

func newCSVRequests(out io.Writer) (*csvRequests, error) {
	w := csv.NewWriter(out)
	header := []string{"id", "class", "replica", "status", "arrival_s", "prompt_tokens", "output_tokens", "cached_tokens", "preemptions",
		"queue_ms", "ttft_ms", "tpot_ms", "e2el_ms"}
	return &csvRequests{out: w, fields: make([]string, 0, len(header))}, w.Write(header)
}

func (c *csvRequests) write(r *requestRow) error {
	whole := func(n int64) string { return strconv.FormatInt(n, 10) }
	ms := func(x float64) string { return strconv.FormatFloat(x, 'f', 6, 64) }
	c.fields = append(c.fields[:0], whole(r.ID), whole(int64(r.Class)), whole(int64(r.Replica)), r.Status,
		strconv.FormatFloat(r.Arrival, 'f', 9, 64), whole(r.PromptTokens), whole(r.OutputTokens), whole(r.CachedTokens),
		whole(int64(r.Preemptions)), ms(r.Queue), ms(r.TTFT), ms(r.TPOT), ms(r.E2EL))
	return c.out.Write(c.fields)
}

func (c *csvRequests) close() error {
	c.out.Flush()
	return c.out.Error()
}

// parquetRequests writes rows as Parquet, in groups of a bounded size.
type parquetRequests struct {
	out  *parquet.GenericWriter[requestRow]
	rows []requestRow
}

// parquetBatch is how many rows are handed over at once, parquetGroup how many make a row group.
const (
	parquetBatch = 1024
	parquetGroup = 1 << 17
)

func newParquetRequests(out io.Writer) *parquetRequests {
	return &parquetRequests{
		out:  parquet.NewGenericWriter[requestRow](out, parquet.Compression(&parquet.Snappy), parquet.MaxRowsPerRowGroup(parquetGroup)),
		rows: make([]requestRow, 0, parquetBatch),
	}
}

func (p *parquetRequests) write(r *requestRow) error {
	p.rows = append(p.rows, *r)
	if len(p.rows) < parquetBatch {
		return nil
	}
	return p.flush()
}

func (p *parquetRequests) flush() error {
	_, err := p.out.Write(p.rows)
	p.rows = p.rows[:0]
	return err
}

func (p *parquetRequests) close() error {
	if err := p.flush(); err != nil {
		return err
	}
	return p.out.Close()
}
