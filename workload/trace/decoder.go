package trace

import "github.com/llmsim/llmsim/sim"

// decoder reads the rows of one format.
type decoder interface {
	// decode fills r, whose other fields are zero, from the next row; Arrival counts from the
	// origin of the trace. It returns io.EOF at the end.
	decode(r *sim.Request) error
	// timed reports whether rows have arrival times.
	timed() bool
}
