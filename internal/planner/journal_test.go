package planner

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/llmsim/llmsim/internal/files"
	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/scenarios"
)

// Wherever a crash cuts the file, all results whose lines are whole are there when it is opened
// again, none is wrong, and the journal goes on.
func TestACutFileLosesTheLastLineOnly(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "journal.jsonl")
	j, err := OpenJournal(path)
	testkit.OK(t, err)
	const n = 20
	for i := range n {
		testkit.OK(t, j.Put(fmt.Sprint("key", i),
			map[string]any{"value": i, "text": "a\nb"}))
	}
	testkit.OK(t, j.Close())
	data := testkit.Read(t, path)
	rapid.Check(t, func(t *rapid.T) {
		cut := rapid.IntRange(0, len(data)).Draw(t, "cut")
		testkit.OK(t, os.WriteFile(path, data[:cut], 0o666))
		j, err := OpenJournal(path)
		testkit.OK(t, err)
		defer j.Close()
		whole := bytes.Count(data[:cut], []byte("\n"))
		if j.Len() != whole {
			t.Fatalf("cut at %d: %d results, want %d", cut, j.Len(), whole)
		}
		for i := range n {
			var got struct{ Value int }
			if ok := j.Get(fmt.Sprint("key", i), &got); ok != (i < whole) || ok && got.Value != i {
				t.Fatalf("cut at %d: key %d gives %v, %v", cut, i, got, ok)
			}
		}
		testkit.OK(t, j.Put("more", 1))
		after, err := os.ReadFile(path)
		if err != nil || bytes.Count(after, []byte("\n")) != whole+1 {
			t.Fatalf("cut at %d: the next line does not follow the last whole one: %v", cut, err)
		}
	})
}

// Whatever byte of the file is changed, no result is another: the line is refused, or the result
// is not there.
func TestAChangedByteIsFound(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal.jsonl")
	j, err := OpenJournal(path)
	testkit.OK(t, err)
	const n = 3
	for i := range n {
		testkit.OK(t, j.Put(fmt.Sprint("key", i), map[string]any{"value": i + 10, "text": "a"}))
	}
	testkit.OK(t, j.Close())
	testkit.Changed(t, testkit.Read(t, path), func(text []byte) (map[string]string, error) {
		testkit.OK(t, os.WriteFile(path, text, 0o666))
		j, err := OpenJournal(path)
		if err != nil {
			if !scenarios.IsInputError(err) || !strings.HasPrefix(err.Error(), path+":") {
				t.Errorf("found %v, want an error in the input that names the line", err)
			}
			return nil, err
		}
		defer j.Close()
		if j.Len() < n {
			return nil, errors.New("a result is lost, and simulated again")
		}
		results := map[string]string{}
		for key, result := range j.done {
			results[key] = string(result)
		}
		return results, nil
	})
}

func TestOneProcessAtATime(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal.jsonl")
	j, err := OpenJournal(path)
	testkit.OK(t, err)
	if _, err := OpenJournal(path); err == nil && lockable() {
		t.Error("a journal can be opened twice at a time")
	}
	j.Close()
	again, err := OpenJournal(path)
	testkit.OK(t, err)
	again.Close()
}

// lockable reports whether this system has locks at all.
func lockable() bool {
	f, err := os.CreateTemp("", "lock")
	if err != nil {
		return false
	}
	defer os.Remove(f.Name())
	defer f.Close()
	second, err := os.Open(f.Name())
	if err != nil {
		return false
	}
	defer second.Close()
	return files.Lock(f) == nil && files.Lock(second) != nil
}

func TestAForeignFileIsRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal.jsonl")
	testkit.OK(t, os.WriteFile(path, []byte("hello\n"), 0o666))
	if _, err := OpenJournal(path); err == nil {
		t.Error("a file that is no journal is taken for one")
	}
}
