package options

import (
	"fmt"
	"math"
	"strconv"

	"github.com/llmsim/llmsim/internal/units"
)

// Amount writes a number of bytes, which is rounded to a whole one, as a scenario does.
func Amount(bytes float64) string {
	bytes = math.Round(bytes)
	for _, unit := range []struct {
		bytes float64
		name  string
	}{{1 << 30, "GiB"}, {1e9, "GB"}} {
		if n := bytes / unit.bytes; n == math.Floor(n) {
			return strconv.FormatFloat(n, 'f', -1, 64) + unit.name
		}
	}
	return strconv.FormatFloat(bytes, 'f', -1, 64) + "B"
}

// bytesIn returns the kind of amounts of memory that are counted in the given unit of bytes, and
// written as whole numbers of them or not. The value "none" sets nothing.
func bytesIn(unit float64, whole bool) kind {
	return kind{func(text string) (string, error) {
		n, err := strconv.ParseFloat(text, 64)
		switch {
		case err != nil || !(n >= 0 && n*unit <= 1e18):
			return "", fmt.Errorf("found %q; want a number from 0 to %.3g", text, 1e18/unit)
		case math.Round(n*unit) == 0:
			return "", nil
		}
		return Amount(n * unit), nil
	}, func(value string) (string, bool) {
		size, err := units.ParseBytes(value)
		n := size / unit
		if whole {
			n = math.Floor(n)
		}
		return strconv.FormatFloat(n, 'f', -1, 64), err == nil && n > 0
	}}
}
