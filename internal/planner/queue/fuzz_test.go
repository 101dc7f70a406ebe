package queue

import (
	"testing"

	"github.com/llmsim/llmsim/internal/testkit"
)

// Whatever a message holds, it is a task that a worker can look at, or an error; also where it is
// signed.
func FuzzTask(f *testing.F) {
	f.Add([]byte(`{"key": "k", "kind": "sweep", "name": "a.yaml", "text": "model: gpt2", "set": ["seed=1"],` +
		`"files": {"a.csv": {"sha256": "0123456789012345678901234567890123456789012345678901234567890123", "size": 3}}}`))
	f.Add([]byte("null"))
	f.Add([]byte(`{"key": "k", "kind": "k", "files": {"": {"sha256": "../x", "size": -1}}}`))
	s := &store{key: &key{1}, version: "v"}
	f.Fuzz(func(t *testing.T, data []byte) {
		testkit.Bounded(t, len(data), func() {
			sealed := s.key.seal(aTask, "v.k", data)
			task, err := s.readTask(subject+"v.k", sealed)
			if _, forged := s.readTask(subject+"v.k", data); forged == nil {
				t.Error("what nobody signed is taken for a task")
			}
			if err != nil {
				return
			}
			if task.Key != "k" || task.Kind == "" || len(task.Files) > mostFiles {
				t.Errorf("taken for a task: %+v", task)
			}
			for _, file := range task.Files {
				if len(file.Sum) != 64 || file.Size < 0 {
					t.Errorf("taken for a file: %+v", file)
				}
			}
		})
	})
}

// Whatever is stored as an outcome, it is decoded or refused.
func FuzzOutcome(f *testing.F) {
	f.Add([]byte(`{"value": {"a": 1}}`))
	f.Add([]byte(`{"error": "x", "input": true}`))
	s := &store{key: &key{1}, version: "v", log: func(string) {}}
	f.Fuzz(func(t *testing.T, data []byte) {
		testkit.Bounded(t, len(data), func() {
			if _, ok := s.believed("k", data); ok {
				t.Error("what nobody signed is taken for an outcome")
			}
			o, ok := s.believed("k", s.key.seal(aResult, "v.k", data))
			result := map[string]float64{"before": 1}
			if ok && o.into(&result) != nil && len(result) != 1 {
				t.Errorf("a result that is refused leaves %v", result)
			}
		})
	})
}
