package load

import (
	"sync"

	"github.com/llmsim/llmsim/internal/text"
	"github.com/llmsim/llmsim/sim"
)

// mostAnswerTokens bounds the tokens of the answers that are kept.
const mostAnswerTokens = 1 << 24

// answerCache keeps the answers that later turns of their conversations repeat, by
// sim.Request.Answer. The oldest are dropped when there are too many.
type answerCache struct {
	words   *text.Vocabulary
	answers map[uint64][]text.Token
	order   []uint64
	tokens  int
}

func newSpoken(words *text.Vocabulary) *answerCache {
	return &answerCache{words: words, answers: map[uint64][]text.Token{}}
}

// add keeps the text of an answer. What cannot be encoded is made up when it is repeated.
func (s *answerCache) add(id uint64, answer string) {
	tokens, err := s.words.Encode(answer)
	if _, known := s.answers[id]; known || err != nil {
		return
	}
	s.answers[id] = tokens
	s.order = append(s.order, id)
	for s.tokens += len(tokens); s.tokens > mostAnswerTokens; s.order = s.order[1:] {
		oldest := s.order[0]
		s.tokens -= len(s.answers[oldest])
		delete(s.answers, oldest)
	}
}

// appendTo appends the tokens of a segment: what was answered, as far as it goes, and then what is
// made up.
func (s *answerCache) appendTo(tokens []text.Token, segment sim.Segment) []text.Token {
	answer := s.answers[segment.ID]
	answer = answer[:min(len(answer), segment.Tokens)]
	tokens = append(tokens, answer...)
	for i := len(answer); i < segment.Tokens; i++ {
		tokens = append(tokens, s.words.Word(segment.ID, i))
	}
	return tokens
}

// inbox holds the answers that requests under way have left for the generator.
type inbox struct {
	mu   sync.Mutex
	full []*answer
	read []*answer
}

func (b *inbox) put(a *answer) {
	b.mu.Lock()
	b.full = append(b.full, a)
	b.mu.Unlock()
}

// take returns the answers since the last call, valid until the next.
func (b *inbox) take() []*answer {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.full, b.read = b.read[:0], b.full
	return b.read
}
