package serve

import (
	"net"
	"sync"
)

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
