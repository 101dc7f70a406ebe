package sim

// tournament finds the least of a fixed number of times; of equal times the one with the lowest index.
type tournament struct {
	leaves int
	times  []Time
	winner []int32 // a binary tree over the leaves; node 1 is the root, node n has the children 2n and 2n+1
}

func newTournament(n int) tournament {
	leaves := 1
	for leaves < n {
		leaves *= 2
	}
	t := tournament{leaves: leaves, times: make([]Time, leaves), winner: make([]int32, 2*leaves)}
	for i := range t.times {
		t.times[i] = Never
		t.winner[leaves+i] = int32(i)
	}
	for n := leaves - 1; n >= 1; n-- {
		t.winner[n] = t.winner[2*n]
	}
	return t
}

// min returns the winner and its time.
func (t *tournament) min() (int, Time) {
	i := t.winner[1]
	return int(i), t.times[i]
}

// set changes the time of i.
func (t *tournament) set(i int, at Time) {
	t.times[i] = at
	for n := (t.leaves + i) / 2; n >= 1; n /= 2 {
		left, right := t.winner[2*n], t.winner[2*n+1]
		if t.times[right] < t.times[left] {
			left = right
		}
		t.winner[n] = left
	}
}
