// Package journal keeps results on disk, so that work that was stopped in any way can go on. A
// journal is a file to which each result is appended as a line of JSON with its sum. A line that a
// crash cut off is dropped when the file is opened again; a line that was changed is an error.
//
// A Shard is a numbered part of a sweep or a plan, for Slurm arrays and Kubernetes indexed jobs.
// Each part writes a folder with a journal of its results and a note that names the whole;
// MergeShards joins them.
package journal

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"

	"github.com/llmsim/llmsim/internal/files"
	"github.com/llmsim/llmsim/scenarios"
)

// Journal is a set of results by key. Its methods may be called by several goroutines.
type Journal struct {
	mu   sync.Mutex
	file *os.File
	size int64 // of the lines that are whole
	done map[string]json.RawMessage
}

// entry is a line of the file.
type entry struct {
	Key    string          `json:"key"`
	Result json.RawMessage `json:"result"`
}

// Open reads the journal at path, or begins one. Only one process at a time can have it open.
func Open(path string) (*Journal, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return nil, err
	}
	files.Clean(filepath.Dir(path))
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o666)
	if err != nil {
		return nil, err
	}
	j := &Journal{file: file, done: map[string]json.RawMessage{}}
	if err := j.recover(path); err != nil {
		file.Close()
		return nil, err
	}
	return j, nil
}

// recover reads the results in the file, and cuts off a last line that is not complete.
func (j *Journal) recover(path string) error {
	if err := files.Lock(j.file); err != nil {
		return fmt.Errorf("%s is in use by another process", path)
	}
	whole, err := read(path, func(e entry) error {
		j.done[e.Key] = e.Result
		return nil
	})
	if err != nil {
		return err
	}
	j.size = whole
	return j.cut()
}

// cut removes what follows the last whole line.
func (j *Journal) cut() error {
	if err := j.file.Truncate(j.size); err != nil {
		return err
	}
	_, err := j.file.Seek(j.size, io.SeekStart)
	return err
}

// read calls f with the complete lines of the journal at path, and returns how many bytes these
// have.
func read(path string, f func(entry) error) (int64, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return 0, err
	}
	whole := bytes.LastIndexByte(data, '\n') + 1
	for i, line := range bytes.Split(data[:whole], []byte("\n")) {
		if len(line) == 0 {
			continue
		}
		e, err := decode(line)
		if err != nil {
			return 0, scenarios.BadInput(fmt.Errorf("%s:%d: not a line of a journal: %w; remove "+
				"the line or the file, and what is missing is simulated again", path, i+1, err))
		}
		if err := f(e); err != nil {
			return 0, err
		}
	}
	return int64(whole), nil
}

// decode reads a line whose seal is whole.
func decode(line []byte) (e entry, err error) {
	if line, err = files.ObjectSeal().Open(line); err != nil {
		return e, err
	}
	decoder := json.NewDecoder(bytes.NewReader(line))
	decoder.DisallowUnknownFields()
	if err = decoder.Decode(&e); err == nil && (e.Key == "" || e.Result == nil) {
		err = errors.New("found no key or no result")
	}
	return e, err
}

// Copy copies the results of the journal at path into another, except the results that the other
// already has. The file at path may be read-only.
func Copy(path string, into *Journal) error {
	_, err := read(path, func(e entry) error {
		var known json.RawMessage
		if into.Get(e.Key, &known) {
			return nil
		}
		return into.Put(e.Key, e.Result)
	})
	return err
}

// Get returns the result with the key into result, and whether there is one.
func (j *Journal) Get(key string, result any) bool {
	j.mu.Lock()
	raw, ok := j.done[key]
	j.mu.Unlock()
	return ok && json.Unmarshal(raw, result) == nil
}

// Len returns the number of results.
func (j *Journal) Len() int {
	j.mu.Lock()
	defer j.mu.Unlock()
	return len(j.done)
}

// Put stores a result. After it returns, the result survives any end of the process.
func (j *Journal) Put(key string, result any) error {
	raw, err := json.Marshal(result)
	if err != nil {
		return err
	}
	line, err := json.Marshal(entry{key, raw})
	if err != nil {
		return err
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	n, err := j.file.Write(append(files.ObjectSeal().Add(line), '\n'))
	if err != nil { // the disk is full, say: the next line must not follow half of this one
		return errors.Join(err, j.cut())
	}
	j.size += int64(n)
	j.done[key] = raw
	return nil
}

// Close closes the file.
func (j *Journal) Close() error { return j.file.Close() }
