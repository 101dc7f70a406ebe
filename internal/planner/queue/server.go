package queue

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"time"

	"github.com/llmsim/llmsim/internal/files"
	"github.com/llmsim/llmsim/internal/planner/queue/wire"
	"github.com/llmsim/llmsim/scenarios"
)

// hosted is a NATS server in a process of its own, llmsim-queue. What it holds is gone when it
// ends, which it does with this process at the latest.
type hosted struct {
	url     string
	process *exec.Cmd
	pipe    *pipe            // the process ends with it
	dir     string           // what it stores, removed with it
	own     *files.Temporary // holds dir, where nobody named one
}

// program is the name of the server's program.
const program = "llmsim-queue"

// startServer starts a server that listens where the configuration says, to holders of the key.
func startServer(c *Config, k *key) (*hosted, error) {
	a, err := c.listen()
	if err != nil {
		return nil, err
	}
	_, public, err := k.login()
	if err != nil {
		return nil, err
	}
	path, err := findProgram()
	if err != nil {
		return nil, err
	}
	s := &hosted{}
	if err := s.makeFolder(c.Dir); err != nil {
		return nil, err
	}
	err = s.start(path, wire.Options{Host: a.host, Port: a.port, User: public, Dir: s.dir,
		Cert: c.Cert, Key: c.Key, CA: c.CA})
	if err != nil {
		s.close()
		return nil, err
	}
	c.Log("workers join with llmsim worker --nats " + s.url + c.keyFlag())
	return s, nil
}

// findProgram returns the path of the server's program: beside this one, or in the search path.
func findProgram() (string, error) {
	name := program
	if runtime.GOOS == "windows" {
		name += ".exe"
	}
	if self, err := os.Executable(); err == nil {
		if beside := filepath.Join(filepath.Dir(self), name); files.Exists(files.Disk{}, beside) {
			return beside, nil
		}
	}
	path, err := exec.LookPath(name)
	if err != nil {
		return "", scenarios.BadInput(fmt.Errorf("--listen needs the program %s, which is "+
			"neither beside llmsim nor in the PATH; go install "+
			"github.com/llmsim/llmsim/cmd/%[1]s, or start a NATS server with JetStream and give "+
			"its address as --nats", program))
	}
	return path, nil
}

// start starts the process, and waits until it listens.
func (s *hosted) start(path string, o wire.Options) error {
	options, err := json.Marshal(o)
	if err != nil {
		return err
	}
	process := exec.Command(path)
	process.Stderr = os.Stderr
	theirs, in, err := os.Pipe()
	if err != nil {
		return err
	}
	defer theirs.Close()
	out, answers, err := os.Pipe()
	if err != nil {
		return errors.Join(err, in.Close())
	}
	defer answers.Close()
	s.pipe = &pipe{in: in, out: bufio.NewReader(out), from: out}
	process.Stdin, process.Stdout = theirs, answers
	if err := process.Start(); err != nil {
		return err
	}
	s.process = process
	if _, err := s.pipe.Write(append(options, '\n')); err != nil {
		return err
	}
	answers.Close() // so that reading ends if the process does
	line, err := s.pipe.out.ReadBytes('\n')
	if err != nil {
		return fmt.Errorf("%s ended before it listened: %w", path, err)
	}
	var started wire.Started
	if err := json.Unmarshal(line, &started); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if s.url = started.URL; s.url == "" {
		return errors.New(started.Error)
	}
	return nil
}

// makeFolder makes an empty folder for the server: dir, or a temporary one.
func (s *hosted) makeFolder(dir string) error {
	if dir == "" {
		var err error
		if s.own, err = files.NewTemporary("llmsim-queue"); err == nil {
			s.dir = s.own.Path
		}
		return err
	}
	if err := os.RemoveAll(dir); err != nil { // what a killed process left
		return err
	}
	s.dir = dir
	return os.MkdirAll(dir, 0o700)
}

// InProcessConn implements nats.InProcessConnProvider: the one connection of this process.
func (s *hosted) InProcessConn() (net.Conn, error) { return s.pipe, nil }

func (s *hosted) close() {
	if s.pipe != nil {
		s.pipe.Close()
	}
	if s.process != nil {
		patience := time.AfterFunc(5*time.Second, func() { _ = s.process.Process.Kill() })
		_ = s.process.Wait() // how it ended matters no more
		patience.Stop()
	}
	os.RemoveAll(s.dir)
	if s.own != nil {
		_ = s.own.Close() // what cannot be removed now is when the next queue begins
	}
}
