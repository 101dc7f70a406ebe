package sim

import "slices"

// forecast is what a batch knows of the steps ahead, while all of its decoding sequences have
// drafts of the same length and it is known how many are accepted. These sequences, which are
// foreseen, advance together: they are visited when they join and when they are complete or leave,
// but not in each step. Forecasts end with a block of draws, and where sequences have to be asked
// about one by one.
type forecast struct {
	on      bool
	drafted int       // tokens drafted for each sequence in a step
	origin  int64     // progress.steps at the beginning
	until   int64     // where the block of draws ends, counted as in progress
	begun   int64     // the steps, counted as in progress, whose tokens have memory
	growth  [64]int64 // by step from origin: the units of memory that are taken when it begins

	// The steps of the leap that is under way: the time from its start to their ends, the tokens to
	// which they attend, and the part of each of them that is spent on drafts.
	ends     []Time
	contexts []int64
	drafting []Time
}

// active reports whether sequences are foreseen.
func (k *forecast) active() bool { return k != nil && k.on }

// room returns the greatest number of steps after the given one, at most limit, that the free units
// of memory allow. The first has its memory.
func (k *forecast) room(free, steps, limit int64) int64 {
	for i := int64(1); i < limit; i++ {
		if free -= k.growth[steps-k.origin+i]; free < 0 {
			return i
		}
	}
	return limit
}

// units returns the units of memory that are to be taken for the steps before the given one, which
// are counted as in progress.
func (k *forecast) units(steps int64) int64 {
	n := int64(0)
	for i := k.begun; i < steps; i++ {
		n += k.growth[i-k.origin]
	}
	return n
}

// duration returns the length of the first steps.
func (k *forecast) duration(steps int64) Time {
	if steps == 0 {
		return 0
	}
	return k.ends[steps-1]
}

// ending returns the least number of steps that last at least span; all of them, where they do not.
func (k *forecast) ending(span Time) int64 {
	i, _ := slices.BinarySearch(k.ends, span)
	return int64(min(i+1, len(k.ends)))
}

// sum returns the sum of the contexts of the first steps.
func (k *forecast) sum(steps int64) int64 {
	n := int64(0)
	for _, context := range k.contexts[:steps] {
		n += context
	}
	return n
}
