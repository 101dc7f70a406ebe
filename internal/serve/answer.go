package serve

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"
	"unicode/utf8"

	"github.com/llmsim/llmsim/internal/serve/openai"
	"github.com/llmsim/llmsim/internal/text"
	"github.com/llmsim/llmsim/sim"
)

// call is one HTTP request that generates, under way.
type call struct {
	server  *Server
	request *openai.Request
	plans   []*plan
	head    openai.Head
	began   time.Time
	first   time.Time
	sent    []progress // of each plan
	status  int
}

// progress is the part of a plan that has been sent.
type progress struct {
	tokens, bytes, cached int
	begun, finished       bool
	text                  []byte // all of it, where the end repeats it
	// logprobs belong to the tokens so far, and firstUnsent the number of the first that was not
	// sent; offset is where it begins, in characters of the answer.
	logprobs            []openai.TokenLogprobs
	firstUnsent, offset int
	due                 time.Time     // of what was seen last and is not sent yet
	stop                *text.Stopper // of an answer that is computed
}

// await waits for news of the call's jobs.
func (c *call) await(ctx context.Context) error {
	select {
	case <-c.plans[0].job.listener.wake:
		return nil
	case <-ctx.Done():
		return errGone
	}
}

// collect waits for all answers and sends them in one piece.
func (c *call) collect(w http.ResponseWriter, r *http.Request) error {
	for open := len(c.plans); open > 0; {
		if err := c.await(r.Context()); err != nil {
			return err
		}
		open = 0
		for i, p := range c.plans {
			state := p.job.snapshot()
			if state.Failed {
				return failure(state.Why)
			}
			if state.Ended {
				c.sent[i].due = state.Due // nothing is due before
			}
			c.take(i, &state, nil)
			if !c.sent[i].finished {
				open++
			}
		}
	}
	choices := make([]openai.Choice, len(c.plans))
	for i, p := range c.plans {
		choices[i] = p.choice
		choices[i].Text = string(c.sent[i].text)
	}
	w.Header().Set("Content-Type", "application/json")
	_, err := w.Write(c.head.Document(choices, c.usage()))
	c.delivered()
	return gone(err)
}

// stream sends pieces as they come. The status is sent with the first, so that a request that is
// turned away gets an error.
func (c *call) stream(w http.ResponseWriter, r *http.Request) error {
	out := &flusher{w: w, control: http.NewResponseController(w),
		patience: c.server.Limits.WriteTime}
	events := openai.NewStream(c.head, c.request.ContinuousUsage)
	for open := len(c.plans); open > 0; {
		if err := c.await(r.Context()); err != nil {
			return err
		}
		open = 0
		for i, p := range c.plans {
			state := p.job.snapshot()
			if state.Failed && !out.begun {
				return failure(state.Why)
			}
			if state.Failed {
				events.Fail(failure(state.Why))
				return errors.Join(failure(state.Why), out.send(&events.Bytes))
			}
			c.sent[i].due = state.Due
			c.take(i, &state, events)
			if !c.sent[i].finished {
				open++
			}
		}
		if open == 0 {
			events.End(c.finalUsage())
		}
		if err := out.send(&events.Bytes); err != nil {
			return err
		}
		c.delivered()
	}
	return nil
}

// delivered notes how late what was due has been written.
func (c *call) delivered() {
	now := time.Now()
	for i := range c.sent {
		if due := &c.sent[i].due; !due.IsZero() {
			c.server.late.recordDelivery(*due, now)
			*due = time.Time{}
		}
	}
}

// take moves the tokens of a plan that have come since last time into events, or into the text
// where events is nil.
func (c *call) take(i int, state *JobState, events *openai.Stream) {
	p, done := c.plans[i], &c.sent[i]
	done.cached = state.Cached
	if state.Tokens > 0 && c.first.IsZero() {
		c.first = time.Now()
	}
	if state.Tokens > 0 && !done.begun {
		done.begun = true
		if events != nil {
			events.Begin(i, &p.choice)
		}
	}
	for ; done.tokens < state.Tokens; done.tokens++ {
		if done.stop != nil && done.stop.By != nil {
			break
		}
		u := c.usage()
		u.Completion++
		if done.tokens < len(state.logprobs) {
			done.logprobs = append(done.logprobs, state.logprobs[done.tokens])
		}
		c.give(i, c.piece(i, done.tokens, state), u, events)
	}
	stopped := done.stop != nil && done.stop.By != nil
	if !state.Ended && !stopped || done.finished {
		return
	}
	done.finished = true
	if stopped && !state.Ended {
		c.server.Backend.Stop(p.job)
	}
	if done.stop != nil {
		c.give(i, done.stop.Rest(), c.usage(), events)
		if stopped || state.Stopped {
			p.choice.Finish, p.choice.Stop = "stop", done.stop.By
		}
	}
	if events != nil {
		p.choice.Text = string(done.text)
		u := c.usage()
		events.Logprobs = c.logprobs(i)
		events.Finish(i, &p.choice, &u)
		return
	}
	p.choice.Logprobs = c.logprobs(i)
}

