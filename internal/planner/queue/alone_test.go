package queue

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"pgregory.net/rapid"

	"github.com/llmsim/llmsim/internal/files"
	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/scenarios"
)

// bucket is the results of a server that has no other process.
type bucket struct {
	jetstream.KeyValue
	put   map[string][]byte
	fails error
}

// Get implements jetstream.KeyValue.
func (b *bucket) Get(_ context.Context, key string) (jetstream.KeyValueEntry, error) {
	if b.fails != nil {
		return nil, b.fails
	}
	if v, ok := b.put[key]; ok {
		return stored{key: key, value: v}, nil
	}
	return nil, jetstream.ErrKeyNotFound
}

// Put implements jetstream.KeyValue.
func (b *bucket) Put(_ context.Context, key string, value []byte) (uint64, error) {
	b.put[key] = value
	return 1, b.fails
}

type stored struct {
	jetstream.KeyValueEntry
	key   string
	value []byte
}

// Key implements jetstream.KeyValueEntry.
func (s stored) Key() string { return s.key }

// Value implements jetstream.KeyValueEntry.
func (s stored) Value() []byte { return s.value }

// stream is the tasks of a server.
type stream struct {
	jetstream.JetStream
	mu        sync.Mutex
	published map[string][]byte
	fails     error
	then      func() // after a message is published
}

// Stream implements jetstream.JetStream.
func (s *stream) Stream(context.Context, string) (jetstream.Stream, error) {
	return purged{fails: s.fails}, nil
}

// Consumer implements jetstream.JetStream.
func (s *stream) Consumer(context.Context, string, string) (jetstream.Consumer, error) {
	return nil, s.fails
}

// purged is a stream whose messages are removed, or not.
type purged struct {
	jetstream.Stream
	fails error
}

// Purge implements jetstream.Stream.
func (p purged) Purge(context.Context, ...jetstream.StreamPurgeOpt) error { return p.fails }

// Purge implements jetstream.KeyValue.
func (b *bucket) Purge(_ context.Context, key string, _ ...jetstream.KVDeleteOpt) error {
	delete(b.put, key)
	return b.fails
}

// Publish implements jetstream.JetStream.
func (s *stream) Publish(_ context.Context, subject string, data []byte,
	_ ...jetstream.PublishOpt) (*jetstream.PubAck, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.published[subject] = data
	if s.then != nil {
		s.then()
	}
	return nil, s.fails
}

// delivery is a message that is delivered for some time.
type delivery struct {
	jetstream.Msg
	subject string
	data    []byte
	number  uint64
	beats   atomic.Int32
	said    []string // to the server
}

// Metadata implements jetstream.Msg.
func (d *delivery) Metadata() (*jetstream.MsgMetadata, error) {
	return &jetstream.MsgMetadata{NumDelivered: d.number}, nil
}

// Subject implements jetstream.Msg.
func (d *delivery) Subject() string { return d.subject }

// Data implements jetstream.Msg.
func (d *delivery) Data() []byte { return d.data }

// Ack implements jetstream.Msg.
func (d *delivery) Ack() error { d.said = append(d.said, "ack"); return nil }

// Nak implements jetstream.Msg.
func (d *delivery) Nak() error { d.said = append(d.said, "nak"); return nil }

// Term implements jetstream.Msg.
func (d *delivery) Term() error { d.said = append(d.said, "term"); return nil }

// DoubleAck implements jetstream.Msg.
func (d *delivery) DoubleAck(context.Context) error {
	d.said = append(d.said, "double ack")
	return nil
}

// InProgress implements jetstream.Msg.
func (d *delivery) InProgress() error { d.beats.Add(1); return nil }

// fakeStore is a store whose server is in this test.
func fakeStore() (*store, *bucket, *stream) {
	b, js := &bucket{put: map[string][]byte{}}, &stream{published: map[string][]byte{}}
	return &store{js: js, results: b, key: &key{1}, version: "v1", log: func(string) {}}, b, js
}

