package serve

// holdBack keeps the bytes of a character that is not complete for the next piece.
type holdBack struct{ rest string }

func (h *holdBack) next(piece string) string {
	piece = h.rest + piece
	h.rest = ""
	whole := len(piece) - incomplete(piece)
	h.rest = piece[whole:]
	return piece[:whole]
}

// incomplete returns how many bytes at the end of s begin a character that is not complete.
func incomplete(s string) int {
	for n := 1; n <= 3 && n <= len(s); n++ {
		c := s[len(s)-n]
		switch {
		case c < 0x80:
			return 0
		case c >= 0xC0: // the first byte of a character of 2 to 4 bytes
			want := 2
			if c >= 0xE0 {
				want++
			}
			if c >= 0xF0 {
				want++
			}
			if n < want {
				return n
			}
			return 0
		}
	}
	return 0
}