// logprobs returns the probabilities of the tokens of a plan that were not sent yet; nil without
// one.
func (c *call) logprobs(i int) json.RawMessage {
	done := &c.sent[i]
	if done.firstUnsent == len(done.logprobs) {
		return nil
	}
	list, offset := done.logprobs[done.firstUnsent:], done.offset
	for _, o := range list {
		done.offset += utf8.RuneCountInString(o.Text)
	}
	done.firstUnsent = len(done.logprobs)
	return c.head.Endpoint.Logprobs(list, offset)
}

// give adds text to a plan's answer.
func (c *call) give(i int, piece string, u openai.Usage, events *openai.Stream) {
	if piece == "" {
		return
	}
	if done := &c.sent[i]; events == nil || c.head.Endpoint == openai.Responses {
		done.text = append(done.text, piece...)
	}
	if events != nil {
		events.Logprobs = c.logprobs(i)
		events.Piece(i, &c.plans[i].choice, piece, &u)
	}
}

// piece returns the text of a token, less what lies behind the text at which to stop.
func (c *call) piece(i, token int, state *JobState) string {
	p, done := c.plans[i], &c.sent[i]
	var piece string
	if done.stop != nil {
		return done.stop.Next(pieceOf(c.server.Vocabulary, state.Text[token]))
	}
	piece = p.script(token)
	if p.bytes >= 0 {
		piece = piece[:min(len(piece), max(p.bytes-done.bytes, 0))]
	}
	done.bytes += len(piece)
	return piece
}

// usage counts the tokens so far.
func (c *call) usage() openai.Usage {
	var u openai.Usage
	for i, p := range c.plans {
		u.Completion += c.sent[i].tokens
		if i%c.request.N == 0 { // the other answers find the prompt of the first in the cache
			u.Prompt += len(p.job.Prompt)
			u.Cached += c.sent[i].cached
		}
	}
	return u
}

// finalUsage returns the usage, or nil where the client does not want it.
func (c *call) finalUsage() *openai.Usage {
	if !c.request.IncludeUsage {
		return nil
	}
	u := c.usage()
	return &u
}

// failure says to a client why there is no answer.
func failure(why sim.Rejection) *openai.Error {
	e := &openai.Error{Message: "The request was " + why.String() + "."}
	switch why {
	case sim.TooLong, sim.TooLarge:
		e.Status, e.Code = http.StatusBadRequest, "context_length_exceeded"
		e.Message = "The request is " + why.String() + "."
	case sim.Refused, sim.TimedOut:
		e.Status, e.RetryAfter, e.Code = http.StatusTooManyRequests, 1, "too_many_requests"
	case sim.Unavailable:
		e.Status, e.RetryAfter, e.Message = http.StatusServiceUnavailable, 5,
			"No replica serves the model now."
	default:
		e.Status, e.Message = http.StatusInternalServerError,
			"The request was lost in a failure of the server."
	}
	return e
}

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
		return nil, openai.Invalid("", "The body could not be read.")
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

// flusher sends events to a client, each as soon as it is there.
type flusher struct {
	w       http.ResponseWriter
	control *http.ResponseController
	// patience bounds how long a client may take to read, and renewed is when it was last given as
	// much.
	patience time.Duration
	renewed  time.Time
	begun    bool
}

// send sends and empties b. The error is errGone where the client does not read.
func (f *flusher) send(b *[]byte) error {
	if len(*b) == 0 {
		return nil
	}
	if !f.begun {
		f.begun = true
		h := f.w.Header()
		h.Set("Content-Type", "text/event-stream; charset=utf-8")
		h.Set("Cache-Control", "no-cache")
		h.Set("X-Accel-Buffering", "no")
	}
	// A deadline costs a timer, so that it is not renewed with every token.
	if now := time.Now(); now.Sub(f.renewed) > f.patience/4 {
		f.renewed = now
		_ = f.control.SetWriteDeadline(now.Add(f.patience))
	}
	_, err := f.w.Write(*b)
	*b = (*b)[:0]
	if err == nil {
		err = f.control.Flush()
	}
	return gone(err)
}

// gone turns an error of writing into errGone.
func gone(err error) error {
	if err != nil {
		return errGone
	}
	return nil
}

// errGone ends a call whose client does not listen any more.
var errGone = errors.New("the client went away")