// deliver returns a message with a task, signed, for some time delivered.
func deliver(t *testing.T, s *store, task *Task, number uint64) *delivery {
	t.Helper()
	data, err := json.Marshal(task)
	testkit.OK(t, err)
	name := s.name(task.Key)
	return &delivery{subject: subject + name, data: s.key.seal(aTask, name, data), number: number}
}

// A worker tries a task three times, and is not asked again once its outcome is stored. A task
// whose workers fell silent three times is parked without another try, and after twelve deliveries
// it is given up. What is not a task is given up at once.
func TestDeliveriesOfATask(t *testing.T) {
	broken, wrong := errors.New("broken"), scenarios.BadInput(errors.New("wrong"))
	for _, c := range []struct {
		name   string
		number uint64
		err    error // of the handler
		calls  int32
		said   string
		stored string // a part of what is stored
	}{
		{"done", 1, nil, 1, "ack", `{"value":7}`},
		{"done last", tries, nil, 1, "ack", `{"value":7}`},
		{"fails at first", 1, broken, 1, "nak", ""},
		{"fails again", tries - 1, broken, 1, "nak", ""},
		{"fails at last", tries, broken, 1, "ack", `{"error":"broken"}`},
		{"wrong input", 1, wrong, 1, "ack", `{"error":"wrong","input":true}`},
		{"silent", tries + 1, nil, 0, "ack", "went silent"},
		{"silent for long", mostDeliveries, nil, 0, "ack", "went silent"},
		{"given up", mostDeliveries + 1, nil, 0, "term", ""},
	} {
		s, b, _ := fakeStore()
		var calls atomic.Int32
		var logs []string
		w := newWorker(s, Handlers{"k": func(context.Context, *scenarios.File, string) (any,
			error) {
			calls.Add(1)
			return 7, c.err
		}}, 3*time.Hour)
		w.log = func(words string) { logs = append(logs, words) }
		w.fetch = nil
		task := &Task{Key: "x", Kind: "k", Name: "a.yaml", Text: scenario}
		m := deliver(t, s, task, c.number)
		w.handle(t.Context(), m)
		o, found, err := s.result(t.Context(), "x")
		testkit.OK(t, err)
		text, err := json.Marshal(o)
		testkit.OK(t, err)
		if calls.Load() != c.calls || strings.Join(m.said, " ") != c.said ||
			found != (c.stored != "") || !strings.Contains(string(text), c.stored) ||
			(len(logs) > 0) != (c.said != "ack") {
			t.Errorf("%s: %d calls, said %q, stored %s, log %q", c.name, calls.Load(), m.said,
				text, logs)
		}
		if c.stored == "" {
			continue
		}
		again := deliver(t, s, task, 1) // whose outcome is stored
		if w.handle(t.Context(), again); calls.Load() != c.calls ||
			strings.Join(again.said, " ") != "ack" || len(b.put) != 1 {
			t.Errorf("%s: done again, said %q", c.name, again.said)
		}
	}
	s, b, _ := fakeStore()
	w := newWorker(s, Handlers{}, 3*time.Hour)
	bad := deliver(t, s, &Task{Key: "x", Kind: "k"}, 1)
	bad.subject += "y"
	if w.handle(t.Context(), bad); strings.Join(bad.said, " ") != "term" || len(b.put) != 0 {
		t.Errorf("another subject: said %q", bad.said)
	}
	m := deliver(t, s, &Task{Key: "x", Kind: "k"}, tries)
	b.fails = &jetstream.APIError{Code: 400}
	if w.handle(t.Context(), m); len(m.said) != 0 {
		t.Errorf("a server that refuses: said %q", m.said)
	}
}

// A worker that is stopped gives its task back, so that this is no try; and one that works says so
// at each third of the time for which it may be silent.
func TestWorkersAreHeardOf(t *testing.T) {
	s, b, js := fakeStore()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	task := &Task{Key: "x", Kind: "k", Name: "a.yaml", Text: scenario}
	m := deliver(t, s, task, tries)
	w := newWorker(s, Handlers{"k": func(context.Context, *scenarios.File, string) (any, error) {
		for m.beats.Load() < 3 {
			time.Sleep(time.Millisecond)
		}
		stop()
		return nil, errors.New("stopped")
	}}, 3*time.Millisecond)
	w.fetch = nil
	if w.beat != time.Millisecond {
		t.Errorf("a beat each %v", w.beat)
	}
	testkit.OK(t, w.finish(ctx, m))
	again, err := s.readTask(m.subject, js.published[m.subject])
	if testkit.OK(t, err); again.Key != "x" || strings.Join(m.said, " ") != "double ack" ||
		len(b.put) != 0 {
		t.Errorf("given back %+v, said %q, stored %q", again, m.said, b.put)
	}
}

