package serve

import (
	"strings"
)

// stopper looks for texts at which to stop in an answer that comes piece by piece, in the pieces
// behind the first after ones. It holds back what may be the beginning of one, and bytes that are
// not a whole character.
type stopper struct {
	stops   []string
	after   int
	longest int
	held    string
	// by is the text at which the answer stopped; nil while it goes on.
	by    *string
	whole holdBack
}

func newStopper(stops []string, after int) *stopper {
	s := &stopper{stops: stops, after: after}
	for _, text := range stops {
		s.longest = max(s.longest, len(text))
	}
	return s
}

// next returns what can be sent after another piece has come.
func (s *stopper) next(piece string) string {
	if s.by != nil {
		return ""
	}
	old := len(s.held)
	s.held += piece
	if s.after--; s.after < 0 {
		first := -1
		for _, text := range s.stops {
			from := max(0, old-len(text)+1) // what lies before has no part in the piece
			if at := strings.Index(s.held[from:], text); at >= 0 && (first < 0 || from+at < first) {
				first, s.by = from+at, &text
			}
		}
		if s.by != nil {
			return s.whole.next(s.held[:first])
		}
	}
	ready := len(s.held) - max(s.longest-1, 0)
	if ready <= 0 {
		return ""
	}
	out := s.held[:ready]
	s.held = s.held[ready:]
	return s.whole.next(out)
}

// rest returns what was held back at the end.
func (s *stopper) rest() string {
	if s.by != nil {
		return ""
	}
	return s.whole.next(s.held)
}
