package planner

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/llmsim/llmsim/internal/files"
	"github.com/llmsim/llmsim/scenarios"
)

// Journal keeps results by key in a file, so that work that was stopped in any way can go on. Each
// result is appended as a line of JSON with its sum. A line that a crash cut off is dropped when
// the file is opened again; a line that was changed is an error. Its methods may be called by
// several goroutines.
type Journal struct {
	mu   sync.Mutex
	file *os.File
	size int64 // of the lines that are whole
	done map[string]json.RawMessage
}

// entry is a line of the file.
type journalEntry struct {
	Key    string          `json:"key"`
	Result json.RawMessage `json:"result"`
}

// Open reads the journal at path, or begins one. Only one process at a time can have it open.
func OpenJournal(path string) (*Journal, error) {
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
	whole, err := readJournal(path, func(e journalEntry) error {
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
func readJournal(path string, f func(journalEntry) error) (int64, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return 0, err
	}
	whole := bytes.LastIndexByte(data, '\n') + 1
	for i, line := range bytes.Split(data[:whole], []byte("\n")) {
		if len(line) == 0 {
			continue
		}
		e, err := decodeEntry(line)
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
func decodeEntry(line []byte) (e journalEntry, err error) {
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
func CopyJournal(path string, into *Journal) error {
	_, err := readJournal(path, func(e journalEntry) error {
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
	line, err := json.Marshal(journalEntry{key, raw})
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

// Shard is part Index, from 0, of Of parts of a sweep or a plan, for Slurm arrays and Kubernetes
// indexed jobs. Each part writes a folder with a journal of its results and a note that names the
// whole; MergeShards joins them. The zero value is the whole.
type Shard struct{ Index, Of int }

// mostShards bounds the number of parts.
const mostShards = 100_000

// ParseShard reads "i/n".
func ParseShard(text string) (Shard, error) {
	first, second, _ := strings.Cut(text, "/")
	index, err := strconv.Atoi(first)
	of, err2 := strconv.Atoi(second)
	if err != nil || err2 != nil || of < 1 || of > mostShards || index < 0 || index >= of {
		return Shard{}, fmt.Errorf("found %q, want i/n with i from 0 to n−1, such as 0/8 to 7/8",
			text)
	}
	return Shard{index, of}, nil
}

// String writes the shard as Parse reads it.
func (s Shard) String() string { return fmt.Sprintf("%d/%d", s.Index, s.Of) }

// Whole reports whether there is only one part.
func (s Shard) Whole() bool { return s.Of <= 1 }

// Mine reports whether the n-th of the things to do belongs to this part.
func (s Shard) Mine(n int) bool { return s.Whole() || n%s.Of == s.Index }

// Question is the work that is split: a scenario or a plan, with its flags.
type Question struct {
	// Command is sweep or plan.
	Command string `json:"command"`
	// Name and Text are the file and its contents, Set and Vary the flags.
	Name string   `json:"name"`
	Text string   `json:"text"`
	Set  []string `json:"set,omitempty"`
	Vary []string `json:"vary,omitempty"`
	// Version is the program's version.
	Version string `json:"version"`
}

// shardNote describes a part, in the file noteName of its folder.
type shardNote struct {
	Question Question `json:"question"`
	Shard    Shard    `json:"shard"`
}

const (
	noteName    = "shard.json"
	journalName = "journal.jsonl"
)

// BeginShard writes the note of a part into a folder. It returns an error if the folder belongs to
// another part or question.
func BeginShard(dir string, q Question, s Shard) error {
	data, err := json.MarshalIndent(shardNote{q, s}, "", "  ")
	if err != nil {
		return err
	}
	data = append(files.ObjectSeal().Add(data), '\n')
	path := filepath.Join(dir, noteName)
	before, err := os.ReadFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return err
	case !bytes.Equal(before, data):
		return scenarios.BadInput(
			fmt.Errorf("%s belongs to another shard, or to shards of another command; use "+
				"another folder, or remove it", dir))
	default:
		return nil
	}
	return files.Write(path, func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	})
}

// MergeShards checks that folders hold the parts of one question, each once, and copies their
// results into a journal. It returns the question.
func MergeShards(dirs []string, into *Journal) (Question, error) {
	notes := make([]shardNote, len(dirs))
	for i, dir := range dirs {
		data, err := os.ReadFile(filepath.Join(dir, noteName))
		if err == nil {
			data, err = files.ObjectSeal().Open(bytes.TrimSuffix(data, []byte("\n")))
		}
		if err == nil {
			err = json.Unmarshal(data, &notes[i])
		}
		if err != nil {
			return Question{},
				scenarios.BadInput(
					fmt.Errorf("%s is not the folder of a shard, made with --shard i/n --out: %w",
						dir, err))
		}
	}
	if err := checkShards(dirs, notes); err != nil {
		return Question{}, scenarios.BadInput(err)
	}
	for _, dir := range dirs {
		if err := CopyJournal(filepath.Join(dir, journalName), into); err != nil {
			return Question{}, fmt.Errorf("%s: %w", dir, err)
		}
	}
	return notes[0].Question, nil
}

// checkShards finds shards that do not belong together, that are there twice, or that are missing.
func checkShards(dirs []string, notes []shardNote) error {
	if version := scenarios.Version(); notes[0].Question.Version != version {
		return fmt.Errorf("%s was made with llmsim %s, this is %s; merge with that version",
			dirs[0], notes[0].Question.Version, version)
	}
	holders := map[int]string{}
	for i, n := range notes {
		if what := differs(&notes[0], &n); what != "" {
			return fmt.Errorf("%s and %s do not belong together: the %s differs", dirs[0], dirs[i],
				what)
		}
		if other := holders[n.Shard.Index]; other != "" {
			return fmt.Errorf("%s and %s are both shard %v; leave one out", other, dirs[i], n.Shard)
		}
		holders[n.Shard.Index] = dirs[i]
	}
	var missing []string
	of := notes[0].Shard.Of
	for i := range of {
		if holders[i] == "" {
			missing = append(missing, Shard{i, of}.String())
		}
	}
	if len(missing) > 0 {
		return fmt.Errorf("of %d shards these are missing: %s", of, strings.Join(missing, ", "))
	}
	return nil
}

// differs names a difference between the questions of two parts; empty if they belong together.
func differs(a, b *shardNote) string {
	p, q := &a.Question, &b.Question
	switch {
	case p.Version != q.Version:
		return fmt.Sprintf("version of llmsim (%s, %s)", p.Version, q.Version)
	case a.Shard.Of != b.Shard.Of || a.Shard.Of < 1 ||
		a.Shard.Of > mostShards || b.Shard.Index < 0 ||
		b.Shard.Index >= b.Shard.Of:
		return fmt.Sprintf("number of shards (%v, %v)", a.Shard, b.Shard)
	case p.Command != q.Command:
		return fmt.Sprintf("command (%s, %s)", p.Command, q.Command)
	case p.Name != q.Name:
		return fmt.Sprintf("file (%s, %s)", p.Name, q.Name)
	case p.Text != q.Text:
		return "contents of " + cmp.Or(p.Name, "the file")
	case !slices.Equal(p.Set, q.Set) || !slices.Equal(p.Vary, q.Vary):
		return "set of flags"
	}
	return ""
}

// ShardFailed returns the error of a part in which that many runs failed.
func ShardFailed(runs int) error {
	return fmt.Errorf("%d runs of the shard failed; the same command tries these again", runs)
}

// MissingShards is the error of a merge with missing runs.
type MissingShards struct{ Runs int }

// Error says so.
func (m MissingShards) Error() string {
	if m.Runs == 0 {
		return "simulations are missing: a shard is not finished; run the same commands again, " +
			"and then merge"
	}
	return fmt.Sprintf("%d runs are missing: a shard is not finished; run the same commands "+
		"again, and then merge", m.Runs)
}
