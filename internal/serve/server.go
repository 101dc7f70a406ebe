// Package serve serves OpenAI's API as a fleet would. Each request is simulated, or computed by a
// small model, in wall-clock time, and gets its answer with the latency of that fleet.
package serve

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/llmsim/llmsim/internal/nearest"
	"github.com/llmsim/llmsim/internal/serve/openai"
	"github.com/llmsim/llmsim/internal/text"
)

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
	// Log gets a line for every request that generates; nil means none.
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

// Vocabulary turns texts into tokens and back. Several goroutines use it.
type Vocabulary interface {
	Encode(s string) ([]text.Token, error)
	Decode(tokens []text.Token) (string, error)
}

// Limits bound the resources that clients can use.
type Limits struct {
	// BodyBytes is the largest size of a body. BodyTime is the longest time to read a body, and
	// WriteTime the longest time in which a client must read what was sent.
	BodyBytes           int64
	BodyTime, WriteTime time.Duration
	// HeaderTime is the longest time to read a request's head, and HeaderBytes the largest size of
	// a head. IdleTime is how long a connection is kept between requests.
	HeaderTime, IdleTime time.Duration
	HeaderBytes          int
	// Connections is the largest number of connections, and Requests the largest number of answers
	// in progress.
	Connections, Requests int
	// DrainTime is how long answers in progress may take after the server was told to stop. Then
	// they are cut off.
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

// Server answers requests.
type Server struct {
	Config
	planner  planner
	models   []Model
	key      [sha256.Size]byte
	handler  http.Handler
	draining atomic.Bool
	underWay atomic.Int64
	number   atomic.Uint64
	late     lateness
	begun    time.Time
}

// New returns a server.
func New(c Config) (*Server, error) {
	if c.Backend == nil || c.Vocabulary == nil || len(c.Lengths) == 0 {
		return nil, errors.New("serve: no backend, no vocabulary or no lengths of answers")
	}
	s := &Server{
		Config: c, models: c.Backend.Models(), key: sha256.Sum256([]byte(c.APIKey)),
		begun: time.Now(), late: lateness{warn: c.Warn},
		planner: planner{words: c.Words, texts: c.Vocabulary, lengths: c.Lengths, seed: c.Seed},
	}
	if len(s.models) == 0 {
		return nil, errors.New("serve: the backend serves no model")
	}
	s.handler = s.routes()
	return s, nil
}

// Handler returns the handler of requests, for use without the server's own listeners.
func (s *Server) Handler() http.Handler { return s.handler }

// Serve answers on a listener until ctx is done. Then it refuses new requests with status 503,
// gives answers in progress Limits.DrainTime to end, and returns nil. replica serves the requests
// of this listener; −1 means any replica.
func (s *Server) Serve(ctx context.Context, l net.Listener, replica int) error {
	h := &http.Server{
		Handler:           s.handler,
		ReadHeaderTimeout: s.Limits.HeaderTime, IdleTimeout: s.Limits.IdleTime,
		MaxHeaderBytes: s.Limits.HeaderBytes,
		BaseContext: func(net.Listener) context.Context {
			return withReplica(context.Background(), replica)
		},
		ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelError),
	}
	stopped := make(chan error, 1)
	go func() {
		<-ctx.Done()
		s.draining.Store(true)
		s.drain()
		patience, cancel := context.WithTimeout(context.Background(), closing)
		defer cancel()
		err := h.Shutdown(patience)
		if errors.Is(err, context.DeadlineExceeded) {
			err = h.Close()
		}
		stopped <- err
	}()
	err := h.Serve(limited(l, s.Limits.Connections))
	if errors.Is(err, http.ErrServerClosed) {
		return <-stopped
	}
	return err
}

// closing is how long connections may take to close once no answer is in progress any more.
const closing = 200 * time.Millisecond

// drain waits until no answer is in progress, for Limits.DrainTime at most.
func (s *Server) drain() {
	const look = 5 * time.Millisecond
	for end := time.Now().Add(s.Limits.DrainTime); s.underWay.Load() > 0; time.Sleep(look) {
		if time.Now().After(end) {
			return
		}
	}
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

// admit counts answers, unless there are as many as there may be.
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
	n := hash(s.number.Add(1) ^ uint64(s.begun.UnixNano()))
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

// authorized lets through what has the key.
func (s *Server) authorized(next http.Handler) http.Handler {
	if s.APIKey == "" {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		key, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
		sum := sha256.Sum256([]byte(key))
		if subtle.ConstantTimeCompare(sum[:], s.key[:]) != 1 {
			s.refuse(w, &openai.Error{Status: http.StatusUnauthorized, Code: "invalid_api_key",
				Message: "The API key is missing or wrong."})
			return
		}
		next.ServeHTTP(w, r)
	})
}

// limited returns a listener with at most n connections at a time; others wait to be accepted.
func limited(l net.Listener, n int) net.Listener {
	if n <= 0 {
		return l
	}
	return &limitedListener{Listener: l, slots: make(chan struct{}, n), closed: make(chan struct{})}
}

type limitedListener struct {
	net.Listener
	slots  chan struct{}
	once   sync.Once
	closed chan struct{}
}

func (l *limitedListener) Accept() (net.Conn, error) {
	select {
	case l.slots <- struct{}{}:
	case <-l.closed:
		return nil, net.ErrClosed
	}
	c, err := l.Listener.Accept()
	if err != nil {
		<-l.slots
		return nil, err
	}
	return &limitedConn{Conn: c, release: sync.OnceFunc(func() { <-l.slots })}, nil
}

func (l *limitedListener) Close() error {
	l.once.Do(func() { close(l.closed) })
	return l.Listener.Close()
}

type limitedConn struct {
	net.Conn
	release func()
}

func (c *limitedConn) Close() error {
	err := c.Conn.Close()
	c.release()
	return err
}

// wrongMethod answers a request whose path takes other methods.
func (s *Server) wrongMethod(w http.ResponseWriter, r *http.Request, allowed []string) {
	w.Header().Set("Allow", strings.Join(allowed, ", "))
	s.refuse(w, &openai.Error{
		Status: http.StatusMethodNotAllowed, Code: "method_not_allowed",
		Message: fmt.Sprintf("%.100s takes %s, found %.20s.", r.URL.Path,
			strings.Join(allowed, " or "), r.Method),
	})
}

// unknownPath answers what is not served.
func (s *Server) unknownPath(w http.ResponseWriter, r *http.Request) {
	known := []string{
		"/v1/completions", "/v1/chat/completions", "/v1/responses", "/v1/models", "/tokenize",
		"/detokenize",
		"/health", "/ping", "/version", "/metrics", "/load",
	}
	_, _ = io.CopyN(io.Discard, r.Body, 1<<10)
	s.refuse(w, &openai.Error{
		Status: http.StatusNotFound, Code: "not_found",
		Message: nearest.Unknown("path", r.URL.Path[:min(len(r.URL.Path), 100)], known),
	})
}
