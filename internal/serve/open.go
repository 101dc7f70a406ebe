package serve

import (
	"crypto/sha256"
	"errors"
	"net/http"
	"time"
)

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
