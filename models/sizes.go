package models

import "fmt"

// size is a figure of an architecture with its range.
type size struct {
	name               string
	value, least, most int
}

func checkSizes(ss []size) error {
	for _, s := range ss {
		if s.value < s.least || s.value > s.most {
			return fmt.Errorf("%s: found %d, want %d to %d", s.name, s.value, s.least, s.most)
		}
	}
	return nil
}

// product multiplies in 64 bits.
func product(factors ...int) int64 {
	n := int64(1)
	for _, f := range factors {
		n *= int64(f)
	}
	return n
}

func ceilDiv(n, d int64) int64 { return (n + d - 1) / d }

// split returns the larger share of n when it is split over tp GPUs.
func split(n, tp int) int { return (n + tp - 1) / tp }
