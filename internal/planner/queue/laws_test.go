package queue

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"pgregory.net/rapid"

	"github.com/llmsim/llmsim/internal/files"
	"github.com/llmsim/llmsim/internal/planner/queue/queuetest"
	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/scenarios"
)

// Flags that contradict each other, or that have nothing to act on, are refused with the name of a
// flag; every other choice of them is taken.
func TestWhichFlagsGoTogether(t *testing.T) {
	for chosen := range 1 << 7 {
		is := func(k int) bool { return chosen>>k&1 == 1 }
		text := func(k int, words string) string {
			if is(k) {
				return words
			}
			return ""
		}
		c := Config{URL: text(0, "nats://h:1"), Listen: text(1, "4222"), Cert: text(2, "c.pem"),
			Key: text(3, "k.pem"), KeyFile: text(4, "q.key"), Credentials: text(5, "a.creds"),
			CA: text(6, "ca.pem")}
		url, listen, cert, key, ca := is(0), is(1), is(2), is(3), is(6)
		alone := !url && !listen
		refused := url && listen || cert != key || alone && (is(4) || is(5) || cert || ca) ||
			listen && ca && !cert
		if err := c.Check(); (err != nil) != refused ||
			err != nil && !strings.Contains(err.Error(), "--") {
			t.Errorf("%+v: %v", c, err)
		}
	}
}

// authorized starts a server for one user with a password, and for the holders of one key.
func authorized(t *testing.T, k *key) (address string) {
	t.Helper()
	_, public, err := k.login()
	testkit.OK(t, err)
	s, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: server.RANDOM_PORT,
		NoSigs: true, NoLog: true, Users: []*server.User{{Username: "u", Password: "secret"}},
		Nkeys: []*server.NkeyUser{{Nkey: public}}})
	testkit.OK(t, err)
	s.Start()
	t.Cleanup(func() { s.Shutdown(); s.WaitForShutdown() })
	if !s.ReadyForConnections(20 * time.Second) {
		t.Fatal("the server does not start")
	}
	return s.Addr().String()
}

// Who names a user is that user, whatever the key; who names none is the user that only holders of
// the key can be. A connection that is lost is tried again without end, and people read of it: when
// it is lost for a reason, when it is back, and when the server complains.
func TestWhoConnects(t *testing.T) {
	k, other := &key{1}, &key{2}
	address := authorized(t, k)
	var log notebook
	for _, of := range []struct {
		user string
		key  *key
		ok   bool
	}{{"", k, true}, {"", other, false}, {"u:secret@", other, true}, {"u:secret@", k, true},
		{"u:wrong@", k, false}} {
		c := Config{URL: "nats://" + of.user + address, Log: log.write}
		conn, err := c.connect(nil, of.key)
		if (err == nil) != of.ok {
			t.Errorf("%q: %v", of.user, err)
		}
		if err != nil {
			if !scenarios.IsInputError(err) || !strings.Contains(err.Error(), "--queue-key") ||
				!strings.Contains(err.Error(), address) || strings.Contains(err.Error(), "wrong") {
				t.Errorf("%q: %v", of.user, err)
			}
			continue
		}
		o := conn.Opts
		if o.MaxReconnect != -1 || o.ReconnectWait != time.Second/2 {
			t.Errorf("%d tries, each after %v", o.MaxReconnect, o.ReconnectWait)
		}
		if proves := o.Nkey != ""; proves != (of.user == "") {
			t.Errorf("%q proves that it has the key: %t", of.user, proves)
		}
		before := log.text()
		o.DisconnectedErrCB(conn, nil)
		if log.text() != before {
			t.Errorf("a connection that ends as it should: %s", log.text())
		}
		for words, happens := range map[string]func(){
			"is lost; trying again (the cable)": func() {
				o.DisconnectedErrCB(conn, errors.New("the cable"))
			},
			"is back": func() { o.ReconnectedCB(conn) },
			"slow":    func() { o.AsyncErrorCB(conn, nil, errors.New("slow")) },
		} {
			before := log.text()
			happens()
			said := strings.TrimPrefix(log.text(), before)
			if !strings.Contains(said, words) || strings.Contains(said, "secret") ||
				words != "slow" && !strings.Contains(said, address) {
				t.Errorf("found %q, want %q", said, words)
			}
		}
		conn.Close()
	}
	if _, err := (&Config{URL: "nats://" + address, CA: "nowhere.pem"}).connect(nil, k); err ==
		nil || strings.Contains(err.Error(), "--queue-key") {
		t.Errorf("a file that is not there: %v", err)
	}
}

