package sim

import "math/bits"

// Accepts says how many drafted tokens of a sequence are accepted in each of some steps ahead. Its
// LeapSpeculator owns it; the simulator reads it.
type Accepts struct {
	// Reached has a word for each drafted token, in order. Bit First+i is set where the token is
	// accepted in step i. Bits below First mean nothing.
	Reached []uint64
	// First is the bit of the first step, in [0, 64]. The steps go on to bit 63.
	First int
}

// Steps returns the number of steps that are known.
func (a *Accepts) Steps() int64 { return int64(64 - a.First) }

// In returns the number of tokens that are accepted in the first steps, 0 <= steps <= Steps().
func (a *Accepts) In(steps int64) int64 {
	return a.between(0, steps)
}

// between returns the number of tokens that are accepted in that many steps after the first ones.
func (a *Accepts) between(first, steps int64) int64 {
	n, from, drop := 0, int64(a.First)+first, uint(64-steps)
	if len(a.Reached) == 1 { // most often
		return int64(bits.OnesCount64(a.Reached[0] >> from << drop))
	}
	for _, word := range a.Reached {
		n += bits.OnesCount64(word >> from << drop)
	}
	return int64(n)
}

// Until returns the least number of steps after which at least that many tokens are accepted or
// have come from the model, which adds one in each step. It returns more steps than are known where
// these do not suffice.
func (a *Accepts) Until(tokens int64) int64 {
	steps, most := int64(0), int64(1+len(a.Reached))
	for steps <= a.Steps() {
		left := tokens - steps - a.In(steps)
		if left <= 0 {
			break
		}
		steps += (left + most - 1) / most
	}
	return steps
}
