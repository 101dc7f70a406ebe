package queue

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/llmsim/llmsim/internal/files"
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

// send puts the files that a task's scenario names where workers find them, by the hash of their
// contents.
func (q *Queue) send(ctx context.Context, t *Task) error {
	f, err := scenarios.Parse(t.Name, []byte(t.Text), t.Set...)
	if err != nil {
		return err
	}
	t.Files = map[string]SentFile{}
	for _, path := range f.Files() {
		sum, err := q.sums.of(path)
		if err != nil {
			return scenarios.BadInput(err)
		}
		info, err := os.Stat(path)
		if err != nil {
			return scenarios.BadInput(err)
		}
		file := SentFile{sum, info.Size()}
		if err := file.check(); err != nil {
			return scenarios.BadInput(fmt.Errorf("%s: %w", path, err))
		}
		if err := insist(ctx, func() error { return q.store.upload(ctx, path, file) }); err != nil {
			return err
		}
		t.Files[path] = file
	}
	if len(t.Files) > mostFiles {
		return scenarios.BadInput(fmt.Errorf("%s names %d files; at most %d travel to workers",
			t.Name, len(t.Files), mostFiles))
	}
	return nil
}

// upload stores a file, unless it is there.
func (s *store) upload(ctx context.Context, path string, f SentFile) error {
	s.cache.mu.Lock()
	defer s.cache.mu.Unlock()
	if s.cache.sent[f.Sum] {
		return nil
	}
	info, err := s.files.GetInfo(ctx, f.Sum)
	if err == nil && info.Size == uint64(f.Size) || err != nil &&
		!errors.Is(err, jetstream.ErrObjectNotFound) {
		s.cache.sent[f.Sum] = err == nil
		return err
	}
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	_, err = s.files.Put(ctx, jetstream.ObjectMeta{Name: f.Sum}, file)
	s.cache.sent[f.Sum] = err == nil
	return err
}

// cache is the files that a worker has fetched, in a folder of its own that it never leaves. They
// are named by their hashes.
type cache struct {
	folder *files.Temporary
	root   *os.Root
	mu     sync.Mutex
	sent   map[string]bool // what is on the server
	have   map[string]bool // what is in the folder
}

func newCache() (*cache, error) {
	folder, err := files.NewTemporary("llmsim-files")
	if err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(folder.Path)
	if err != nil {
		return nil, errors.Join(err, folder.Close())
	}
	return &cache{folder: folder, root: root, sent: map[string]bool{}, have: map[string]bool{}}, nil
}

func (c *cache) close() {
	c.root.Close()
	_ = c.folder.Close() // what cannot be removed now is when the next cache is made
}

// fetch returns the files of a task, and no others.
func (s *store) fetch(ctx context.Context, t *Task) (*taskFiles, error) {
	for path, file := range t.Files {
		if err := s.download(ctx, file); err != nil {
			return nil, fmt.Errorf("fetching %s: %w", path, err)
		}
	}
	return &taskFiles{s.cache.root, t.Files}, nil
}

// download fetches a file, unless it is there. Contents that do not have the hash of their name are
// refused.
func (s *store) download(ctx context.Context, f SentFile) error {
	c := s.cache
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.have[f.Sum] {
		return nil
	}
	object, err := s.files.Get(ctx, f.Sum)
	if err != nil {
		return err
	}
	defer object.Close()
	partial, err := c.root.Create(f.Sum + ".part")
	if err != nil {
		return err
	}
	hash := sha256.New()
	_, err = io.Copy(io.MultiWriter(partial, hash), files.Limit(object, "the file", f.Size))
	if err = errors.Join(err, partial.Close()); err == nil &&
		hex.EncodeToString(hash.Sum(nil)) != f.Sum {
		err = errors.New("what the server has is another file")
	}
	if err != nil {
		return errors.Join(err, c.root.Remove(f.Sum+".part"))
	}
	if err := c.root.Rename(f.Sum+".part", f.Sum); err != nil {
		return err
	}
	c.have[f.Sum] = true
	return nil
}

// taskFiles is the files that came with a task, by the paths at which its scenario finds them.
// There is nothing else in it: a path leads to a file of that hash, or nowhere.
type taskFiles struct {
	root  *os.Root
	files map[string]SentFile
}

// Open opens a file that came with the task.
func (s *taskFiles) Open(path string) (fs.File, error) {
	f, ok := s.files[path]
	if !ok {
		return nil, &fs.PathError{Op: "open", Path: path, Err: fs.ErrNotExist}
	}
	return s.root.Open(f.Sum)
}

// Stat describes a file that came with the task, or a folder that has one.
func (s *taskFiles) Stat(path string) (fs.FileInfo, error) {
	if f, ok := s.files[path]; ok {
		return s.info(path, f)
	}
	if len(s.within(path)) > 0 {
		return s.root.Stat(".")
	}
	return nil, &fs.PathError{Op: "stat", Path: path, Err: fs.ErrNotExist}
}

// ReadDir lists the files and folders of a folder that came with the task, in the order of their
// names.
func (s *taskFiles) ReadDir(folder string) ([]fs.DirEntry, error) {
	var list []fs.DirEntry
	seen := map[string]bool{}
	for _, path := range s.within(folder) {
		inside, err := filepath.Rel(folder, path)
		if err != nil {
			return nil, err
		}
		name, _, _ := strings.Cut(inside, string(filepath.Separator))
		if seen[name] {
			continue
		}
		seen[name] = true
		info, err := s.Stat(filepath.Join(folder, name))
		if err != nil {
			return nil, err
		}
		list = append(list, fs.FileInfoToDirEntry(namedFile{info, name}))
	}
	slices.SortFunc(list, func(a, b fs.DirEntry) int { return cmp.Compare(a.Name(), b.Name()) })
	return list, nil
}

// within returns the paths below a folder, in order.
func (s *taskFiles) within(folder string) []string {
	var paths []string
	for path := range s.files {
		if inside, err := filepath.Rel(folder, path); err == nil && filepath.IsLocal(inside) {
			paths = append(paths, path)
		}
	}
	slices.Sort(paths)
	return paths
}

func (s *taskFiles) info(path string, f SentFile) (fs.FileInfo, error) {
	info, err := s.root.Stat(f.Sum)
	return namedFile{info, filepath.Base(path)}, err
}

// namedFile is a file under the name that the task has for it.
type namedFile struct {
	fs.FileInfo
	name string
}

// Name returns the name.
func (n namedFile) Name() string { return n.name }