// The bounds of what is sent and stored are what the documentation says.
func TestBoundsAreAsWritten(t *testing.T) {
	sum := strings.Repeat("0", 64)
	for size, want := range map[int64]bool{16 << 30: true, 16<<30 + 1: false} {
		if err := (SentFile{sum, size}).check(); (err == nil) != want {
			t.Errorf("a file of %d bytes: %v", size, err)
		}
	}
	path := filepath.Join(t.TempDir(), "queue.key")
	for size, want := range map[int]bool{1 << 10: true, 1<<10 + 1: false} {
		testkit.OK(t, os.WriteFile(path, []byte(sum+strings.Repeat(" ", size-64)), 0o600))
		if _, err := readKey(path); (err == nil) != want {
			t.Errorf("a key in %d bytes: %v", size, err)
		}
	}
	if mostMessage != 1<<20 || mostFiles != 1000 || tries != 3 || mostDeliveries != 12 ||
		grace != 500*time.Millisecond || keepOnServer != 720*time.Hour {
		t.Error("another bound than documented")
	}
	for _, name := range []string{"XDG_CONFIG_HOME", "HOME", "AppData"} {
		t.Setenv(name, "")
	}
	if _, err := (&Config{}).key(); err == nil || !strings.Contains(err.Error(), "--queue-key") {
		t.Errorf("no folder for the key: %v", err)
	}
}

// made is a server that notes what is made on it, until something fails.
type made struct {
	jetstream.JetStream
	list     []string
	fails    string // what cannot be made
	tasks    jetstream.StreamConfig
	results  jetstream.KeyValueConfig
	files    jetstream.ObjectStoreConfig
	consumer jetstream.ConsumerConfig
}

var errNotMade = errors.New("not made")

func (m *made) make(what string) error {
	if m.fails == what {
		return errNotMade
	}
	m.list = append(m.list, what)
	return nil
}

// CreateOrUpdateStream implements jetstream.JetStream.
func (m *made) CreateOrUpdateStream(_ context.Context,
	c jetstream.StreamConfig) (jetstream.Stream, error) {
	m.tasks = c
	return nil, m.make("tasks")
}

// CreateOrUpdateKeyValue implements jetstream.JetStream.
func (m *made) CreateOrUpdateKeyValue(_ context.Context,
	c jetstream.KeyValueConfig) (jetstream.KeyValue, error) {
	m.results = c
	return nil, m.make("results")
}

// CreateOrUpdateObjectStore implements jetstream.JetStream.
func (m *made) CreateOrUpdateObjectStore(_ context.Context,
	c jetstream.ObjectStoreConfig) (jetstream.ObjectStore, error) {
	m.files = c
	return nil, m.make("files")
}

// CreateOrUpdateConsumer implements jetstream.JetStream.
func (m *made) CreateOrUpdateConsumer(_ context.Context, _ string,
	c jetstream.ConsumerConfig) (jetstream.Consumer, error) {
	m.consumer = c
	return nil, m.make("consumer")
}

// The consumer is made last, and what fails ends it there. A task is in the queue once until it is
// done, for workers of its version, however many and however often; everything stays for 30 days.
func TestTheConsumerIsMadeLast(t *testing.T) {
	order := []string{"tasks", "results", "files", "consumer"}
	for at := range len(order) + 1 {
		m := &made{fails: append(order, "nothing")[at]}
		s := &store{js: m, version: "v1"}
		_, err := s.begin(t.Context(), 7*time.Second)
		if !slices.Equal(m.list, order[:at]) || errors.Is(err, errNotMade) != (at < 4) {
			t.Errorf("%s is not made: %q, %v", m.fails, m.list, err)
		}
		if at < 4 {
			continue
		}
		const days = 24 * time.Hour
		c := m.consumer
		if m.tasks.Retention != jetstream.WorkQueuePolicy || m.tasks.MaxMsgsPerSubject != 1 ||
			!m.tasks.DiscardNewPerSubject || m.results.TTL != 30*days || m.files.TTL != 30*days ||
			c.InactiveThreshold != 30*days || c.AckWait != 7*time.Second || c.MaxDeliver != -1 ||
			c.MaxAckPending != -1 || c.MaxWaiting != 65536 ||
			c.AckPolicy != jetstream.AckExplicitPolicy ||
			c.FilterSubject != "llmsim.tasks.v1.>" || c.Durable != "workers-v1" {
			t.Errorf("%+v", m)
		}
	}
}

