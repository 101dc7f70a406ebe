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

// gate is the listener of one replica. While the replica is down, connections to its port are
// refused, and open ones are reset.
type gate struct {
	address net.Addr

	mu      sync.Mutex
	open    net.Listener // nil while the replica is down
	conns   map[net.Conn]bool
	changed chan struct{} // closed at the next change
	closed  bool
}

func newGate(l net.Listener) *gate {
	return &gate{address: l.Addr(), open: l, conns: map[net.Conn]bool{},
		changed: make(chan struct{})}
}

// Addr implements net.Listener.
func (g *gate) Addr() net.Addr { return g.address }

// Accept implements net.Listener. While the replica is down it waits.
func (g *gate) Accept() (net.Conn, error) {
	for {
		g.mu.Lock()
		l, changed, closed := g.open, g.changed, g.closed
		g.mu.Unlock()
		switch {
		case closed:
			return nil, net.ErrClosed
		case l == nil:
			<-changed
			continue
		}
		c, err := l.Accept()
		g.mu.Lock()
		current := g.open == l
		if err == nil && current {
			g.conns[c] = true
			g.mu.Unlock()
			return &closingConn{c, func() { g.forget(c) }}, nil
		}
		g.mu.Unlock()
		if err == nil {
			reset(c)
		} else if current {
			return nil, err
		}
	}
}

// set opens or shuts the gate. A port that somebody else has taken meanwhile stays shut until the
// next call.
func (g *gate) set(up bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed || up == (g.open != nil) {
		return
	}
	if up {
		l, err := net.Listen(g.address.Network(), g.address.String())
		if err != nil {
			return
		}
		g.open = l
	} else {
		g.open.Close()
		g.open = nil
		for c := range g.conns {
			reset(c)
		}
	}
	close(g.changed)
	g.changed = make(chan struct{})
}

// Close implements net.Listener.
func (g *gate) Close() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return nil
	}
	g.closed = true
	close(g.changed)
	if g.open == nil {
		return nil
	}
	return g.open.Close()
}

// forget drops a connection that has ended.
func (g *gate) forget(c net.Conn) {
	g.mu.Lock()
	delete(g.conns, c)
	g.mu.Unlock()
}

// reset ends a connection as the end of its process does.
func reset(c net.Conn) {
	if tcp, ok := c.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	c.Close()
}
