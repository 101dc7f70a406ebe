package steptime

import "math"

// contextTokens is the unit in which tables of the attention of decode count.
const contextTokens = "tokens of context"

// outside holds the counts for which tables were used outside their range, by operator and the unit
// of its counts.
type outside map[[2]string]extent

// extent is the least and the most of something.
type extent struct{ least, most float64 }

// note adds a count.
func (o outside) note(operator, unit string, count float64) {
	key := [2]string{operator, unit}
	e, known := o[key]
	if !known {
		e = extent{math.Inf(1), 0}
	}
	o[key] = extent{min(e.least, count), max(e.most, count)}
}
