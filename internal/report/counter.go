package report

import (
	"io"
	"time"

	"github.com/schollz/progressbar/v3"

	"github.com/llmsim/llmsim/internal/report/doc"
)

// Counter shows on a terminal how many of a number of tasks are done, and the time left. On
// anything else it shows nothing. Its methods may be called by several goroutines.
type Counter struct {
	out  io.Writer
	what string
	bar  *progressbar.ProgressBar
}

// NewCounter returns a counter of tasks, named in the plural.
func NewCounter(out io.Writer, what string) *Counter { return &Counter{out: out, what: what} }

// Start says how many tasks there are; -1 where that is not known.
func (c *Counter) Start(tasks int) {
	if doc.IsTerminal(c.out) && tasks != 0 {
		c.bar = progressbar.NewOptions(tasks, progressbar.OptionSetWriter(c.out),
			progressbar.OptionSetDescription(c.what),
			progressbar.OptionShowCount(), progressbar.OptionSetPredictTime(true),
			progressbar.OptionThrottle(100*time.Millisecond),
			progressbar.OptionClearOnFinish())
	}
}

// Step counts one that is done.
func (c *Counter) Step() {
	if c.bar != nil {
		_ = c.bar.Add(1) // a bar that cannot be drawn must not end the work
	}
}

// End clears the bar.
func (c *Counter) End() {
	if c.bar != nil {
		_ = c.bar.Clear()
	}
}
