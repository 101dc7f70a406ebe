package sim

// Footprint is what a sequence keeps of its context, in any unit: bytes, or the time that they take
// on a link.
type Footprint[T ~int64] struct {
	// Token is added by each token, and kept.
	Token T
	// WindowToken is added by each token, and kept for the last Window of them.
	WindowToken T
	Window      int
	// Fixed is kept from the first token on, however many follow.
	Fixed T
}

// Of returns what a sequence of n tokens keeps, which is nothing where n is 0.
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
