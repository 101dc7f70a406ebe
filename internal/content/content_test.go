package content

import (
	"testing"

	"pgregory.net/rapid"
)

// Two texts share an ID only if they are the same text.
func TestIDsAreOneToOne(t *testing.T) {
	if kinds > 1<<4 {
		t.Fatalf("%d kinds do not fit into four bits", kinds)
	}
	rapid.Check(t, func(t *rapid.T) {
		kind := rapid.Uint64Range(0, uint64(kinds-1))
		number := rapid.OneOf(rapid.Uint64Range(0, 1<<60-1), rapid.Uint64Range(0, 10))
		k1, n1 := kind.Draw(t, "kind"), number.Draw(t, "number")
		k2, n2 := kind.Draw(t, "other kind"), number.Draw(t, "other number")
		if same := k1 == k2 && n1 == n2; same != (ID(Kind(k1), n1) == ID(Kind(k2), n2)) {
			t.Fatalf("kinds %d, %d and numbers %d, %d: same text %v", k1, k2, n1, n2, same)
		}
	})
}

// Mix has an inverse, so that nothing collides.
func TestMixIsOneToOne(t *testing.T) {
	inverse := func(x uint64) uint64 {
		x = (x ^ x>>31 ^ x>>62) * 0x319642b2d24d8ec3
		x = (x ^ x>>27 ^ x>>54) * 0x96de1b173f119089
		x = x ^ x>>30 ^ x>>60
		return x - 0x9e3779b97f4a7c15
	}
	rapid.Check(t, func(t *rapid.T) {
		if x := rapid.Uint64().Draw(t, "x"); inverse(Hash(x)) != x {
			t.Fatalf("%d comes back as %d", x, inverse(Hash(x)))
		}
	})
}

// The finaliser is that of splitmix64: the first numbers of the generator from the seed 0, as
// Vigna's splitmix64.c gives them.
func TestMixIsSplitmix64(t *testing.T) {
	for i, want := range []uint64{0xe220a8397b1dcdaf, 0x6e789e6aa1b965f4, 0x06c45d188009454f} {
		if got := Hash(uint64(i) * Increment); got != want {
			t.Errorf("number %d is %#x, want %#x", i, got, want)
		}
	}
}
