package strategy

import "errors"

// ErrStop ends the search for the least number, of which then none is found.
var ErrStop = errors.New("stop")

// Least looks for the least number that suffices, where more than a number that does suffice too.
// It begins with First, goes up or down from there by steps that double, and then bisects.
type Least struct {
	First int
	Low   int // does not suffice
	Most  int // the largest number to try
	High  int // is known to suffice, above Most; 0 where none is known
	Step  int // the first step; with 0, what is between Low and a number that suffices is bisected
	Near  int // how much more than the least may be found, plus 1; but 0 is found only if none is
}

// Find returns the least number; 0 where none up to Most suffices. An error of enough ends it.
func (l Least) Find(enough func(n int) (bool, error)) (int, error) {
	n, low, high, found := l.First, l.Low, l.Most+1, l.High > 0
	if found {
		high = l.High
	}
	for step := l.Step; high-low > l.Near || !found && high-low > 1; step *= 2 {
		ok, err := enough(n)
		switch {
		case errors.Is(err, ErrStop):
			return 0, nil
		case err != nil:
			return 0, err
		case ok:
			high, found = n, true
		default:
			low = n
		}
		switch {
		case !found:
			n = min(low+step, l.Most)
		case low == l.Low && step > 0:
			n = max(high-step, low+1)
		default:
			n = (low + high) / 2
		}
	}
	if !found {
		return 0, nil
	}
	return high, nil
}
