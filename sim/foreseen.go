package sim

import "slices"

// foresight is what is known of the steps of a leap with drafts: how long each of them takes, and
// the tokens to which it attends.
type foresight struct {
	ends     []Time // by step, from the start of the leap
	contexts []int64
	drafting []Time // the part of each step that is spent on drafts
}

// duration returns the length of the first steps.
func (k *foresight) duration(steps int64) Time {
	if steps == 0 {
		return 0
	}
	return k.ends[steps-1]
}

// ending returns the least number of steps that last at least span; all of them, where they do not.
func (k *foresight) ending(span Time) int64 {
	i, _ := slices.BinarySearch(k.ends, span)
	return int64(min(i+1, len(k.ends)))
}

// sum returns the sum of the contexts of the first steps.
func (k *foresight) sum(steps int64) int64 {
	n := int64(0)
	for _, context := range k.contexts[:steps] {
		n += context
	}
	return n
}
