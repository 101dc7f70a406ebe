package models

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
