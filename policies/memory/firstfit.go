package memory

import (
	"slices"
	"sort"
)

// firstFit hands out the beginning of the first hole that is large enough (Knuth, The Art of
// Computer Programming, volume 1, section 2.5, algorithms A and B).
type firstFit struct {
	size int // tokens, at least 1
	// holes are the free addresses, in ascending order: holes[i].address + holes[i].tokens <
	// holes[i+1].address. Only allocate and free change them.
	holes []hole
}

// hole is a run of free addresses, at least 1.
type hole struct{ address, tokens int }

func newFirstFit(tokens int) *firstFit {
	return &firstFit{size: tokens, holes: []hole{{0, tokens}}}
}

func (f *firstFit) largest() int { return f.size }

func (f *firstFit) piece(tokens int) int { return tokens }

func (f *firstFit) allocate(tokens int) (address, taken int, ok bool) {
	for i := range f.holes {
		h := &f.holes[i]
		if h.tokens < tokens {
			continue
		}
		address = h.address
		h.address += tokens
		if h.tokens -= tokens; h.tokens == 0 {
			f.holes = slices.Delete(f.holes, i, i+1)
		}
		return address, tokens, true
	}
	return 0, 0, false
}

func (f *firstFit) free(address, taken int) {
	i := sort.Search(len(f.holes), func(i int) bool { return f.holes[i].address > address })
	if i < len(f.holes) && f.holes[i].address == address+taken {
		taken += f.holes[i].tokens
		f.holes = slices.Delete(f.holes, i, i+1)
	}
	if i > 0 && f.holes[i-1].address+f.holes[i-1].tokens == address {
		f.holes[i-1].tokens += taken
		return
	}
	f.holes = slices.Insert(f.holes, i, hole{address, taken})
}
