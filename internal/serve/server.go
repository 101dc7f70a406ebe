// Package serve serves OpenAI's API as a fleet would. Each request is simulated, or computed by a
// small model, in wall-clock time, and gets its answer with the latency of that fleet.
package serve

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync/atomic"
	"time"

	"github.com/llmsim/llmsim/internal/content"
	"github.com/llmsim/llmsim/internal/serve/openai"
	"github.com/llmsim/llmsim/internal/text"
)

// Server answers requests.
type Server struct {
	Config
	planner planner
	models  []Model
	key     [sha256.Size]byte
	handler http.Handler
	// draining says that the server is to end, refusing that it takes no more requests. taken
	// counts requests that are being read or answered, and underWay their answers.
	draining, refusing atomic.Bool
	taken, underWay    atomic.Int64
	number             atomic.Uint64
	late               lateness
	begun              time.Time
}

type replicaKey struct{}

func withReplica(ctx context.Context, replica int) context.Context {
	return context.WithValue(ctx, replicaKey{}, replica)
}

// replicaOf returns the replica that serves what came to a listener; −1 means any.
func replicaOf(ctx context.Context) int {
	if n, ok := ctx.Value(replicaKey{}).(int); ok {
		return n
	}
	return -1
}

// model returns the model of a name, and its number. No name means the first.
func (s *Server) model(name string) (Model, int, error) {
	if name == "" {
		return s.models[0], 0, nil
	}
	i := slices.IndexFunc(s.models, func(m Model) bool { return m.Name == name })
	if i < 0 {
		return Model{}, 0, openai.NoModel(name)
	}
	return s.models[i], i, nil
}

// admit counts answers, unless their largest number is reached.
func (s *Server) admit(n int) bool {
	if s.underWay.Add(int64(n)) > int64(s.Limits.Requests) {
		s.underWay.Add(int64(-n))
		return false
	}
	return true
}

func (s *Server) leave(n int) { s.underWay.Add(int64(-n)) }

// newID names a request.
func (s *Server) newID(e openai.Endpoint) string {
	n := content.Hash(s.number.Add(1) ^ uint64(s.begun.UnixNano()))
	switch e {
	case openai.Completions:
		return fmt.Sprintf("cmpl-%016x", n)
	case openai.Chat:
		return fmt.Sprintf("chatcmpl-%016x", n)
	}
	return fmt.Sprintf("resp_%016x", n)
}

// refuse answers with an error, and returns the status.
func (s *Server) refuse(w http.ResponseWriter, err error) int {
	const clientGone = 499 // as in logs of nginx
	if errors.Is(err, errGone) {
		return clientGone
	}
	var e *openai.Error
	if !errors.As(err, &e) {
		e = &openai.Error{Status: http.StatusInternalServerError, Message: "The server failed."}
	}
	h := w.Header()
	if h.Get("Content-Type") != "" {
		return e.Status // a stream had begun, and reports the error itself
	}
	h.Set("Content-Type", "application/json")
	if e.RetryAfter > 0 {
		h.Set("Retry-After", fmt.Sprint(e.RetryAfter))
	}
	w.WriteHeader(e.Status)
	_, _ = w.Write(e.Body())
	return e.Status
}

// pieceOf returns the text of a token; empty for one that is not in the vocabulary.
func pieceOf(v Vocabulary, t text.Token) string {
	piece, err := v.Decode([]text.Token{t})
	if err != nil {
		return ""
	}
	return piece
}
