package queue

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/llmsim/llmsim/internal/planner/queue/queuetest"
	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/policies"
	"github.com/llmsim/llmsim/scenarios"
)

// notebook gathers the messages of a queue for people.
type notebook struct {
	mu    sync.Mutex
	lines []string
}

func (n *notebook) write(line string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.lines = append(n.lines, line)
}

func (n *notebook) text() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return strings.Join(n.lines, "\n")
}

// peer is somebody who may connect to the server of a queue.
func peer(t *testing.T, url string) jetstream.JetStream {
	t.Helper()
	conn, err := nats.Connect(url)
	testkit.OK(t, err)
	t.Cleanup(conn.Close)
	js, err := jetstream.New(conn)
	testkit.OK(t, err)
	return js
}

// inject puts a message into the queue under a key.
func inject(t *testing.T, q *Queue, js jetstream.JetStream, key string, data []byte) {
	t.Helper()
	if _, err := js.Publish(context.Background(), subject+q.store.name(key), data); err != nil {
		t.Fatal(err)
	}
}

// signed is a task as a planner would send it.
func signed(t *testing.T, q *Queue, task any, key string) []byte {
	t.Helper()
	data, err := json.Marshal(task)
	testkit.OK(t, err)
	return q.store.key.seal(aTask, q.store.name(key), data)
}

