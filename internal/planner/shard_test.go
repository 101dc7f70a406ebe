package planner

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/scenarios"
)

// Each thing belongs to one part of any number.
func TestEveryThingIsInOnePart(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		of, n := rapid.IntRange(1, 50).Draw(t, "of"), rapid.IntRange(0, 1000).Draw(t, "n")
		parts := 0
		for i := range of {
			s, err := ParseShard(fmt.Sprintf("%d/%d", i, of))
			testkit.OK(t, err)
			if s.Mine(n) {
				parts++
			}
		}
		if parts != 1 {
			t.Fatalf("thing %d is in %d of %d parts", n, parts, of)
		}
	})
	for _, bad := range []string{"", "1", "1/1", "-1/2", "a/b", "0/0", "0/1000000", "1/2/3"} {
		if s, err := ParseShard(bad); err == nil {
			t.Errorf("%q is taken for shard %v", bad, s)
		}
	}
}

// Whatever byte of the note of a part is changed, the part is refused, or is of the same question.
func TestAChangedNoteIsFound(t *testing.T) {
	dir, into := t.TempDir(), t.TempDir()
	testkit.OK(t, BeginShard(dir, Question{Command: "sweep", Name: "a.yaml", Text: "model: x",
		Vary: []string{"workload.rate=1/s,2/s"}, Version: scenarios.Version()}, Shard{0, 1}))
	part, err := OpenJournal(filepath.Join(dir, journalName))
	testkit.OK(t, err)
	testkit.OK(t, part.Close())
	j, err := OpenJournal(filepath.Join(into, journalName))
	testkit.OK(t, err)
	defer j.Close()
	path := filepath.Join(dir, noteName)
	testkit.Changed(t, testkit.Read(t, path), func(text []byte) (Question, error) {
		testkit.OK(t, os.WriteFile(path, text, 0o666))
		return MergeShards([]string{dir}, j)
	})
}

// Parts of different questions, versions or numbers, and folders that are none, are refused with
// words.
func TestMergeRefuses(t *testing.T) {
	dir := t.TempDir()
	question := Question{Command: "sweep", Name: "a.yaml", Text: "model: x",
		Version: scenarios.Version()}
	part := func(name string, s Shard, change func(*Question)) string {
		t.Helper()
		q := question
		change(&q)
		path := filepath.Join(dir, name)
		testkit.OK(t, BeginShard(path, q, s))
		j, err := OpenJournal(filepath.Join(path, journalName))
		testkit.OK(t, err)
		testkit.OK(t, j.Put(name, 1))
		j.Close()
		return path
	}
	same := func(*Question) {}
	first, second := part("first", Shard{0, 2}, same), part("second", Shard{1, 2}, same)
	for want, dirs := range map[string][]string{
		"version of llmsim": {
			first, part("version", Shard{1, 2}, func(q *Question) { q.Version = "v0" })},
		"command": {
			first, part("command", Shard{1, 2}, func(q *Question) { q.Command = "plan" })},
		"contents of": {
			first, part("text", Shard{1, 2}, func(q *Question) { q.Text = "model: y" })},
		"file (": {
			first, part("name", Shard{1, 2}, func(q *Question) { q.Name = "b.yaml" })},
		"set of flags": {
			first, part("set", Shard{1, 2}, func(q *Question) { q.Set = []string{"seed=1"} })},
		"merge with that": {part("old", Shard{0, 2}, func(q *Question) { q.Version = "v0" }),
			second},
		"number of shards": {first, part("number", Shard{1, 3}, same)},
		"both shard":       {first, second, part("again", Shard{1, 2}, same)},
		"missing: 0/2":     {second},
		"not the folder":   {first, dir},
	} {
		j, err := OpenJournal(filepath.Join(t.TempDir(), "j"))
		testkit.OK(t, err)
		if _, err := MergeShards(dirs, j); !scenarios.IsInputError(err) ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%v: error %v, want %q in it", dirs, err, want)
		}
		j.Close()
	}
	j, err := OpenJournal(filepath.Join(t.TempDir(), "j"))
	testkit.OK(t, err)
	defer j.Close()
	if q, err := MergeShards([]string{second, first}, j); err != nil || q.Text != question.Text ||
		j.Len() != 2 {
		t.Errorf("question %+v, %d results: %v", q, j.Len(), err)
	}
	testkit.OK(t, os.WriteFile(filepath.Join(first, noteName), []byte(`{"shard": {"Of": -3}}`),
		0o666))
	if _, err := MergeShards([]string{first, second}, j); !scenarios.IsInputError(err) {
		t.Errorf("a corrupt note: %v", err)
	}
}