// objects are the files of a server.
type objects struct {
	jetstream.ObjectStore
	have  map[string][]byte
	puts  int
	gets  int
	fails error
}

// GetInfo implements jetstream.ObjectStore.
func (o *objects) GetInfo(_ context.Context, name string,
	_ ...jetstream.GetObjectInfoOpt) (*jetstream.ObjectInfo, error) {
	data, ok := o.have[name]
	switch {
	case o.fails != nil:
		return nil, o.fails
	case !ok:
		return nil, jetstream.ErrObjectNotFound
	}
	return &jetstream.ObjectInfo{Size: uint64(len(data))}, nil
}

// Put implements jetstream.ObjectStore.
func (o *objects) Put(_ context.Context, meta jetstream.ObjectMeta,
	r io.Reader) (*jetstream.ObjectInfo, error) {
	o.puts++
	if o.fails != nil {
		return nil, o.fails
	}
	data, err := io.ReadAll(r)
	o.have[meta.Name] = data
	return nil, err
}

// Get implements jetstream.ObjectStore.
func (o *objects) Get(_ context.Context, name string,
	_ ...jetstream.GetObjectOpt) (jetstream.ObjectResult, error) {
	o.gets++
	data, ok := o.have[name]
	if !ok {
		return nil, jetstream.ErrObjectNotFound
	}
	return &object{Reader: bytes.NewReader(data)}, nil
}

// object is the contents of a file on a server.
type object struct {
	jetstream.ObjectResult
	*bytes.Reader
}

// Read implements io.Reader.
func (o *object) Read(p []byte) (int, error) { return o.Reader.Read(p) }

// Close implements io.Closer.
func (*object) Close() error { return nil }

// withFiles is a store whose server has files.
func withFiles(t *testing.T) (*store, *objects, *stream) {
	t.Helper()
	s, _, js := fakeStore()
	o := &objects{have: map[string][]byte{}}
	s.files, s.sent = o, map[string]bool{}
	var err error
	s.folder, err = files.NewTemporary("llmsim-files")
	testkit.OK(t, err)
	s.root, err = os.OpenRoot(s.folder.Path)
	testkit.OK(t, err)
	t.Cleanup(s.close)
	return s, o, js
}