// drained waits until the queue is empty.
func drained(t *testing.T, js jetstream.JetStream) {
	t.Helper()
	for range 600 {
		stream, err := js.Stream(context.Background(), streamName)
		testkit.OK(t, err)
		if stream.CachedInfo().State.Msgs == 0 {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Fatal("messages stay in the queue")
}

// Messages that are no tasks, or that nobody signed who has the key, are named once and gone; the
// workers go on.
func TestGarbageIsRefused(t *testing.T) {
	url := queuetest.Serve(t)
	var calls atomic.Int32
	var log notebook
	q := open(t, Config{URL: url, Workers: 2, Log: log.write}, counting(&calls))
	defer q.Close()
	js := peer(t, url)
	for i := range 4 {
		inject(t, q, js, fmt.Sprint("null", i), []byte("null"))
		inject(t, q, js, fmt.Sprint("signed", i), signed(t, q, nil, fmt.Sprint("signed", i)))
	}
	inject(t, q, js, "empty", nil)
	inject(t, q, js, "deep", []byte(strings.Repeat("[", 1<<19)))
	unsigned := seeded(t, q, 5)
	data, err := json.Marshal(unsigned)
	testkit.OK(t, err)
	inject(t, q, js, unsigned.Key, data)
	inject(t, q, js, "moved", signed(t, q, unsigned, unsigned.Key)) // the task of another key
	inject(t, q, js, "unknown",
		signed(t, q, map[string]any{"key": "unknown", "kind": "seed", "command": "rm"}, "unknown"))
	drained(t, js)
	for _, err := range doAll(t, q, 3, 1) {
		if err != nil {
			t.Error(err)
		}
	}
	if calls.Load() != 3 {
		t.Errorf("%d tasks were done, want the 3 of the planner", calls.Load())
	}
	if n := strings.Count(log.text(), "is refused"); n != 13 {
		t.Errorf("%d refusals are named, want 13:\n%s", n, log.text())
	}
}

// A worker writes nothing outside its folder, whatever a task calls its files, even one that is
// signed.
func TestFilesStayInTheirFolder(t *testing.T) {
	url := queuetest.Serve(t)
	var log notebook
	q := open(t, Config{URL: url, Workers: 1, Log: log.write}, counting(new(atomic.Int32)))
	defer q.Close()
	js := peer(t, url)
	outside := filepath.Join(filepath.Dir(q.store.folder.Path), "escaped")
	names := []string{"../escaped", outside, "..", "", strings.Repeat("A", 64),
		strings.Repeat("a", 63) + "/", strings.Repeat("a", 66)}
	for i, sum := range names {
		if objects, err := js.ObjectStore(context.Background(), fileBucket); err != nil {
			t.Fatal(err)
		} else if sum != "" {
			if _, err := objects.PutString(context.Background(), sum, "evil"); err != nil {
				t.Fatal(err)
			}
		}
		task := seeded(t, q, i)
		task.Files = map[string]SentFile{"../escaped": {Sum: sum, Size: 4}}
		inject(t, q, js, task.Key, signed(t, q, task, task.Key))
	}
	drained(t, js)
	if n := strings.Count(log.text(), "want 64 hexadecimal digits"); n != len(names) {
		t.Errorf("%d of %d names are refused:\n%s", n, len(names), log.text())
	}
	if _, err := os.Stat(outside); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%s: %v", outside, err)
	}
	if entries, err := os.ReadDir(q.store.folder.Path); err != nil || len(entries) > 0 {
		t.Errorf("%v in the worker's folder: %v", entries, err)
	}
}

// Contents that do not have the hash of their name are refused, however they came to be on the
// server.
func TestOtherContentsAreRefused(t *testing.T) {
	url := queuetest.Serve(t)
	q := open(t, Config{URL: url, Workers: 1}, counting(new(atomic.Int32)))
	defer q.Close()
	objects, err := peer(t, url).ObjectStore(context.Background(), fileBucket)
	testkit.OK(t, err)
	dir := t.TempDir()
	path := filepath.Join(dir, "prompts.csv")
	testkit.OK(t, os.WriteFile(path, []byte("tokens\n100\n"), 0o666))
	sum, err := scenarios.HashFile(path)
	testkit.OK(t, err)
	for _, c := range [][2]string{{"tokens\n999\n", "another file"}, {"tokens\n100\n100\n", ""}} {
		contents, want := c[0], c[1]
		if _, err := objects.PutString(context.Background(), sum, contents); err != nil {
			t.Fatal(err)
		}
		clear(q.store.sent)
		task := &Task{Key: fmt.Sprint("k", len(contents)), Kind: "seed",
			Name: filepath.Join(dir, "a.yaml"),
			Text: scenario + "workload: {prompt: {distribution: empirical, file: prompts.csv}}\n"}
		err := q.Do(context.Background(), task, new(int))
		if want == "" && err != nil || want != "" &&
			(err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("contents %q in place of the file: %v, want %q", contents, err, want)
		}
	}
}

// A task opens the files that came with it and no others: not by absolute paths, not upwards, and
// not those of the folder in which the worker runs. Errors quote nothing of them.
func TestWorkersOpenOnlyWhatWasSent(t *testing.T) {
	const secret = "a-secret-of-the-worker"
	dir := t.TempDir()
	path := filepath.Join(dir, "secret.csv")
	testkit.OK(t, os.WriteFile(path, []byte(secret+"\n"+secret), 0o666))
	testkit.OK(t, os.WriteFile(filepath.Join(dir, "secret.json"), []byte(`"`+secret+`"`),
		0o666))
	t.Chdir(dir)
	url := queuetest.Serve(t)
	q := open(t, Config{URL: url, Workers: 2},
		Handlers{"build": func(_ context.Context, f *scenarios.File, _ string) (any, error) {
			simulation, err := f.Build(policies.Default())
			if err == nil {
				simulation.Source.Close()
			}
			return 1, err
		}})
	defer q.Close()
	js := peer(t, url)
	n := 0
	for _, at := range []string{path, "secret.csv", "../" + filepath.Base(dir) + "/secret.csv",
		"/etc/passwd", dir} {
		for _, text := range []string{
			"workload: {trace: %q}", "hardware: {accelerator: h100-sxm, file: %q}",
			"hardware: {accelerator: h100-sxm, operators: %q}",
			"workload: {prompt: {distribution: empirical, file: %q}}", "model: %q",
			"speculation: {method: eagle, tokens: 2, acceptance: {file: %q}}",
		} {
			if strings.HasPrefix(text, "model") {
				at = strings.Replace(at, ".csv", ".json", 1)
			}
			task := &Task{Key: fmt.Sprint("k", n), Kind: "build",
				Name: filepath.Join(dir, "a.yaml"), Text: fmt.Sprintf(text+"\n", at)}
			n++
			for key, value := range map[string]string{"model": "llama-3.1-8b",
				"hardware": "h100-sxm"} {
				if !strings.HasPrefix(text, key) {
					task.Text += key + ": " + value + "\n"
				}
			}
			inject(t, q, js, task.Key, signed(t, q, task, task.Key))
			var o outcome
			for found := false; !found; time.Sleep(10 * time.Millisecond) {
				var err error
				if o, found, err = q.store.result(context.Background(), task.Key); err != nil {
					t.Fatal(err)
				}
			}
			if !o.Input || strings.Contains(o.Error, secret) || strings.Contains(o.Error, "root:") {
				t.Errorf("%s\ngives %+v", task.Text, o)
			}
		}
	}
}

// A result that nobody signed who has the key, that is signed for another task, or that cannot be,
// is named, refused and computed anew: before the work is done, and after.
func TestForgedResultsAreRefused(t *testing.T) {
	url := queuetest.Serve(t)
	results := func(q *Queue) jetstream.KeyValue {
		bucket, err := peer(t, url).KeyValue(context.Background(), resultBucket)
		testkit.OK(t, err)
		return bucket
	}
	for name, forge := range map[string]func(q *Queue, task string) []byte{
		"not signed": func(*Queue, string) []byte { return []byte(`{"value":999999}`) },
		"empty":      func(*Queue, string) []byte { return nil },
		"another key": func(q *Queue, task string) []byte {
			return (&key{1}).seal(aResult, q.store.name(task), []byte(`{"value":9}`))
		},
		"another task": func(q *Queue, _ string) []byte {
			return q.store.key.seal(aResult, q.store.name("x"), []byte(`{"value":9}`))
		},
		"a task": func(q *Queue, task string) []byte {
			return q.store.key.seal(aTask, q.store.name(task), []byte(`{"value":9}`))
		},
	} {
		var calls atomic.Int32
		var log notebook
		before := open(t, Config{URL: url, Log: log.write}, nil)
		bucket := results(before)
		task := seeded(t, before, 1)
		put := func() {
			if _, err := bucket.Put(context.Background(), before.store.name(task.Key),
				forge(before, task.Key)); err != nil {
				t.Fatal(err)
			}
		}
		put()
		done := make(chan error, 1)
		var got int
		go func() { done <- before.Do(context.Background(), task, &got) }()
		worker := open(t, Config{URL: url, Workers: 1}, counting(&calls))
		if err := <-done; err != nil || got != 10 || calls.Load() != 1 ||
			!strings.Contains(log.text(), "is refused: it is not signed") {
			t.Errorf("%s, before: result %d after %d runs: %v\n%s", name, got, calls.Load(), err,
				log.text())
		}
		before.Close()
		put()
		after := open(t, Config{URL: url, Log: log.write}, nil)
		if err := after.Do(context.Background(), task, &got); err != nil || got != 10 ||
			calls.Load() != 2 {
			t.Errorf("%s, after: result %d after %d runs: %v", name, got, calls.Load(), err)
		}
		testkit.OK(t, bucket.Purge(context.Background(), before.store.name(task.Key)))
		after.Close()
		worker.Close()
	}
}

// Whoever has no key cannot connect to the server of a planner, not even from the same machine.
func TestStrangersCannotConnect(t *testing.T) {
	q := open(t, Config{Listen: "0"}, nil)
	defer q.Close()
	url := q.server.url
	for _, options := range [][]nats.Option{nil, {nats.Token("guess")},
		{nats.UserInfo("llmsim", "llmsim")}} {
		if conn, err := nats.Connect(url, options...); !errors.Is(err, nats.ErrAuthorization) {
			t.Errorf("connected to %v: %v", conn, err)
		}
	}
}

// Tasks that somebody removes from the queue are queued again, and results of which no news came
// are found.
func TestRemovedTasksAreQueuedAgain(t *testing.T) {
	url := queuetest.Serve(t)
	var calls atomic.Int32
	planner := open(t, Config{URL: url, Redeliver: 300 * time.Millisecond}, nil)
	defer planner.Close()
	done := make(chan error, 1)
	go func() { done <- planner.Do(context.Background(), seeded(t, planner, 1), new(int)) }()
	stream, err := peer(t, url).Stream(context.Background(), streamName)
	testkit.OK(t, err)
	for info := stream.CachedInfo(); info.State.Msgs == 0; {
		if info, err = stream.Info(context.Background()); err != nil {
			t.Fatal(err)
		}
	}
	testkit.OK(t, stream.Purge(context.Background()))
	q := open(t, Config{URL: url, Workers: 1}, counting(&calls))
	defer q.Close()
	if err := <-done; err != nil || calls.Load() != 1 {
		t.Errorf("done %d times: %v", calls.Load(), err)
	}
}

// A key is made once by planners that come at the same time, and what is no key is refused.
func TestKeys(t *testing.T) {
	path := filepath.Join(t.TempDir(), "deep", "queue.key")
	c := Config{Listen: "0", KeyFile: path, Log: func(string) {}}
	keys := make([]*key, 8)
	var group sync.WaitGroup
	for i := range keys {
		group.Go(func() {
			var err error
			if keys[i], err = c.key(); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	for _, k := range keys {
		if k == nil || *k != *keys[0] || *k == (key{}) {
			t.Fatal("planners that come at the same time have different keys")
		}
	}
	testkit.OK(t, os.WriteFile(path, []byte(strings.Repeat("0", 63)), 0o600))
	if _, err := Open(context.Background(), c, nil); !scenarios.IsInputError(err) ||
		strings.Contains(err.Error(), "0000") {
		t.Errorf("a key that is too short: %v", err)
	}
}

// What is not signed costs no try: however often a stranger overwrites the entry of a task, the
// worker's result is taken.
func TestForgeriesCostNoTry(t *testing.T) {
	url := queuetest.Serve(t)
	var calls atomic.Int32
	var log notebook
	planner := open(t, Config{URL: url, Log: log.write}, nil)
	defer planner.Close()
	task := seeded(t, planner, 1)
	done := make(chan error, 1)
	var got int
	go func() { done <- planner.Do(context.Background(), task, &got) }()
	bucket, err := peer(t, url).KeyValue(context.Background(), resultBucket)
	testkit.OK(t, err)
	for i := range 2 * tries {
		if _, err := bucket.Put(context.Background(), planner.store.name(task.Key),
			[]byte("forged")); err != nil {
			t.Fatal(err)
		}
		for strings.Count(log.text(), "is refused") <= i { // each is seen by itself
			time.Sleep(time.Millisecond)
		}
	}
	worker := open(t, Config{URL: url, Workers: 1}, counting(&calls))
	defer worker.Close()
	if err := <-done; err != nil || got != 10 || calls.Load() != 1 {
		t.Errorf("result %d after %d runs: %v", got, calls.Load(), err)
	}
}

// row is a result whose fields may be absent.
type row struct {
	Share float64 `json:"share"`
	Met   bool    `json:"met,omitempty"`
}

// Check refuses what is no share.
func (r *row) Check() error {
	if r.Share > 1 {
		return fmt.Errorf("found a share of %g", r.Share)
	}
	return nil
}

// What cannot be is computed anew, and in the end not believed; no field of it survives in the
// result that is.
func TestImpossibleResultsAreRefused(t *testing.T) {
	for wrong := range tries + 1 {
		var calls atomic.Int32
		q := open(t, Config{Workers: 1},
			Handlers{"seed": func(context.Context, *scenarios.File, string) (any, error) {
				if int(calls.Add(1)) <= wrong {
					return row{Share: 2, Met: true}, nil
				}
				return row{Share: 0.5}, nil
			}})
		var got row
		err := q.Do(context.Background(), seeded(t, q, 1), &got)
		var parked *Parked
		if errors.As(err, &parked) != (wrong == tries) || got.Met ||
			err == nil && got.Share != 0.5 {
			t.Errorf("after %d impossible results: %v, %v", wrong, got, err)
		}
		q.Close()
	}
}
