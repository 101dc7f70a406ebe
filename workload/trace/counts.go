package trace

import "fmt"

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