// The same contents are sent once, under whatever names; what is on the server in another length is
// sent again, and what could not be sent too. A worker fetches each once, and keeps nothing of what
// has another hash or is longer than it was said to be.
func TestFilesAreSentAndFetchedOnce(t *testing.T) {
	s, o, _ := withFiles(t)
	dir := t.TempDir()
	sent := newSums()
	describe := func(name, text string) (string, SentFile) {
		path := filepath.Join(dir, name)
		testkit.OK(t, os.WriteFile(path, []byte(text), 0o600))
		f, err := sent.file(path)
		testkit.OK(t, err)
		if f.Size != int64(len(text)) {
			t.Errorf("%q has %d bytes", text, f.Size)
		}
		return path, f
	}
	path, f := describe("a", "text")
	same, _ := describe("b", "text")
	refused := &jetstream.APIError{Code: 400}
	for i, step := range []struct {
		path  string
		fails error
		there string // on the server before; empty for what is there
		puts  int    // so far
	}{
		{path, refused, "", 0}, {path, nil, "", 1}, {path, refused, "", 1}, {same, nil, "", 1},
	} {
		o.fails = step.fails
		err := s.upload(t.Context(), step.path, f)
		if o.puts != step.puts || (err != nil) != (i == 0) || i > 0 &&
			string(o.have[f.Sum]) != "text" {
			t.Errorf("step %d: sent %d times, %v", i, o.puts, err)
		}
	}
	clear(s.sent)
	testkit.OK(t, s.upload(t.Context(), path, f))
	if o.puts != 1 || !s.sent[f.Sum] {
		t.Errorf("sent %d times what another had sent", o.puts)
	}
	clear(s.sent)
	o.have[f.Sum] = []byte("tex")
	if testkit.OK(t, s.upload(t.Context(), path, f)); o.puts != 2 {
		t.Errorf("sent %d times what was there in part", o.puts)
	}
	task := &Task{Files: map[string]SentFile{"x.csv": f}}
	for wrong, text := range map[string]string{"another file": "tEXt", "shorter": "tex",
		"longer": "text and more", "not there": ""} {
		if o.have[f.Sum] = []byte(text); text == "" {
			delete(o.have, f.Sum)
		}
		_, err := s.fetch(t.Context(), task)
		list, _ := os.ReadDir(s.folder.Path)
		if err == nil || !strings.Contains(err.Error(), "x.csv") || len(list) > 0 {
			t.Errorf("%s: %v, left %v", wrong, err, list)
		}
	}
	o.have[f.Sum], o.gets = []byte("text"), 0
	for range 2 {
		got, err := s.fetch(t.Context(), task)
		testkit.OK(t, err)
		data, err := fs.ReadFile(got, "x.csv")
		if err != nil || string(data) != "text" || o.gets != 1 {
			t.Errorf("fetched %d times: %q, %v", o.gets, data, err)
		}
		if _, err := got.Open("y.csv"); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("a file that did not come: %v", err)
		}
	}
}

// The files that a scenario names and that are there travel with its task, and nothing else; a file
// that was missing is looked for again. A file is read once while a queue is open.
func TestWhatTravels(t *testing.T) {
	s, o, _ := withFiles(t)
	q := &Queue{served: served{store: s, sums: newSums()}}
	dir := t.TempDir()
	path := filepath.Join(dir, "prompts.csv")
	task := &Task{Name: filepath.Join(dir, "a.yaml"), Text: scenario +
		"workload: {prompt: {distribution: empirical, file: prompts.csv}}\n"}
	if err := q.send(t.Context(), task); err != nil || len(task.Files) != 0 {
		t.Errorf("a file that is not there: %+v, %v", task.Files, err)
	}
	testkit.OK(t, os.WriteFile(path, []byte("tokens\n1\n"), 0o600))
	testkit.OK(t, q.send(t.Context(), task))
	before := task.Files[path]
	if len(task.Files) != 1 || before.Size != 9 || string(o.have[before.Sum]) != "tokens\n1\n" {
		t.Errorf("%+v of %q", task.Files, o.have)
	}
	testkit.OK(t, os.WriteFile(path, []byte("tokens\n22\n"), 0o600))
	testkit.OK(t, q.send(t.Context(), task))
	if after := task.Files[path]; after != before || o.puts != 1 {
		t.Errorf("%+v, then %+v, sent %d times", before, after, o.puts)
	}
	plain := &Task{Name: "a.yaml", Text: scenario}
	if err := q.send(t.Context(), plain); err != nil || len(plain.Files) != 0 {
		t.Errorf("%+v, %v", plain.Files, err)
	}
}

// A key differs where the scenario, the kind or the params differ, and only there, and the server
// takes it.
func TestKeysNameWhatResultsDependOn(t *testing.T) {
	q := &Queue{served: newServed()}
	rapid.Check(t, func(t *rapid.T) {
		draw := func() (of [3]string, key string) {
			for i, words := range [][]string{{"seed=1", "seed=2"}, {"a", "b"}, {"", "p", "q"}} {
				of[i] = rapid.SampledFrom(words).Draw(t, "part")
			}
			f, err := scenarios.Parse("a.yaml", []byte(scenario), of[0])
			testkit.OK(t, err)
			key, err = q.Key(f, of[1], of[2])
			testkit.OK(t, err)
			return of, key
		}
		a, one := draw()
		b, two := draw()
		if (a == b) != (one == two) || checkKey(one) != nil || strings.HasSuffix(one, "-") {
			t.Fatalf("%v has the key %q, %v %q", a, one, b, two)
		}
	})
}

