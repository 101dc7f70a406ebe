// Package host runs the NATS server of a planner's queue in a process of its own, llmsim-queue. So
// the simulator itself is built without it.
package host

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/llmsim/llmsim/internal/planner/queue/wire"
)

// mostMemory bounds the tasks and results that the server holds, in bytes.
const mostMemory = 1 << 30

// Serve reads wire.Options as a line of JSON, starts the server, and answers with wire.Started as a
// line. After that, input and output are a connection to the server. Serve ends with the input, as
// when the process that started this one is gone.
func Serve(in io.Reader, out io.Writer) error {
	lines := bufio.NewReader(in)
	line, err := lines.ReadBytes('\n')
	if err != nil {
		return fmt.Errorf("reading options: %w", err)
	}
	var o wire.Options
	if err := json.Unmarshal(line, &o); err != nil {
		return fmt.Errorf("reading options: %w", err)
	}
	s, err := start(o)
	answer := wire.Started{}
	if err != nil {
		answer.Error = err.Error()
	} else {
		answer.URL = s.ClientURL()
	}
	if err := json.NewEncoder(out).Encode(answer); err != nil || s == nil {
		return err
	}
	defer s.WaitForShutdown()
	defer s.Shutdown()
	conn, err := s.InProcessConn()
	if err != nil {
		return err
	}
	go io.Copy(out, conn)
	_, err = io.Copy(conn, lines)
	return errors.Join(err, conn.Close())
}

// start starts a server, which listens to the one user only.
func start(o wire.Options) (*server.Server, error) {
	options := &server.Options{
		ServerName: "llmsim", NoSigs: true, NoLog: true, Host: o.Host, Port: o.Port,
		Nkeys:     []*server.NkeyUser{{Nkey: o.User}},
		JetStream: true, StoreDir: o.Dir, JetStreamMaxMemory: mostMemory,
		JetStreamMaxStore: 1 << 40, DisableJetStreamBanner: true,
	}
	if o.Port == 0 {
		options.Port = server.RANDOM_PORT
	}
	if o.Cert != "" {
		var err error
		options.TLSTimeout = 5
		options.TLSConfig, err = server.GenTLSConfig(&server.TLSConfigOpts{
			CertFile: o.Cert, KeyFile: o.Key, CaFile: o.CA, Verify: o.CA != ""})
		if err != nil {
			return nil, fmt.Errorf("TLS: %w", err)
		}
	}
	s, err := server.NewServer(options)
	if err != nil {
		return nil, err
	}
	s.Start()
	if !s.ReadyForConnections(10 * time.Second) {
		s.Shutdown()
		return nil, fmt.Errorf("the queue cannot listen on %s:%d; another process may use this "+
			"port", o.Host, o.Port)
	}
	return s, nil
}
