package queue

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/llmsim/llmsim/internal/files"
	"github.com/llmsim/llmsim/scenarios"
)

// hosted is a NATS server in a process of its own, llmsim-queue. What it holds is gone when it
// ends, which it does with this process at the latest.
type hosted struct {
	url     string
	process *exec.Cmd
	in      io.Closer        // its input: the process ends with it
	conn    net.Conn         // the connection of this process, by its input and output
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
	if err := s.start(path, c.serverConfig(a, public, s.dir)); err != nil {
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

// serverConfig returns a configuration file of a NATS server that only one user can reach.
func (c *Config) serverConfig(a address, user, dir string) string {
	if a.port == 0 {
		a.port = -1 // a free one
	}
	text := fmt.Sprintf("server_name: llmsim\nhost: %q\nport: %d\nauthorization {users: [{nkey: "+
		"%q}]}\njetstream {store_dir: %q, max_memory_store: %d, max_file_store: %d}\n", a.host,
		a.port, user, filepath.ToSlash(dir), 1<<30, int64(1)<<40)
	if c.Cert == "" {
		return text
	}
	text += fmt.Sprintf("tls {cert_file: %q, key_file: %q, timeout: 5", filepath.ToSlash(c.Cert),
		filepath.ToSlash(c.Key))
	if c.CA != "" {
		text += fmt.Sprintf(", ca_file: %q, verify: true", filepath.ToSlash(c.CA))
	}
	return text + "}\n"
}

// start starts the process, and waits until it listens.
func (s *hosted) start(path, config string) error {
	file := filepath.Join(s.dir, "server.conf")
	if err := files.Write(file, func(w io.Writer) error {
		_, err := io.WriteString(w, config)
		return err
	}); err != nil {
		return err
	}
	process := exec.Command(path, file)
	process.Stderr = os.Stderr
	in, err := process.StdinPipe()
	if err != nil {
		return err
	}
	out, err := process.StdoutPipe()
	if err != nil {
		return err
	}
	if err := process.Start(); err != nil {
		return err
	}
	s.process, s.in = process, in
	answers := bufio.NewReader(out)
	line, err := answers.ReadString('\n')
	if err != nil {
		return fmt.Errorf("%s ended before it listened: %w", path, err)
	}
	failed := false
	if s.url, failed = strings.CutPrefix(strings.TrimSpace(line), failedPrefix); failed {
		return errors.New(s.url)
	}
	mine, theirs := net.Pipe()
	s.conn = mine
	copied := func(to io.WriteCloser, from io.Reader) {
		_, _ = io.Copy(to, from) // where it breaks, the connection ends
		to.Close()
	}
	go copied(in, theirs)
	go copied(theirs, answers)
	return nil
}

// failedPrefix is what the server's program answers before an error, in place of its address.
const failedPrefix = "error: "

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
func (s *hosted) InProcessConn() (net.Conn, error) { return s.conn, nil }

func (s *hosted) close() {
	if s.conn != nil {
		s.conn.Close()
	}
	if s.process != nil {
		s.in.Close()
		patience := time.AfterFunc(5*time.Second, func() { _ = s.process.Process.Kill() })
		_ = s.process.Wait() // how it ended matters no more
		patience.Stop()
	}
	os.RemoveAll(s.dir)
	if s.own != nil {
		_ = s.own.Close() // what cannot be removed now is when the next queue begins
	}
}
