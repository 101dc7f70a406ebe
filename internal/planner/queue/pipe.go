package queue

import (
	"bufio"
	"errors"
	"net"
	"os"
	"time"
)

// pipe is a connection to a process by its input and output.
type pipe struct {
	in  *os.File      // what it writes
	out *bufio.Reader // of from
	// from is closed with the connection.
	from *os.File
}

// Read implements net.Conn.
func (p *pipe) Read(b []byte) (int, error) { return p.out.Read(b) }

// Write implements net.Conn.
func (p *pipe) Write(b []byte) (int, error) { return p.in.Write(b) }

// Close implements net.Conn. It ends the input of the process.
func (p *pipe) Close() error { return errors.Join(p.in.Close(), p.from.Close()) }

// SetDeadline implements net.Conn.
func (p *pipe) SetDeadline(t time.Time) error {
	return errors.Join(p.SetReadDeadline(t), p.SetWriteDeadline(t))
}

// SetReadDeadline implements net.Conn.
func (p *pipe) SetReadDeadline(t time.Time) error { return p.from.SetReadDeadline(t) }

// SetWriteDeadline implements net.Conn.
func (p *pipe) SetWriteDeadline(t time.Time) error { return p.in.SetWriteDeadline(t) }

// LocalAddr implements net.Conn.
func (p *pipe) LocalAddr() net.Addr { return pipeAddress{} }

// RemoteAddr implements net.Conn.
func (p *pipe) RemoteAddr() net.Addr { return pipeAddress{} }

// pipeAddress is the address of both ends of a pipe.
type pipeAddress struct{}

// Network implements net.Addr.
func (pipeAddress) Network() string { return "pipe" }

// String implements net.Addr.
func (pipeAddress) String() string { return "pipe" }
