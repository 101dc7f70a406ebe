// Package splitmix hashes 64 bits as SplitMix64 does (Steele, Lea and Flood, "Fast Splittable
// Pseudorandom Number Generators", OOPSLA 2014).
package splitmix

// Increment is the odd constant by which the state of SplitMix64 grows: 2⁶⁴ over the golden ratio.
const Increment = 0x9e3779b97f4a7c15

// Hash returns what SplitMix64 gives for a state: a bijection that spreads every bit.
func Hash(state uint64) uint64 { return Finish(state + Increment) }

// Finish is the output function alone, also a bijection. It gives 0 for 0.
func Finish(x uint64) uint64 {
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
