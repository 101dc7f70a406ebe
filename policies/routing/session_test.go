package routing

import "testing"

// Known values of jump consistent hash are those of other implementations
// (https://github.com/lithammer/go-jump-consistent-hash, jump_test.go). Where the first draw is 0,
// the next bucket is number 2³¹, and fewer buckets than that keep the key in the first.
func TestJumpHash(t *testing.T) {
	const factor = 2862933555777941757
	inverse := uint64(1)
	for range 6 { // Newton's method doubles the right bits
		inverse *= 2 - factor*inverse
	}
	for _, c := range []struct {
		key  uint64
		n    int
		want int
	}{
		{1, 1, 0}, {42, 57, 43}, {0xDEAD10CC, 1, 0}, {0xDEAD10CC, 666, 361}, {256, 1024, 520},
		{-inverse, 1 << 31, 0},
	} {
		if got := jump(c.key, c.n); got != c.want {
			t.Errorf("key %d goes to bucket %d of %d, want %d", c.key, got, c.n, c.want)
		}
	}
}
