package serve

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"
)

// Serve answers on a listener until ctx is done. For a moment more it takes what clients had sent
// by then; later requests are refused with status 503. Requests that were taken have
// Limits.DrainTime to end; then Serve returns nil. replica serves the requests of this listener; −1
// means any replica.
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

// closing bounds how long connections take to close once no request is being answered, and settling
// how long a request may take from its client to the handler: from there on it is counted.
const (
	closing  = 200 * time.Millisecond
	settling = 100 * time.Millisecond
)

// drain waits until no request that was taken is being answered, for Limits.DrainTime at most.
func (s *Server) drain() {
	const look = 5 * time.Millisecond
	end := time.Now().Add(s.Limits.DrainTime)
	s.draining.Store(true)
	time.Sleep(min(settling, s.Limits.DrainTime))
	s.refusing.Store(true) // before the count is read, as take counts before it reads this
	for s.taken.Load() > 0 && time.Now().Before(end) {
		time.Sleep(look)
	}
}

// take counts a request from its head to the end of its answer, unless the server takes no more.
func (s *Server) take() bool {
	s.taken.Add(1)
	if s.refusing.Load() {
		s.taken.Add(-1)
		return false
	}
	return true
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
	return &closingConn{c, sync.OnceFunc(func() { <-l.slots })}, nil
}

func (l *limitedListener) Close() error {
	l.once.Do(func() { close(l.closed) })
	return l.Listener.Close()
}

// closingConn is a connection whose end is told to closed.
type closingConn struct {
	net.Conn
	closed func()
}

// Close implements net.Conn.
func (c *closingConn) Close() error {
	err := c.Conn.Close()
	c.closed()
	return err
}
