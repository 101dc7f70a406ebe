package trace

import (
	"fmt"
	"io/fs"

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
	// FS is the file system of the file; nil means the operating system's.
	FS fs.FS
	// Format is one of Formats; empty means that the first line decides.
	Format string
	// Speed is a factor on the rate, in [1e-6, 1e6]; 0 means 1. Times are divided by it exactly,
	// and rounded down to the tick.
	Speed float64
	// From and For choose the requests that arrive in [From, From+For) of the trace's own time;
	// From becomes 0. For 0 means to the end. Both apply before Speed.
	From, For sim.Time
	// FromFirst lets times count from the first row, in place of the trace's own origin.
	FromFirst bool
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