// A watch hears of each result of its version that is stored after it began, in order, and of no
// other.
func TestWatchesHearOfWhatIsStoredLater(t *testing.T) {
	q := open(t, Config{URL: queuetest.Serve(t), version: "v1"}, nil)
	defer q.Close()
	s := q.store
	put := func(key string) { testkit.OK(t, s.storeResult(t.Context(), key, outcome{Error: key})) }
	put("before")
	put("long-before")
	watcher, err := s.watch(t.Context())
	testkit.OK(t, err)
	defer watcher.Stop()
	want := []string{"v1.a", "v1.b", "v1.c"}
	for _, name := range want {
		put(strings.TrimPrefix(name, "v1."))
		_, err := s.results.Put(t.Context(), "v2.other", nil)
		testkit.OK(t, err)
	}
	var got []string
	for len(got) < len(want) {
		select {
		case entry := <-watcher.Updates():
			if entry != nil {
				got = append(got, entry.Key())
			}
		case <-time.After(20 * time.Second):
			t.Fatalf("heard of %q", got)
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("heard of %q, want %q", got, want)
	}
}

// failing is a message whose server takes nothing of what is said.
type failing struct {
	*delivery
	metadata bool // whether it has no metadata either
}

var errSaid = errors.New("nobody listens")

// Metadata implements jetstream.Msg.
func (f *failing) Metadata() (*jetstream.MsgMetadata, error) {
	if f.metadata {
		return nil, errSaid
	}
	return f.delivery.Metadata()
}

// Ack implements jetstream.Msg.
func (*failing) Ack() error { return errSaid }

// DoubleAck implements jetstream.Msg.
func (*failing) DoubleAck(context.Context) error { return errSaid }

// InProgress implements jetstream.Msg.
func (f *failing) InProgress() error { f.beats.Add(1); return errSaid }

// What a worker cannot tell the server is logged; its task goes on. A message without metadata is
// given up, and a task that could not be acknowledged is not queued a second time.
func TestWhatCannotBeSaidIsLogged(t *testing.T) {
	task := &Task{Key: "x", Kind: "k", Name: "a.yaml", Text: scenario}
	for name, want := range map[string]string{"beats": "in progress: nobody listens",
		"ack": "a task is not done: nobody listens", "metadata": "not done: nobody listens",
		"stopped": ""} {
		s, b, js := fakeStore()
		m := &failing{deliver(t, s, task, 1), name == "metadata"}
		ctx, stop := context.WithCancel(t.Context())
		beat := time.Hour
		if name == "beats" {
			beat = 3 * time.Millisecond
		}
		var log notebook
		w := newWorker(s, Handlers{"k": func(context.Context, *scenarios.File, string) (any,
			error) {
			for name == "beats" && m.beats.Load() < 2 {
				time.Sleep(time.Millisecond)
			}
			if name == "stopped" {
				stop()
				return nil, errors.New("stopped")
			}
			return 7, nil
		}}, beat)
		w.fetch, w.log = nil, log.write
		w.handle(ctx, m)
		stop()
		stored := 1
		if name == "metadata" || name == "stopped" {
			stored = 0
		}
		if !strings.Contains(log.text(), want) || want == "" && log.text() != "" ||
			len(b.put) != stored || len(js.published) != 0 ||
			slices.Contains(m.said, "term") != m.metadata {
			t.Errorf("%s: said %q, %d stored, %d queued, log %q", name, m.said, len(b.put),
				len(js.published), log.text())
		}
	}
}

// offers is a consumer that hands out messages in some rounds of asking, with an error behind each.
type offers struct {
	jetstream.Consumer
	rounds  [][]jetstream.Msg // nil for a round in which asking fails
	asked   int
	stopped int
	end     context.CancelFunc // called behind the last round
}

// Messages implements jetstream.Consumer.
func (o *offers) Messages(...jetstream.PullMessagesOpt) (jetstream.MessagesContext, error) {
	round := o.rounds[o.asked]
	if o.asked++; o.asked == len(o.rounds) {
		defer o.end()
	}
	if round == nil {
		return nil, errors.New("no answer")
	}
	return &offered{of: o, list: round}, nil
}

// offered is the messages of a round.
type offered struct {
	jetstream.MessagesContext
	of   *offers
	list []jetstream.Msg
}

// Next implements jetstream.MessagesContext.
func (o *offered) Next(...jetstream.NextOpt) (jetstream.Msg, error) {
	if len(o.list) == 0 {
		return nil, errors.New("no heartbeat")
	}
	m := o.list[0]
	o.list = o.list[1:]
	return m, nil
}

// Stop implements jetstream.MessagesContext.
func (o *offered) Stop() { o.of.stopped++ }

// A worker takes every message that it is handed. Where asking fails, or messages end, it says so
// and asks again a second later, until it is stopped; what it asked for before is ended.
func TestWorkersAskAgain(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		synctest.Test(t, func(t *testing.T) {
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			s, _, _ := fakeStore()
			o := &offers{end: stop}
			tasks, fine := 0, 0
			n := rapid.IntRange(1, 4).Draw(r, "rounds")
			for range n - 1 {
				if rapid.Bool().Draw(r, "fails") {
					o.rounds = append(o.rounds, nil)
					continue
				}
				fine++
				round := []jetstream.Msg{}
				for range rapid.IntRange(0, 3).Draw(r, "messages") {
					task := &Task{Key: fmt.Sprint(tasks), Kind: "k", Name: "a.yaml",
						Text: scenario}
					round = append(round, deliver(t, s, task, 1))
					tasks++
				}
				o.rounds = append(o.rounds, round)
			}
			o.rounds = append(o.rounds, nil) // in which it is stopped
			var calls atomic.Int32
			var log notebook
			w := newWorker(s, Handlers{"k": func(context.Context, *scenarios.File, string) (any,
				error) {
				calls.Add(1)
				return 7, nil
			}}, time.Hour)
			w.fetch, w.log = nil, log.write
			began := time.Now()
			w.serve(ctx, o)
			if took := time.Since(began); int(calls.Load()) != tasks || o.asked != n ||
				o.stopped != fine || took != time.Duration(n-1)*time.Second ||
				strings.Count(log.text(), "trying again") != n-1 {
				r.Errorf("%d of %d tasks, asked %d of %d times in %v, %d of %d ended: %q",
					calls.Load(), tasks, o.asked, n, took, o.stopped, fine, log.text())
			}
		})
	})
}

