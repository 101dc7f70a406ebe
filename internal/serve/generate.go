package serve

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/llmsim/llmsim/internal/serve/openai"
	"github.com/llmsim/llmsim/internal/text"
)

// generate answers an endpoint that generates.
func (s *Server) generate(endpoint openai.Endpoint) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		c := &call{server: s, began: time.Now(), status: http.StatusOK}
		var err error
		if s.take() {
			defer s.taken.Add(-1)
			if err = c.prepare(w, r, endpoint); err == nil {
				err = c.run(w, r)
			}
		} else {
			err = &openai.Error{Status: http.StatusServiceUnavailable, RetryAfter: 1,
				Message: "The server is shutting down."}
		}
		if err != nil {
			c.status = s.refuse(w, err)
		}
		s.log(r, c, err)
		if s.Spans != nil && c.planned() {
			s.Spans.add(c.span(r.Header.Get("traceparent")))
		}
	}
}

// prepare reads the request and plans its answers.
func (c *call) prepare(w http.ResponseWriter, r *http.Request, endpoint openai.Endpoint) error {
	s := c.server
	data, err := s.readBody(w, r)
	if err != nil {
		return err
	}
	if c.request, err = openai.Parse(endpoint, data); err != nil {
		return err
	}
	model, number, err := s.model(c.request.Model)
	if err != nil {
		return err
	}
	if c.plans, err = s.planner.plans(c.request, model, number); err != nil {
		return err
	}
	for _, p := range c.plans {
		p.job.Replica = replicaOf(r.Context())
		p.job.Came = c.began
	}
	c.head = openai.Head{Endpoint: endpoint, ID: s.newID(endpoint), Model: model.Name,
		Created: c.began.Unix()}
	c.sent = make([]progress, len(c.plans))
	for i, p := range c.plans {
		if p.script == nil {
			c.sent[i].stop = text.NewStopper(c.request.Stop, c.request.MinTokens)
		}
	}
	return nil
}

// readBody reads as much as a body may have, in as much time as it may take.
func (s *Server) readBody(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	control := http.NewResponseController(w)
	// Without a deadline a client could keep its connection for ever by sending a byte at a time.
	_ = control.SetReadDeadline(time.Now().Add(s.Limits.BodyTime))
	data, err := io.ReadAll(http.MaxBytesReader(w, r.Body, s.Limits.BodyBytes))
	if err != nil {
		// Nothing more is read, also not what the body may still have.
		_ = control.SetReadDeadline(time.Now())
		w.Header().Set("Connection", "close")
	} else {
		_ = control.SetReadDeadline(time.Time{})
	}
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		return nil, &openai.Error{
			Status: http.StatusRequestEntityTooLarge, Code: "request_too_large",
			Message: fmt.Sprintf("The body is larger than the %d bytes allowed.", large.Limit),
		}
	case err != nil:
		return nil, &openai.Error{Status: http.StatusBadRequest,
			Message: "The body could not be read."}
	}
	return data, nil
}

// run lets the backend compute, and sends what comes.
func (c *call) run(w http.ResponseWriter, r *http.Request) error {
	s := c.server
	if !s.admit(len(c.plans)) {
		return &openai.Error{
			Status: http.StatusTooManyRequests, RetryAfter: 1, Code: "too_many_requests",
			Message: fmt.Sprintf("The server has %d requests already.", s.Limits.Requests),
		}
	}
	defer s.leave(len(c.plans))
	for _, p := range c.plans {
		s.Backend.Start(p.job)
	}
	defer func() {
		for _, p := range c.plans {
			s.Backend.Cancel(p.job)
		}
	}()
	if c.request.Stream {
		return c.stream(w, r)
	}
	return c.collect(w, r)
}
