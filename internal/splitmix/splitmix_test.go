package splitmix

import "testing"

// The finaliser is that of splitmix64: the first numbers of the generator from the seed 0, as
// Vigna's splitmix64.c gives them.
func TestMixIsSplitmix64(t *testing.T) {
	for i, want := range []uint64{0xe220a8397b1dcdaf, 0x6e789e6aa1b965f4, 0x06c45d188009454f} {
		if got := Hash(uint64(i) * Increment); got != want {
			t.Errorf("number %d is %#x, want %#x", i, got, want)
		}
	}
}
