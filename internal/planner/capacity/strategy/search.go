// Package strategy has the ways in which fleets are looked for, without knowing what a fleet is: by
// bounds the best of many candidates, and by trials the least number that suffices.
package strategy

import "context"

// Space is what is searched: the candidates that are open, with bounds on how good they can be.
type Space[C any] interface {
	// Next takes candidates that may be the best, by their bounds, off the open ones: those to try
	// at the same time. It returns none where the search is at its end.
	Next() []C
	// Try tries candidates, notes what that shows, and may put them back with narrower bounds. An
	// error ends the search.
	Try(ctx context.Context, some []C) error
}

// Search tries the candidates of a space, the ones with the best bounds first, until none that is
// open may be better than what was found. This is best-first branch and bound (Lawler and Wood,
// "Branch-and-Bound Methods: A Survey", Operations Research 14(4), 1966).
func Search[C any](ctx context.Context, s Space[C]) error {
	for some := s.Next(); len(some) > 0; some = s.Next() {
		if err := s.Try(ctx, some); err != nil {
			return err
		}
	}
	return nil
}

// Ordered is candidates whose bounds do not change, in the order of these.
type Ordered[C any] struct {
	Open   []C
	AtOnce int // the most that are tried at the same time
	// MayWin reports whether a candidate may be the best, given what was found so far.
	MayWin func(C) bool
}

// Next takes the first candidates that may be the best, and drops the others before them.
func (o *Ordered[C]) Next() []C {
	var some []C
	for len(o.Open) > 0 && len(some) < o.AtOnce {
		if c := o.Open[0]; o.MayWin(c) {
			some = append(some, c)
		}
		o.Open = o.Open[1:]
	}
	return some
}