// In this process a task is tried three times, once where the input is wrong or the queue is
// closed, and each failure but the last is logged.
func TestTriesInThisProcess(t *testing.T) {
	done, cancel := context.WithCancel(t.Context())
	cancel()
	for _, c := range []struct {
		ctx   context.Context
		fails int
		err   error
		calls int
		want  outcome
	}{
		{t.Context(), 0, nil, 1, outcome{Value: json.RawMessage("7")}},
		{t.Context(), 2, errors.New("no"), 3, outcome{Value: json.RawMessage("7")}},
		{t.Context(), 3, errors.New("no"), 3, outcome{Error: "no"}},
		{t.Context(), 3, scenarios.BadInput(errors.New("no")), 1, outcome{Error: "no",
			Input: true}},
		{done, 3, errors.New("no"), 1, outcome{Error: "no"}},
	} {
		calls, logs := 0, 0
		clocks := scenarios.NewClocks()
		h := &slot{clocks: clocks, log: func(string) { logs++ }, handlers: Handlers{"k": func(
			_ context.Context, f *scenarios.File, params string) (any, error) {
			if f.Clocks != clocks || params != "p" || f.FS == nil {
				t.Errorf("%+v with %q", f, params)
			}
			if calls++; calls <= c.fails {
				return nil, c.err
			}
			return 7, nil
		}}, fetch: func(context.Context, *Task) (*taskFiles, error) { return &taskFiles{}, nil }}
		got := h.tried(c.ctx, &Task{Kind: "k", Name: "a.yaml", Text: scenario, Params: "p"})
		if fmt.Sprint(got) != fmt.Sprint(c.want) || calls != c.calls ||
			!scenarios.IsInputError(c.err) && logs != calls-1 {
			t.Errorf("%+v after %d calls and %d logs, want %+v", got, calls, logs, c.want)
		}
	}
	h := &slot{log: func(string) {}, handlers: Handlers{"panic": func(context.Context,
		*scenarios.File, string) (any, error) {
		panic("oh")
	}}, fetch: func(context.Context, *Task) (*taskFiles, error) {
		return nil, errors.New("not fetched")
	}}
	for want, task := range map[string]*Task{"no worker knows": {Kind: "x"},
		"model":       {Kind: "panic", Name: "a.yaml", Text: "modell: x"},
		"not fetched": {Kind: "panic", Name: "a.yaml", Text: scenario}} {
		if _, err := h.do(t.Context(), task); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	h.fetch = nil
	if _, err := h.do(t.Context(), &Task{Kind: "panic", Name: "a.yaml", Text: scenario}); err ==
		nil || err.Error() != "panic: oh" {
		t.Errorf("%v", err)
	}
}

// A signed message is read with the key, for what it is and under its name alone.
func TestSealsHold(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringN(0, 3, -1)
		k, other := &key{1}, &key{2}
		name, data := text.Draw(t, "name"), []byte(text.Draw(t, "data"))
		sealed := k.seal(aTask, name, data)
		if got, err := k.open(aTask, name, sealed); err != nil || string(got) != string(data) {
			t.Fatalf("%q, %v", got, err)
		}
		at := rapid.IntRange(0, len(sealed)-1).Draw(t, "at")
		changed := append([]byte(nil), sealed...)
		changed[at] ^= 1
		for k, f := range []func() ([]byte, error){
			func() ([]byte, error) { return k.open(aTask, name, changed) },
			func() ([]byte, error) { return k.open(aTask, name, sealed[:at]) },
			func() ([]byte, error) { return k.open(aResult, name, sealed) },
			func() ([]byte, error) { return k.open(aTask, name+"x", sealed) },
			func() ([]byte, error) { return other.open(aTask, name, sealed) },
			func() ([]byte, error) { // a name that takes from the data
				return (&key{1}).open(aTask, name+"ab", append((&key{1}).sum(aTask, name,
					[]byte("abc")), 'c'))
			},
		} {
			if got, err := f(); err != errForged || got != nil {
				t.Fatalf("change %d: %q, %v", k, got, err)
			}
		}
	})
	a, user, err := (&key{1}).login()
	testkit.OK(t, err)
	_, same, err := (&key{1}).login()
	testkit.OK(t, err)
	_, other, err := (&key{2}).login()
	if testkit.OK(t, err); user != same || user == other || a == nil {
		t.Errorf("users %s, %s and %s", user, same, other)
	}
}

