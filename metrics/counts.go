package metrics

// counts holds a number for each bucket, in a slice that covers those in use.
type counts struct {
	first  int // the bucket of the first number
	number []float64
}

// at returns the number of a bucket, to be changed at once.
func (c *counts) at(bucket int) *float64 {
	if uint(bucket-c.first) >= uint(len(c.number)) {
		c.grow(bucket)
	}
	return &c.number[bucket-c.first]
}

// grow makes the slice cover a bucket. Without it, at can be inlined.
//
//go:noinline
func (c *counts) grow(bucket int) {
	if len(c.number) == 0 {
		c.first = bucket
	}
	const spare = 64 // buckets, so that a slow drift does not move them each time
	if bucket < c.first {
		grown := c.first - bucket + spare
		c.number = append(make([]float64, grown, grown+len(c.number)), c.number...)
		c.first -= grown
	}
	if missing := bucket - c.first - len(c.number) + 1; missing > 0 {
		c.number = append(c.number, make([]float64, missing)...)
	}
}

// each yields the buckets that are not empty and their numbers, in order.
func (c *counts) each(yield func(bucket int, n float64) bool) {
	for i, n := range c.number {
		if n > 0 && !yield(c.first+i, n) {
			return
		}
	}
}

// ranked returns the bucket of a rank, counted from 0. It is the first bucket for which the numbers
// up to and including it sum to more than rank.
func (c *counts) ranked(rank float64) int {
	sum, last := 0.0, 0
	for bucket, n := range c.each {
		if sum += n; sum > rank {
			return bucket
		}
		last = bucket
	}
	return last
}
