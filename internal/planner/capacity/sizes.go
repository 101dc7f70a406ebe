package capacity

// sizes is what is known of the numbers of replicas of an option, spares left out, whose fleets
// were simulated whole: they are the answer, or are not better.
type sizes struct {
	seen map[int]bool
	near int // the first of them
	top  int // a fleet of more replicas shows the same as one of this many; 0 where none is known
}

// note counts a number of replicas as simulated.
func (z *sizes) note(n int) {
	if z.seen == nil {
		z.seen, z.near = map[int]bool{}, n
	}
	z.seen[n] = true
}

// settle notes whether fleets of more than n replicas show the same as one of n.
func (z *sizes) settle(n int, settled bool) {
	if settled && (z.top == 0 || n < z.top) {
		z.top = n
	}
}

// next returns the number of replicas that was not simulated, of the ones between two, that is
// nearest to the first that was, or else to near; 0 where all were.
func (z *sizes) next(from, to, near int) int {
	if z.seen != nil {
		near = z.near
	}
	if z.top > 0 {
		to = min(to, z.top)
	}
	near = min(max(near, from), to)
	for d := 0; near+d <= to || near-d >= from; d++ {
		for _, n := range [...]int{near + d, near - d} {
			if from <= n && n <= to && !z.seen[n] {
				return n
			}
		}
	}
	return 0
}
