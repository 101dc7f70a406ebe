package asked

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// ByHour is the price of each hour of a day, from midnight on, as a multiple of the offer's; 0
// stands for 1. It is written as 22..6 at 0.6 and 17..21 at 1.4.
type ByHour [24]float64

// mostByHour bounds the price of an hour, as a multiple of the offer's.
const mostByHour = 10

// UnmarshalText reads the hours with another price.
func (b *ByHour) UnmarshalText(text []byte) error {
	*b = ByHour{}
	for part := range strings.SplitSeq(string(text), " and ") {
		var from, to int
		var times float64
		var rest string
		n, _ := fmt.Sscanf(part, "%d..%d at %g%s", &from, &to, &times, &rest)
		if n != 3 || from < 0 || from > 23 || to < 0 || to > 24 || to == from ||
			!(times > 0 && times <= mostByHour) {
			return fmt.Errorf("found %q; want hours from 0 to 24 and a multiple of the price "+
				"above 0 to %d, such as 22..6 at 0.6", part, mostByHour)
		}
		for k := range (to-from+23)%24 + 1 {
			h := (from + k) % 24
			if b[h] != 0 {
				return fmt.Errorf("found two prices for %d..%d in %q; leave one out", h, h+1, text)
			}
			b[h] = times
		}
	}
	return nil
}

// MarshalText writes the hours with another price.
func (b ByHour) MarshalText() ([]byte, error) { return []byte(b.String()), nil }

// String writes the hours with another price, those around midnight as one.
func (b ByHour) String() string {
	first := max(0, slices.IndexFunc(b[:], func(times float64) bool { return times != b[23] }))
	var parts []string
	for from, to := first, 0; from < first+24; from = to {
		for to = from + 1; to < first+24 && b[to%24] == b[from%24]; {
			to++
		}
		if b[from%24] != 0 {
			parts = append(parts, fmt.Sprintf("%d..%d at %g", from%24, (to-1)%24+1, b[from%24]))
		}
	}
	return strings.Join(parts, " and ")
}

// At is the price in an hour of a day, counted from 0 of any day, as a multiple of the offer's.
func (b *ByHour) At(hour int) float64 { return cmp.Or(b[hour%24], 1) }
