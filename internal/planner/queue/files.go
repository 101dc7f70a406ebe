package queue

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/llmsim/llmsim/scenarios"
)

// sums remembers the hashes of files, which do not change while a queue is open.
type sums struct {
	mu    sync.Mutex
	known map[string]string
}

func newSums() *sums { return &sums{known: map[string]string{}} }

// of returns the SHA-256 of the contents of a file.
func (s *sums) of(path string) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if sum, ok := s.known[path]; ok {
		return sum, nil
	}
	sum, err := scenarios.HashFile(path)
	if err == nil {
		s.known[path] = sum
	}
	return sum, err
}

// send puts the files that a task's scenario names where workers find them, by the hash of their contents.
func (q *Queue) send(ctx context.Context, t *Task) error {
	f, err := scenarios.Parse(t.Name, []byte(t.Text), t.Set...)
	if err != nil {
		return err
	}
	t.Files = map[string]SentFile{}
	for name, path := range f.Files() {
		sum, err := q.sums.of(path)
		if err != nil {
			return scenarios.BadInput(err)
		}
		if err := insist(ctx, func() error { return q.store.upload(ctx, path, sum) }); err != nil {
			return err
		}
		t.Files[name] = SentFile{path, sum}
	}
	return nil
}

// upload stores a file, unless it is there.
func (s *store) upload(ctx context.Context, path, sum string) error {
	s.cache.mu.Lock()
	defer s.cache.mu.Unlock()
	if s.cache.sent[sum] {
		return nil
	}
	_, err := s.files.GetInfo(ctx, sum)
	if errors.Is(err, jetstream.ErrObjectNotFound) {
		var file *os.File
		if file, err = os.Open(path); err != nil {
			return err
		}
		defer file.Close()
		_, err = s.files.Put(ctx, jetstream.ObjectMeta{Name: sum}, file)
	}
	s.cache.sent[sum] = err == nil
	return err
}

// fileCache is the files that a worker has fetched, in folders named by their hashes.
type fileCache struct {
	dir  string
	mu   sync.Mutex
	sent map[string]bool
}

func newFileCache() (*fileCache, error) {
	dir, err := os.MkdirTemp("", "llmsim-files-")
	return &fileCache{dir: dir, sent: map[string]bool{}}, err
}

func (c *fileCache) close() { os.RemoveAll(c.dir) }

// path is where a file is, or will be. Its name stays: the ending tells the format.
func (c *fileCache) path(f SentFile) string {
	return filepath.Join(c.dir, f.Sum, filepath.Base(f.Path))
}

// fetch returns where files of a task are on this machine, by their names in the scenario.
func (s *store) fetch(ctx context.Context, files map[string]SentFile) (map[string]string, error) {
	moved := map[string]string{}
	for name, file := range files {
		path := s.cache.path(file)
		if err := s.download(ctx, file.Sum, path); err != nil {
			return nil, err
		}
		moved[name] = path
	}
	return moved, nil
}

// download fetches a file, unless it is there. The client checks the hash of what it gets.
func (s *store) download(ctx context.Context, sum, path string) error {
	s.cache.mu.Lock()
	defer s.cache.mu.Unlock()
	if _, err := os.Stat(path); err == nil {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return err
	}
	if err := s.files.GetFile(ctx, sum, path+".part"); err != nil {
		return err
	}
	return os.Rename(path+".part", path)
}

// unmoved says in a text where files are for the user, rather than for the worker.
func (s *store) unmoved(text string, files map[string]SentFile) string {
	for _, file := range files {
		text = strings.ReplaceAll(text, s.cache.path(file), file.Path)
	}
	return text
}
