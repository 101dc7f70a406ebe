//go:build !js

package queue

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/llmsim/llmsim/internal/files"
	"github.com/llmsim/llmsim/scenarios"
)

// served is the part of a queue that is on a server, where other processes take part.
type served struct {
	server *hosted // nil where the server is elsewhere
	conn   *nats.Conn
	store  *store
	sums   *sums // of files that scenarios name
}

func newServed() served { return served{sums: newSums()} }

// join connects to the server of the configuration, or starts one, and starts the workers of this
// process.
func (q *Queue) join(ctx context.Context, handlers Handlers) error {
	k, err := q.config.key()
	if err != nil {
		return scenarios.BadInput(err)
	}
	if q.config.URL == "" {
		if q.server, err = startServer(&q.config, k); err != nil {
			return err
		}
	}
	if q.conn, err = q.config.connect(q.server, k); err != nil {
		return err
	}
	if q.store, err = newStore(q.conn, &q.config, k); err != nil {
		return err
	}
	consumer, err := q.store.begin(ctx, q.config.Redeliver)
	if err != nil {
		return fmt.Errorf("JetStream of %s: %w", q.config.where(), err)
	}
	ctx, q.stop = context.WithCancel(ctx)
	if err := q.watch(ctx); err != nil {
		return err
	}
	for range q.config.Workers {
		w := newWorker(q.store, handlers, q.config.Redeliver)
		q.workers.Go(func() { w.serve(ctx, consumer) })
	}
	if q.config.Workers == 0 {
		q.workers.Go(func() { q.missWorkers(ctx, consumer) })
	}
	return nil
}

// Key returns the name of the result of a task: the fingerprint of its scenario, kind and params.
// Files are read once.
func (q *Queue) Key(f *scenarios.File, kind, params string) (string, error) {
	fingerprint, err := f.Fingerprint(q.sums.of)
	return strings.TrimSuffix(fingerprint+"-"+kind+"-"+params, "-"), err
}

// leave ends the connection, and the server of this process. Results that are stored stay stored.
func (s *served) leave() {
	if s.store != nil {
		s.store.close()
	}
	if s.conn != nil {
		s.conn.Close()
	}
	if s.server != nil {
		s.server.close()
	}
}

// forget removes the result of a key, and its task, from the server.
func (s *served) forget(ctx context.Context, key string) error { return s.store.forget(ctx, key) }

// submit queues a task, unless its result is stored. One that failed earlier is tried again, but
// not where this queue asked for it and it is late.
func (q *Queue) submit(ctx context.Context, t *Task, late bool) error {
	known, found, err := q.store.result(ctx, t.Key)
	switch {
	case err != nil:
		return err
	case found && (late || known.Error == ""):
		q.fulfil(t.Key, known)
		return nil
	case found:
		if err := q.store.forget(ctx, t.Key); err != nil {
			return err
		}
	}
	if err := q.send(ctx, t); err != nil {
		return err
	}
	return q.store.publish(ctx, t)
}

// watch hands out pending results as they are stored.
func (q *Queue) watch(ctx context.Context) error {
	watcher, err := q.store.watch(ctx)
	if err != nil {
		return err
	}
	q.workers.Go(func() {
		defer watcher.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case entry := <-watcher.Updates():
				if entry == nil || entry.Operation() != jetstream.KeyValuePut {
					continue
				}
				// The task of a forgery is still in the queue, or queued again when it is late.
				key := strings.TrimPrefix(entry.Key(), q.store.version+".")
				if o, ok := q.store.believed(key, entry.Value()); ok {
					q.fulfil(key, o)
				}
			}
		}
	})
	return nil
}

