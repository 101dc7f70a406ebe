package report

import (
	"fmt"
	"io"
	"time"

	"github.com/schollz/progressbar/v3"

	"github.com/llmsim/llmsim/internal/report/doc"
	"github.com/llmsim/llmsim/sim"
)

// Progress is a sim.Observer that shows how far a long run is.
type Progress struct {
	sim.NopObserver
	out     io.Writer
	total   int64
	done    int64
	started time.Time
	bar     *progressbar.ProgressBar
}

// A bar appears in runs of more than patience; whether it is time is looked at every stride
// requests.
const (
	patience = 2 * time.Second
	stride   = 4096
)

// NewProgress shows progress on out if that is a terminal, and otherwise returns nil. Total is the
// number of requests to come, 0 where it is not known.
func NewProgress(out io.Writer, total int64) *Progress {
	if !doc.IsTerminal(out) {
		return nil
	}
	if total == 0 {
		total = -1 // the bar's word for unknown
	}
	return &Progress{out: out, total: total, started: time.Now()}
}

// Finished implements sim.Observer.
func (p *Progress) Finished(*sim.Sequence) { p.step() }

// Rejected implements sim.Observer.
func (p *Progress) Rejected(*sim.Request, sim.Rejection) { p.step() }

func (p *Progress) step() {
	p.done++
	if p.done%stride != 0 {
		return
	}
	if p.bar == nil {
		if time.Since(p.started) < patience {
			return
		}
		p.bar = newBar(p.out, p.total, "requests")
	}
	_ = p.bar.Set64(p.done) // a bar that cannot be drawn must not end the run
}

// Say writes a line above the bar, where there is one.
func (c *Counter) Say(line string) {
	if c.bar != nil {
		_ = c.bar.Clear()
		fmt.Fprintln(c.out, line)
	}
}

// End clears the bar.
func (p *Progress) End() {
	if p != nil && p.bar != nil {
		_ = p.bar.Clear()
	}
}

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
		c.bar = newBar(c.out, int64(tasks), c.what)
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

// newBar returns a bar of things to do, named in the plural; total is -1 where it is not known.
func newBar(out io.Writer, total int64, what string) *progressbar.ProgressBar {
	return progressbar.NewOptions64(total, progressbar.OptionSetWriter(out),
		progressbar.OptionSetDescription(what), progressbar.OptionShowCount(),
		progressbar.OptionSetPredictTime(true), progressbar.OptionThrottle(100*time.Millisecond),
		progressbar.OptionClearOnFinish())
}
