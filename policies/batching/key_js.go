package batching

import (
	"errors"

	"github.com/llmsim/llmsim/sim"
)

// ParseKey accepts only the default key in a browser, because the library that reads expressions
// would be a third of the page.
func ParseKey(key string) (func(r *sim.Request) float64, error) {
	if key != "-priority" {
		return nil, errors.New(`expressions other than "-priority" are not read in a browser`)
	}
	return func(r *sim.Request) float64 { return -float64(r.Priority) }, nil
}