// missWorkers logs, as long as tasks lie in the queue and no worker takes them.
func (q *Queue) missWorkers(ctx context.Context, c jetstream.Consumer) {
	for idle := 0; ctx.Err() == nil; idle++ {
		pause(ctx, 5*time.Second)
		info, err := c.Info(ctx)
		if err != nil || info.NumPending == 0 || info.NumWaiting+info.NumAckPending > 0 {
			idle = -1
			continue
		}
		if idle%12 == 1 { // after 10 s, and each minute
			q.config.Log(fmt.Sprintf(
				"%d tasks wait for a worker of llmsim %s: start llmsim worker --nats with the "+
					"address of %s", info.NumPending, q.store.version, q.config.where()))
		}
	}
}

// hosted is a NATS server in a process of its own, llmsim-queue. What it holds is gone when it
// ends, which it does with this process at the latest.
type hosted struct {
	url     string
	process *exec.Cmd
	conn    net.Conn         // the connection of this process, with whose end the server ends
	folder  *files.Temporary // what it stores
}

// program is the name of the server's program.
const program = "llmsim-queue"

// startServer starts a server that listens where the configuration says, to holders of the key.
func startServer(c *Config, k *key) (*hosted, error) {
	listen, err := c.listen()
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
	if s.folder, err = files.NewTemporary(program); err != nil {
		return nil, err
	}
	if err := s.start(path, c.serverConfig(listen, public, s.folder.Path)); err != nil {
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
func (c *Config) serverConfig(listen, user, dir string) string {
	if host, free := strings.CutSuffix(listen, ":0"); free {
		listen = host + ":-1" // a port that is free
	}
	text := fmt.Sprintf("server_name: llmsim\nlisten: %q\nauthorization {users: [{nkey: %q}]}\n"+
		"jetstream {store_dir: %q, max_file_store: %d}\n", listen, user, filepath.ToSlash(dir),
		int64(1)<<40)
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
	file := filepath.Join(s.folder.Path, "server.conf")
	if err := files.Write(file, func(w io.Writer) error {
		_, err := io.WriteString(w, config)
		return err
	}); err != nil {
		return err
	}
	var theirs net.Conn
	s.conn, theirs = net.Pipe()
	var why strings.Builder
	process := exec.Command(path, file)
	process.Stdin, process.Stderr = theirs, &why
	out, err := process.StdoutPipe()
	if err != nil {
		return err
	}
	if err := process.Start(); err != nil {
		return err
	}
	s.process = process
	answers := bufio.NewReader(out)
	if s.url, err = answers.ReadString('\n'); err != nil {
		s.conn.Close()
		_ = process.Wait() // until all that it says is there
		s.process = nil
		return fmt.Errorf("%s ended before it listened: %s", path,
			strings.TrimSpace(why.String()))
	}
	s.url = strings.TrimSpace(s.url)
	go func() {
		_, _ = io.Copy(theirs, answers) // where it breaks, the connection ends
		theirs.Close()
	}()
	return nil
}

// InProcessConn implements nats.InProcessConnProvider: the one connection of this process.
func (s *hosted) InProcessConn() (net.Conn, error) { return s.conn, nil }

func (s *hosted) close() {
	if s.conn != nil {
		s.conn.Close()
	}
	if s.process != nil {
		patience := time.AfterFunc(5*time.Second, func() { _ = s.process.Process.Kill() })
		_ = s.process.Wait() // how it ended matters no more
		patience.Stop()
	}
	_ = s.folder.Close() // what cannot be removed now is when the next queue begins
}

// sums remembers the files of scenarios, which do not change while a queue is open.
type sums struct {
	mu    sync.Mutex
	known map[string]SentFile
}

func newSums() *sums { return &sums{known: map[string]SentFile{}} }

// of returns the SHA-256 of the contents of a file.
func (s *sums) of(path string) (string, error) {
	f, err := s.file(path)
	return f.Sum, err
}

// file describes a file.
func (s *sums) file(path string) (SentFile, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if f, ok := s.known[path]; ok {
		return f, nil
	}
	sum, err := scenarios.HashFile(path)
	if err != nil {
		return SentFile{}, err
	}
	info, err := os.Stat(path)
	if err != nil {
		return SentFile{}, err
	}
	s.known[path] = SentFile{sum, info.Size()}
	return s.known[path], nil
}
