package text

import (
	"strings"
	"unicode/utf8"
)

// Stopper looks for texts at which to stop in a text that comes piece by piece, in the pieces
// behind the first after ones. It holds back what may be the beginning of one, and bytes that are
// not a whole character; without texts at which to stop, such bytes only.
type Stopper struct {
	// By is the text at which the text stopped; nil while it goes on.
	By *string

	stops          []string
	after, longest int
	held           string
}

// NewStopper returns a Stopper for texts that are not empty.
func NewStopper(stops []string, after int) *Stopper {
	s := &Stopper{stops: stops, after: after}
	for _, text := range stops {
		s.longest = max(s.longest, len(text))
	}
	return s
}

// Next returns what can be shown after another piece has come.
func (s *Stopper) Next(piece string) string {
	if s.By != nil {
		return ""
	}
	old := len(s.held)
	s.held += piece
	ready := len(s.held) - max(s.longest-1, 0)
	if s.after--; s.after < 0 {
		for _, text := range s.stops {
			from := max(0, old-len(text)+1) // what lies before has no part in the piece
			at := strings.Index(s.held[from:], text)
			if at >= 0 && (s.By == nil || from+at < ready) {
				ready, s.By = from+at, &text
			}
		}
	}
	return s.show(max(ready, 0))
}

// Rest returns what was held back at the end.
func (s *Stopper) Rest() string {
	if s.By != nil {
		return ""
	}
	return s.show(len(s.held))
}

// show returns the whole characters in the first n bytes that are held, which are held no longer.
func (s *Stopper) show(n int) string {
	n -= incomplete(s.held[:n])
	out := s.held[:n]
	s.held = s.held[n:]
	return out
}

// incomplete returns how many bytes at the end of s begin a character that is not complete.
func incomplete(s string) int {
	for n := 1; n < utf8.UTFMax && n <= len(s); n++ {
		if tail := s[len(s)-n:]; utf8.RuneStart(tail[0]) {
			if utf8.FullRuneInString(tail) {
				return 0
			}
			return n
		}
	}
	return 0
}
