package sim

import "math"

// tournament finds the least of a fixed number of keys; of equal keys the one with the lowest
// index.
type tournament struct {
	leaves int
	keys   []int64
	// winner is a binary tree over the leaves: node 1 is the root, node n has the children 2n and
	// 2n+1.
	winner []int32
}

func newTournament(n int) tournament {
	leaves := 1
	for leaves < n {
		leaves *= 2
	}
	t := tournament{leaves: leaves, keys: make([]int64, leaves), winner: make([]int32, 2*leaves)}
	for i := range t.keys {
		t.keys[i] = math.MaxInt64
		t.winner[leaves+i] = int32(i)
	}
	for n := leaves - 1; n >= 1; n-- {
		t.winner[n] = t.winner[2*n]
	}
	return t
}

// min returns the winner and its key.
func (t *tournament) min() (int, int64) {
	i := t.winner[1]
	return int(i), t.keys[i]
}

// set changes the key of i.
func (t *tournament) set(i int, key int64) {
	t.keys[i] = key
	for n := (t.leaves + i) / 2; n >= 1; n /= 2 {
		left, right := t.winner[2*n], t.winner[2*n+1]
		if t.keys[right] < t.keys[left] {
			left = right
		}
		if left != int32(i) && left == t.winner[n] {
			return // i has not won here before, nor does it now
		}
		t.winner[n] = left
	}
}