// A key is 64 hexadecimal digits, with white space around them. One that is made is read again,
// only its user may read it, and it stays when another is made.
func TestKeysOfQueues(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a", "queue.key")
	var logs []string
	c := &Config{KeyFile: path, Log: func(words string) { logs = append(logs, words) }}
	made, err := c.key()
	testkit.OK(t, err)
	if len(logs) != 1 || !strings.Contains(logs[0], path) || *made == (key{}) {
		t.Errorf("made %x, log %q", *made, logs)
	}
	testkit.OK(t, makeKey(path))
	again, err := c.key()
	if testkit.OK(t, err); *again != *made || len(logs) != 1 {
		t.Errorf("%x, then %x", *made, *again)
	}
	if list, err := os.ReadDir(filepath.Dir(path)); err != nil || len(list) != 1 {
		t.Errorf("left %v, %v", list, err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm()&0o077 != 0 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	digits := hex.EncodeToString(made[:])
	for text, want := range map[string]bool{digits: true, "\n " + digits + " \n": true,
		digits[1:]: false, digits[2:]: false, digits + "0": false, digits + "00": false,
		digits[:62] + "xy": false, "": false, strings.ToUpper(digits): true} {
		testkit.OK(t, os.WriteFile(path, []byte(text), 0o600))
		k, err := readKey(path)
		if (err == nil) != want || want && *k != *made {
			t.Errorf("%q: %v", text, err)
		}
	}
	if got := (&Config{}).keyFlag() + c.keyFlag(); got != " --queue-key "+path {
		t.Errorf("flags %q", got)
	}
	if got, err := (&Config{}).keyFile(); err != nil ||
		!strings.HasSuffix(got, filepath.Join("llmsim", "queue.key")) {
		t.Errorf("%q, %v", got, err)
	}
}

// A configuration has a worker for each core where nobody else takes part, and 10 s of silence.
func TestConfigsAreCompleted(t *testing.T) {
	for _, c := range []struct {
		config Config
		alone  bool
	}{{Config{}, true}, {Config{Listen: "0"}, false}, {Config{URL: "nats://u:secret@h:1"}, false}} {
		got := c.config.complete()
		if got.shared() == c.alone || (got.Workers > 0) != c.alone ||
			got.Redeliver != 10*time.Second {
			t.Errorf("%+v", got)
		}
		got.Log("nobody listens")
		given := c.config
		given.Workers, given.Redeliver = 3, time.Minute
		if got = given.complete(); got.Workers != 3 || got.Redeliver != time.Minute {
			t.Errorf("%+v", got)
		}
		where := c.config.where()
		if c.config.URL == "" && where != "this process" || c.config.URL != "" &&
			(strings.Contains(where, "secret") || !strings.Contains(where, "h:1")) {
			t.Errorf("%q", where)
		}
	}
	for text, want := range map[string]string{"": "", "4222": "127.0.0.1:4222",
		":4222": "127.0.0.1:4222", "0.0.0.0:1": "0.0.0.0:1", "[::1]:7": "[::1]:7"} {
		if got, err := (&Config{Listen: text}).listen(); err != nil || got != want {
			t.Errorf("%q: %+v, %v", text, got, err)
		}
	}
	for _, text := range []string{"h:", "u@h:1", "h:x", "h:99999", "a:b:c"} {
		_, err := (&Config{Listen: text}).listen()
		if err == nil || !strings.Contains(err.Error(), fmt.Sprintf("--listen %q", text)) {
			t.Errorf("%q: %v", text, err)
		}
	}
	if got := (&Config{}).serverConfig("h:0", "U", "d"); !strings.Contains(got,
		"listen: \"h:-1\"\n") || strings.Contains(got, "tls") || !strings.Contains(got, `nkey: "U"`) ||
		!strings.Contains(got, "max_file_store: 1099511627776}") {
		t.Errorf("%s", got)
	}
	tls := &Config{Cert: "c.pem", Key: "k.pem"}
	got := tls.serverConfig("h:5", "U", "d")
	if !strings.Contains(got, "listen: \"h:5\"\n") || !strings.Contains(got, `cert_file: "c.pem"`) ||
		strings.Contains(got, "verify") {
		t.Errorf("%s", got)
	}
	tls.CA = "ca.pem"
	if got = tls.serverConfig("h:5", "U", "d"); !strings.Contains(got,
		`ca_file: "ca.pem", verify: true`) {
		t.Errorf("%s", got)
	}
}

// Bounds of a task are met by just what they allow.
func TestBoundsOfTasks(t *testing.T) {
	sum := strings.Repeat("0a", 32)
	for _, c := range []struct {
		file SentFile
		want bool
	}{{SentFile{sum, 0}, true}, {SentFile{sum, mostFileSize}, true}, {SentFile{sum, -1}, false},
		{SentFile{sum, mostFileSize + 1}, false}, {SentFile{sum[2:], 1}, false},
		{SentFile{sum + "00", 1}, false}, {SentFile{strings.ToUpper(sum), 1}, false},
		{SentFile{sum[:62] + "xy", 1}, false}} {
		if err := c.file.check(); (err == nil) != c.want {
			t.Errorf("%+v: %v", c.file, err)
		}
	}
	files := map[string]SentFile{}
	for n := range mostFiles + 1 {
		if files[fmt.Sprint(n)] = (SentFile{sum, 1}); n < mostFiles-1 {
			continue
		}
		text, err := json.Marshal(&Task{Key: "k", Kind: "x", Files: files})
		testkit.OK(t, err)
		if _, err := readTask(text); (err == nil) != (len(files) <= mostFiles) {
			t.Errorf("%d files: %v", len(files), err)
		}
	}
	text := `{"key": "k", "kind": "x"}`
	for size, want := range map[int]bool{mostMessage: true, mostMessage + 1: false} {
		padded := text + strings.Repeat(" ", size-len(text))
		if _, err := readTask([]byte(padded)); (err == nil) != want {
			t.Errorf("%d bytes: %v", size, err)
		}
	}
	for _, text := range []string{"null", `{"key": "k"}`, `{"kind": "x"}`, "[", `{"kez": "k"}`} {
		if _, err := readTask([]byte(text)); err == nil {
			t.Errorf("%s is a task", text)
		}
	}
}

// A task that is queued already, is queued; one that is too long, or that the server refuses, is
// an error; and an outcome that is too long is stored as its failure.
func TestWhatIsStored(t *testing.T) {
	s, b, js := fakeStore()
	task := &Task{Key: "x", Kind: "k"}
	js.fails = &jetstream.APIError{Code: 400, Description: "maximum messages per subject exceeded"}
	testkit.OK(t, s.publish(t.Context(), task))
	if got, err := s.readTask("llmsim.tasks.v1.x", js.published["llmsim.tasks.v1.x"]); err != nil ||
		got.Key != "x" {
		t.Errorf("%+v, %v", got, err)
	}
	js.fails = &jetstream.APIError{Code: 499}
	if err := s.publish(t.Context(), task); !errors.Is(err, js.fails) {
		t.Errorf("a refusal: %v", err)
	}
	js.fails = nil
	task.Text = strings.Repeat("x", mostMessage)
	if err := s.publish(t.Context(), task); err == nil || !scenarios.IsInputError(err) {
		t.Errorf("a long task: %v", err)
	}
	for extra, want := range map[int]bool{0: true, 1: false} {
		empty, err := json.Marshal(outcome{Error: "x"})
		testkit.OK(t, err)
		o := outcome{Error: strings.Repeat("x", mostMessage/2-len(empty)+1+extra)}
		testkit.OK(t, s.storeResult(t.Context(), "y", o))
		got, found, err := s.result(t.Context(), "y")
		testkit.OK(t, err)
		if !found || (got.Error == o.Error) != want || !want &&
			!strings.Contains(got.Error, fmt.Sprint(mostMessage/2+1)) {
			t.Errorf("%d more: %.100s", extra, got.Error)
		}
	}
	b.put["v1.z"] = []byte("forged")
	if _, found, err := s.result(t.Context(), "z"); err != nil || found {
		t.Errorf("a forgery is %v, %v", found, err)
	}
	if _, found, err := s.result(t.Context(), "w"); err != nil || found {
		t.Errorf("nothing is %v, %v", found, err)
	}
}

// What a server refuses is not asked again, and what may pass is, until there is no more time.
func TestWhatIsAskedAgain(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	for _, c := range []struct {
		err  error
		want error
	}{{nil, nil}, {&jetstream.APIError{Code: 499}, &jetstream.APIError{Code: 499}},
		{&jetstream.APIError{Code: 500}, context.Canceled}, {errors.New("no"), context.Canceled}} {
		calls := 0
		err := insist(ctx, func() error {
			if calls++; c.want == context.Canceled {
				cancel()
			}
			return c.err
		})
		if fmt.Sprint(err) != fmt.Sprint(c.want) || calls != 1 {
			t.Errorf("%v: %v after %d calls", c.err, err, calls)
		}
	}
	for err, want := range map[error]error{jetstream.ErrStreamNotFound: context.Canceled,
		os.ErrClosed: os.ErrClosed, jetstream.ErrConsumerNotFound: context.Canceled} {
		if _, got := (&store{js: &stream{fails: err}}).join(ctx); got != want {
			t.Errorf("%v: %v", err, got)
		}
	}
	began := time.Now()
	pause(t.Context(), 5*time.Millisecond)
	if took := time.Since(began); took < 5*time.Millisecond {
		t.Errorf("a pause of %v", took)
	}
	calls := 0
	if err := insist(t.Context(), func() error {
		if calls++; calls == 2 {
			return nil
		}
		return errors.New("out of reach")
	}); err != nil || calls != 2 {
		t.Errorf("%v after %d calls", err, calls)
	}
}

// Who waits for a key waits for the same result, which is handed out once. Late results are asked
// for: one that is stored is handed out, also a failure, and a task that was removed is queued
// again, even where who asked first has left.
func TestLateResultsAreAskedFor(t *testing.T) {
	s, _, js := fakeStore()
	q := &Queue{config: Config{Redeliver: time.Millisecond, Log: func(string) {}},
		served: served{store: s, sums: newSums()}, waiting: map[string]*pending{}}
	here, first := q.expect("here")
	same, again := q.expect("here")
	if !first || again || here != same {
		t.Errorf("%v, then %v", first, again)
	}
	q.expect("gone")
	testkit.OK(t, s.storeResult(t.Context(), "here", outcome{Error: "known"}))
	o, err := q.outcome(t.Context(), &Task{Key: "here", Kind: "k"})
	if testkit.OK(t, err); o.Error != "known" || len(js.published) != 0 || len(q.waiting) != 1 {
		t.Errorf("%+v, queued %d, waiting %d", o, len(js.published), len(q.waiting))
	}
	js.then = func() { q.fulfil("gone", outcome{Error: "late"}) }
	o, err = q.outcome(t.Context(), &Task{Key: "gone", Kind: "k", Name: "a.yaml", Text: scenario})
	if testkit.OK(t, err); o.Error != "late" || js.published["llmsim.tasks.v1.gone"] == nil {
		t.Errorf("%+v, queued %d", o, len(js.published))
	}
	q.fulfil("nobody waits", outcome{})
}

// A key has letters, digits, minus signs, underscores and single points between them: another
// letter is refused at once, wherever it is.
func TestLettersOfKeys(t *testing.T) {
	for _, key := range []string{"a", "Z", "0", "-", "_", "a.b", "a-._.0"} {
		testkit.OK(t, checkKey(key))
		for at := range len(key) + 1 {
			for _, wrong := range []string{" ", "*", ">", "/", "é", ".."} {
				bad := key[:at] + wrong + key[at:]
				if err := (&Queue{}).Do(t.Context(), &Task{Key: bad}, nil); err == nil ||
					!strings.Contains(err.Error(), fmt.Sprintf("%q", bad)) {
					t.Errorf("%q is a key: %v", bad, err)
				}
			}
		}
	}
	for _, key := range []string{"", ".", ".a", "a."} {
		if checkKey(key) == nil {
			t.Errorf("%q is a key", key)
		}
	}
}

// A server's program has time to end by itself when its input does, and its folder goes with it.
func TestServersEndWithTheirInput(t *testing.T) {
	path, err := exec.LookPath("sh")
	if err != nil {
		t.Skip(err)
	}
	dir := t.TempDir()
	s := &hosted{}
	s.folder, err = files.NewTemporary(program)
	testkit.OK(t, err)
	s.process = testkit.Command(t, path, "-c", "cat >/dev/null; sleep 0.05; : >"+
		filepath.Join(dir, "ended"))
	s.conn, s.process.Stdin = net.Pipe()
	testkit.OK(t, err)
	testkit.OK(t, s.process.Start())
	s.close()
	if list, err := os.ReadDir(dir); err != nil || len(list) != 1 || list[0].Name() != "ended" {
		t.Errorf("left %q, %v", list, err)
	}
	if _, err := os.Stat(s.folder.Path); err == nil {
		t.Errorf("%q stays", s.folder.Path)
	}
}

// A server that cannot start leaves no folder and no process, and its error is told.
func TestServersThatCannotStartLeaveNothing(t *testing.T) {
	if _, err := os.Stat("/bin/sh"); err != nil {
		t.Skip(err)
	}
	path := t.TempDir()
	t.Setenv("PATH", path)
	t.Setenv("TMPDIR", t.TempDir())
	for script, want := range map[string]string{"exit 1": "ended before it listened",
		"echo the port is taken >&2; exit 1": "the port is taken"} {
		testkit.OK(t, os.WriteFile(filepath.Join(path, program), []byte("#!/bin/sh\n"+script+"\n"),
			0o700))
		c := Config{Listen: "0"}.complete()
		_, err := startServer(&c, &key{1})
		left, _ := os.ReadDir(os.TempDir())
		if err == nil || !strings.Contains(err.Error(), want) || len(left) > 0 {
			t.Errorf("%s: %v, left %v", script, err, left)
		}
	}
}

// A stored result that is not believed is forgotten and computed again, and one that cannot be
// forgotten is an error; neither leaves anything of it.
func TestResultsThatAreRefusedAreForgotten(t *testing.T) {
	for _, fails := range []error{nil, &jetstream.APIError{Code: 400}} {
		s, b, js := fakeStore()
		q := &Queue{config: Config{Log: func(string) {}}, served: served{store: s, sums: newSums()},
			waiting: map[string]*pending{}}
		task := &Task{Key: "x", Kind: "k", Name: "a.yaml", Text: scenario}
		testkit.OK(t, s.storeResult(t.Context(), "x", outcome{Value: json.RawMessage(`"text"`)}))
		js.fails = fails
		js.then = func() { q.fulfil("x", outcome{Value: json.RawMessage("7")}) }
		got := 0
		err := q.Do(t.Context(), task, &got)
		if fails == nil && (err != nil || got != 7 || len(b.put) != 0 || len(js.published) != 1) ||
			fails != nil && (!errors.Is(err, fails) || got != 0 || len(js.published) != 0) {
			t.Errorf("%v: %d, %v; %d stored, %d queued", fails, got, err, len(b.put),
				len(js.published))
		}
	}
}
