package sim

// Footprint is the size of what a sequence keeps of its context, in any unit, such as bytes or the
// time of their transfer.
type Footprint[T ~int64] struct {
	// Token is the size that each token adds for good.
	Token T
	// WindowToken is the size that each of the last Window tokens adds.
	WindowToken T
	Window      int
	// Fixed is the size that does not depend on the number of tokens, if there is at least one.
	Fixed T
}

// Of returns the size for a sequence of n tokens, which is 0 if n is 0.
func (f *Footprint[T]) Of(n int) T {
	if n == 0 {
		return 0
	}
	return T(n)*f.Token + T(min(n, f.Window))*f.WindowToken + f.Fixed
}

// valid reports whether no number is below 0.
func (f *Footprint[T]) valid() bool {
	return f.Token >= 0 && f.WindowToken >= 0 && f.Window >= 0 && f.Fixed >= 0
}
