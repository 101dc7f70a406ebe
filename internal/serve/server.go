// Package serve serves OpenAI's API as a fleet would. Each request is simulated, or computed by a
// small model, in wall-clock time, and gets its answer with the latency of that fleet.
package serve

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
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

// Config describes a server.
type Config struct {
	Backend Backend
	// Vocabulary turns texts into tokens and back. Words makes up texts from the same vocabulary;
	// it is nil if the backend computes them.
	Vocabulary Vocabulary
	// Lengths are the lengths in tokens, at least one, for answers whose request gives no length.
	// Seed is the seed of made-up texts.
	Words   *text.Vocabulary
	Lengths []int
	Seed    uint64
	// APIKey must be part of every request that does work; empty means that no key is needed.
	APIKey string
	Limits Limits
	// Warn, if set, is told when the times that clients see can no longer be trusted.
	Warn func(message string)
	// Log gets a line for every request that generates; nil means no log.
	Log *slog.Logger
	// Spans, if set, gets a span for every request that generates.
	Spans *Spans
	// Version is the answer of /version.
	Version string
	// Metrics answers /metrics, and Control answers paths that begin with /llmsim/. Both may be
	// nil.
	Metrics http.Handler
	Control http.Handler
}

// Limits bound the resources that clients can use.
type Limits struct {
	// BodyBytes is the largest size of a body. BodyTime is the longest time to read a body, and
	// WriteTime the longest time in which a client must read what was sent.
	BodyBytes           int64
	BodyTime, WriteTime time.Duration
	// HeaderTime is the longest time to read a request's head, and HeaderBytes the largest size of
	// a head. IdleTime bounds how long a connection is kept between requests.
	HeaderTime, IdleTime time.Duration
	HeaderBytes          int
	// Connections is the largest number of connections, and Requests the largest number of answers
	// in progress.
	Connections, Requests int
	// DrainTime bounds how long answers in progress may take after the server was told to stop.
	// Then they are cut off.
	DrainTime time.Duration
}

// DefaultLimits returns limits for a model with the given context. A prompt of that many tokens
// fits into a body: a token is four or five bytes of text on average, and up to seven as a number.
func DefaultLimits(context int) Limits {
	return Limits{
		BodyBytes: 1<<20 + 16*int64(context), BodyTime: 30 * time.Second,
		WriteTime:  30 * time.Second,
		HeaderTime: 10 * time.Second, IdleTime: 2 * time.Minute, HeaderBytes: 64 << 10,
		Connections: 16384, Requests: 16384, DrainTime: 30 * time.Second,
	}
}

// New returns a server.
func New(c Config) (*Server, error) {
	if c.Backend == nil || c.Vocabulary == nil || len(c.Lengths) == 0 {
		return nil, errors.New("serve: no backend, no vocabulary or no lengths of answers")
	}
	s := &Server{
		Config: c, models: c.Backend.Models(), key: sha256.Sum256([]byte(c.APIKey)),
		begun: time.Now(), late: lateness{warn: c.Warn},
		planner: planner{answers: answers{words: c.Words, seed: c.Seed}, texts: c.Vocabulary,
			lengths: c.Lengths},
	}
	if len(s.models) == 0 {
		return nil, errors.New("serve: the backend serves no model")
	}
	s.handler = s.routes()
	return s, nil
}

// Handler returns the handler of requests, for use without the server's own listeners.
func (s *Server) Handler() http.Handler { return s.handler }
