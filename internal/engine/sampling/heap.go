package sampling

// heap is a binary heap of tokens with the most likely at the root, of equally likely ones the
// lower.
type heap []int32

// fill makes a heap of all tokens of p.
func (h *heap) fill(p []float64) {
	*h = (*h)[:0]
	for i := range p {
		*h = append(*h, int32(i))
	}
	for i := len(*h)/2 - 1; i >= 0; i-- {
		h.sift(p, i)
	}
}

// pop removes the root and returns it.
func (h *heap) pop(p []float64) int32 {
	old := *h
	root := old[0]
	old[0] = old[len(old)-1]
	*h = old[:len(old)-1]
	h.sift(p, 0)
	return root
}

// sift moves the token at i down to its place.
func (h heap) sift(p []float64, i int) {
	for {
		child := 2*i + 1
		if child >= len(h) {
			return
		}
		if child+1 < len(h) && more(p, h[child+1], h[child]) {
			child++
		}
		if !more(p, h[child], h[i]) {
			return
		}
		h[i], h[child] = h[child], h[i]
		i = child
	}
}

// more reports whether token a comes before token b.
func more(p []float64, a, b int32) bool { return p[a] > p[b] || p[a] == p[b] && a < b }
