// Package host runs the NATS server of a planner's queue in a process of its own, llmsim-queue. So
// the simulator itself is built without it.
package host

import (
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

// Serve starts the server of a configuration file, and answers with its address, as a line. After
// that, input and output are a connection to the server. Serve ends with
// the input, as when the process that started this one is gone.
func Serve(config string, in io.Reader, out io.Writer) error {
	s, err := start(config)
	if err != nil {
		return err
	}
	defer s.WaitForShutdown()
	defer s.Shutdown()
	if _, err := fmt.Fprintln(out, s.ClientURL()); err != nil {
		return err
	}
	conn, err := s.InProcessConn()
	if err != nil {
		return err
	}
	go io.Copy(out, conn)
	_, err = io.Copy(conn, in)
	return errors.Join(err, conn.Close())
}

// start starts a server.
func start(config string) (*server.Server, error) {
	options, err := server.ProcessConfigFile(config)
	if err != nil {
		return nil, err
	}
	options.NoSigs, options.NoLog, options.DisableJetStreamBanner = true, true, true
	s, err := server.NewServer(options)
	if err != nil {
		return nil, err
	}
	s.Start()
	if !s.ReadyForConnections(10 * time.Second) {
		s.Shutdown()
		return nil, fmt.Errorf("the queue cannot listen on %s:%d; another process may use this "+
			"port", options.Host, options.Port)
	}
	return s, nil
}