// A queue that is closed, and a worker that is stopped, leave nothing in the temporary folder and
// no connection.
func TestClosedQueuesLeaveNothing(t *testing.T) {
	url := queuetest.Serve(t)
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	for _, c := range []Config{{URL: url, Workers: 1}, {URL: url}, {Listen: "0", Workers: 1}, {}} {
		q := open(t, c, nil)
		q.Close()
		if left, err := os.ReadDir(dir); err != nil || len(left) > 0 ||
			q.conn != nil && q.conn.Status() != nats.CLOSED {
			t.Errorf("%+v leaves %v, %v", c, left, err)
		}
	}
	ctx, stop := context.WithCancel(t.Context())
	var log notebook
	taken := make(chan error, 1)
	go func() { taken <- Work(ctx, Config{URL: url, Workers: 1, Log: log.write}, nil) }()
	for !strings.Contains(log.text(), "takes tasks of "+url) {
		time.Sleep(time.Millisecond)
	}
	stop()
	testkit.OK(t, <-taken)
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("a worker leaves %v, %v", left, err)
	}
}

// The name of a program is its version, letter by letter, and a hash of what was built from changed
// or unknown sources.
func TestNamesOfProgramsAreVersions(t *testing.T) {
	version := scenarios.Version()
	self, err := os.Executable()
	testkit.OK(t, err)
	sum, err := scenarios.HashFile(self)
	testkit.OK(t, err)
	want := strings.Map(func(r rune) rune {
		switch {
		case r == '.':
			return '_'
		case strings.ContainsRune("+ *>/\\", r):
			return '-'
		}
		return r
	}, version)
	if strings.HasPrefix(version, "devel") || strings.Contains(version, "dirty") ||
		version == "unknown" {
		want += "-" + sum[:12]
	}
	if got, err := (&Config{}).identity(); err != nil || got != want {
		t.Errorf("%q is named %q, want %q: %v", version, got, want, err)
	}
}
