package sim

import (
	"math"
	"math/bits"
)

// tournament finds the smallest of a fixed number of keys. Of equal keys, it finds the one with the
// lowest index.
type tournament struct {
	leaves int // a power of 2, at least the number of keys
	// nodes is a binary tree of 2·leaves nodes. Node n < leaves holds the winner of its children 2n
	// and 2n+1, so that node 1 holds the winner of all. Node leaves+i is the leaf of key i. Node 0
	// is not used.
	nodes []contender
}

// contender is a key with its index. Keys without an owner are the largest int64.
type contender struct {
	key   int64
	index int32
}

func newTournament(n int) tournament {
	leaves := 1
	for leaves < n {
		leaves *= 2
	}
	t := tournament{leaves: leaves, nodes: make([]contender, 2*leaves)}
	for i := range leaves {
		t.nodes[leaves+i] = contender{math.MaxInt64, int32(i)}
	}
	for n := leaves - 1; n >= 1; n-- {
		t.nodes[n] = t.nodes[2*n]
	}
	return t
}

// min returns the winner and its key.
func (t *tournament) min() (int, int64) {
	winner := &t.nodes[1]
	return int(winner.index), winner.key
}

// set changes the key of i.
func (t *tournament) set(i int, key int64) {
	n := t.leaves + i
	t.nodes[n].key = key
	for n /= 2; n >= 1; n /= 2 {
		winner := t.nodes[2*n+t.rightWins(n)]
		if winner == t.nodes[n] {
			return // nothing changes above
		}
		t.nodes[n] = winner
	}
}

// rightWins returns 1 if the right child of a node wins, else 0. The code has no branch, because a
// processor could not predict it.
func (t *tournament) rightWins(node int) int {
	const sign = 1 << 63 // keys have one
	left, right := t.nodes[2*node].key, t.nodes[2*node+1].key
	_, borrow := bits.Sub64(uint64(right)^sign, uint64(left)^sign, 0)
	return int(borrow)
}
