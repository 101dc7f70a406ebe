package serve

import (
	"strings"
)

// stopper looks for texts at which to stop in an answer that comes piece by piece. It holds back
// what may be the beginning of one, and bytes that are not a whole character.
type stopper struct {
	stops   []string
	longest int
	held    string
	stopped bool
	whole   holdBack
}

func newStopper(stops []string) *stopper {
	s := &stopper{stops: stops}
	for _, text := range stops {
		s.longest = max(s.longest, len(text))
	}
	return s
}

// next returns what can be sent after another piece has come.
func (s *stopper) next(piece string) string {
	if s.stopped {
		return ""
	}
	s.held += piece
	first := -1
	for _, text := range s.stops {
		if at := strings.Index(s.held, text); at >= 0 && (first < 0 || at < first) {
			first = at
		}
	}
	if first >= 0 {
		s.stopped = true
		return s.whole.next(s.held[:first])
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
	if s.stopped {
		return ""
	}
	return s.whole.next(s.held)
}
