package strategy

// Numbers is which numbers were tried, of those whose order is not proven to matter.
type Numbers struct {
	First int // the first that was tried; 0 where none was
	seen  map[int]bool
	top   int // a higher number shows the same as this; 0 where none is known
}

// Note counts a number as tried.
func (t *Numbers) Note(n int) {
	if t.seen == nil {
		t.seen, t.First = map[int]bool{}, n
	}
	t.seen[n] = true
}

// Settle notes whether all numbers above n show the same as n.
func (t *Numbers) Settle(n int, settled bool) {
	if settled && (t.top == 0 || n < t.top) {
		t.top = n
	}
}

// Next returns the number that was not tried, of the ones between two, that is nearest to the first
// that was, or else to near; 0 where all were.
func (t *Numbers) Next(from, to, near int) int {
	if t.seen != nil {
		near = t.First
	}
	if t.top > 0 {
		to = min(to, t.top)
	}
	near = min(max(near, from), to)
	for d := 0; near+d <= to || near-d >= from; d++ {
		for _, n := range [...]int{near + d, near - d} {
			if from <= n && n <= to && !t.seen[n] {
				return n
			}
		}
	}
	return 0
}
