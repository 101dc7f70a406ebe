//go:build !js

package queue

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/llmsim/llmsim/internal/files"
	"github.com/llmsim/llmsim/scenarios"
)

// What a server holds, for all versions of the program and all who plan.
const (
	streamName   = "LLMSIM_TASKS"
	resultBucket = "llmsim-results"
	fileBucket   = "llmsim-files"
	// subject is followed by the version and the key of a task.
	subject = "llmsim.tasks."
	// consumerName is followed by the version: a worker gets tasks of its own version only.
	consumerName = "workers-"
)

// keepOnServer is how long results and files are kept.
const keepOnServer = 30 * 24 * time.Hour

// store is the streams on a server, and the files that were fetched from it, in a folder of its own
// that it never leaves. These are named by their hashes.
type store struct {
	js      jetstream.JetStream
	results jetstream.KeyValue
	files   jetstream.ObjectStore
	key     *key
	version string
	log     func(string)

	folder *files.Temporary
	root   *os.Root // of folder
	mu     sync.Mutex
	sent   map[string]bool // the hashes of files that are on the server
}

// newStore returns a store whose streams are not known yet.
func newStore(conn *nats.Conn, c *Config, k *key) (s *store, err error) {
	s = &store{key: k, log: c.Log, sent: map[string]bool{}}
	if s.js, err = jetstream.New(conn); err != nil {
		return nil, err
	}
	if s.version, err = c.identity(); err != nil {
		return nil, err
	}
	if s.folder, err = files.NewTemporary("llmsim-files"); err != nil {
		return nil, err
	}
	if s.root, err = os.OpenRoot(s.folder.Path); err != nil {
		return nil, errors.Join(err, s.folder.Close())
	}
	return s, nil
}

func (s *store) close() {
	s.root.Close()
	_ = s.folder.Close() // what cannot be removed now is when the next store is made
}

// begin finds the streams or makes them, and returns the consumer from which workers of this
// version take tasks. The consumer is made last: where it is, all is.
func (s *store) begin(ctx context.Context, redeliver time.Duration) (jetstream.Consumer, error) {
	// One message for a key at a time: what is queued is not queued again.
	_, err := s.js.CreateOrUpdateStream(ctx, jetstream.StreamConfig{
		Name: streamName, Subjects: []string{subject + ">"}, Retention: jetstream.WorkQueuePolicy,
		MaxMsgsPerSubject: 1, Discard: jetstream.DiscardNew, DiscardNewPerSubject: true,
	})
	if err == nil {
		s.results, err = s.js.CreateOrUpdateKeyValue(ctx, jetstream.KeyValueConfig{
			Bucket: resultBucket, TTL: keepOnServer})
	}
	if err == nil {
		s.files, err = s.js.CreateOrUpdateObjectStore(ctx, jetstream.ObjectStoreConfig{
			Bucket: fileBucket, TTL: keepOnServer})
	}
	if err != nil {
		return nil, err
	}
	return s.js.CreateOrUpdateConsumer(ctx, streamName, jetstream.ConsumerConfig{
		Durable: consumerName + s.version, FilterSubject: subject + s.version +
			".>", AckPolicy: jetstream.AckExplicitPolicy, AckWait: redeliver,
		MaxDeliver: -1, MaxAckPending: -1, MaxWaiting: 1 << 16, InactiveThreshold: keepOnServer,
	})
}

// join waits until another process has begun.
func (s *store) join(ctx context.Context) (consumer jetstream.Consumer, err error) {
	err = repeat(ctx, func() (err error) {
		if consumer, err = s.js.Consumer(ctx, streamName, consumerName+s.version); err != nil {
			return err
		}
		if s.results, err = s.js.KeyValue(ctx, resultBucket); err == nil {
			s.files, err = s.js.ObjectStore(ctx, fileBucket)
		}
		return err
	}, func(err error) bool {
		return errors.Is(err, jetstream.ErrStreamNotFound) ||
			errors.Is(err, jetstream.ErrConsumerNotFound)
	})
	return consumer, err
}

// repeat does something again each second while it fails in a way that may pass.
func repeat(ctx context.Context, do func() error, passes func(error) bool) error {
	for {
		err := do()
		if err == nil || !passes(err) {
			return err
		}
		if pause(ctx, time.Second); ctx.Err() != nil {
			return ctx.Err()
		}
	}
}

// pause waits for some time, or until ctx is done.
func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// publish queues a task. That it is queued already is no error.
func (s *store) publish(ctx context.Context, t *Task) error {
	data, err := json.Marshal(t)
	if err != nil {
		return err
	}
	name := s.name(t.Key)
	sealed := s.key.seal(aTask, name, data)
	if len(sealed) > mostMessage {
		return scenarios.BadInput(
			fmt.Errorf("%s has %d bytes, too many for a task; workers take at most %d", t.Name,
				len(sealed), mostMessage))
	}
	return insist(ctx, func() error {
		_, err := s.js.Publish(ctx, subject+name, sealed)
		var refused *jetstream.APIError
		if errors.As(err, &refused) &&
			strings.Contains(refused.Description, "maximum messages per subject") {
			return nil
		}
		return err
	})
}

// name is what a task of this version is called on the server, and its result.
func (s *store) name(key string) string { return s.version + "." + key }

// readTask returns the task of a message, if the message was signed with the key.
func (s *store) readTask(subjectOf string, sealed []byte) (*Task, error) {
	name := strings.TrimPrefix(subjectOf, subject)
	data, err := s.key.open(aTask, name, sealed)
	if err != nil {
		return nil, err
	}
	t, err := readTask(data)
	if err == nil && s.name(t.Key) != name {
		err = fmt.Errorf("it has the key %.100q, not that of its subject", t.Key)
	}
	return t, err
}

// believed returns an outcome as it is stored for a key. An entry that was not signed with the key
// of the queue says nothing about the task; it is logged.
func (s *store) believed(key string, sealed []byte) (o outcome, ok bool) {
	data, err := s.key.open(aResult, s.name(key), sealed)
	if err == nil {
		err = json.Unmarshal(data, &o)
	}
	if err != nil {
		s.log(refusal(key, err))
	}
	return o, err == nil
}

// result returns the outcome that is stored under a key, and whether there is one.
func (s *store) result(ctx context.Context, key string) (o outcome, found bool, err error) {
	err = insist(ctx, func() error {
		stored, err := s.results.Get(ctx, s.name(key))
		if errors.Is(err, jetstream.ErrKeyNotFound) {
			return nil
		}
		if err == nil {
			o, found = s.believed(key, stored.Value())
		}
		return err
	})
	return o, found, err
}

// storeResult stores an outcome.
func (s *store) storeResult(ctx context.Context, key string, o outcome) error {
	data, err := json.Marshal(o)
	if err != nil {
		return err
	}
	if len(data) > mostMessage/2 {
		return s.storeResult(ctx, key,
			outcome{Error: fmt.Sprintf("its result has %d bytes; at most %d can be stored",
				len(data), mostMessage/2)})
	}
	return insist(ctx, func() error {
		_, err := s.results.Put(ctx, s.name(key), s.key.seal(aResult, s.name(key), data))
		return err
	})
}

// forget removes an outcome, and the task that led to it, so that the task can be queued again.
func (s *store) forget(ctx context.Context, key string) error {
	return insist(ctx, func() error {
		stream, err := s.js.Stream(ctx, streamName)
		if err != nil {
			return err
		}
		if err := stream.Purge(ctx, jetstream.WithPurgeSubject(subject+s.name(key))); err != nil {
			return err
		}
		return s.results.Purge(ctx, s.name(key))
	})
}

// watch returns the results of this version that are stored from now on.
func (s *store) watch(ctx context.Context) (jetstream.KeyWatcher, error) {
	stream, err := s.js.Stream(ctx, "KV_"+resultBucket)
	if err != nil {
		return nil, err
	}
	return s.results.Watch(ctx, s.version+".>",
		jetstream.ResumeFromRevision(stream.CachedInfo().State.LastSeq+1))
}

// insist does something again that fails because the server is out of reach, for two minutes.
func insist(ctx context.Context, do func() error) error {
	deadline := time.Now().Add(2 * time.Minute)
	return repeat(ctx, do, func(err error) bool {
		var refused *jetstream.APIError
		return !(errors.As(err, &refused) && refused.Code < 500) && time.Now().Before(deadline)
	})
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
		file, err := q.sums.file(path)
		if err != nil {
			return scenarios.BadInput(err)
		}
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
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.sent[f.Sum] {
		return nil
	}
	info, err := s.files.GetInfo(ctx, f.Sum)
	if err == nil && info.Size == uint64(f.Size) || err != nil &&
		!errors.Is(err, jetstream.ErrObjectNotFound) {
		s.sent[f.Sum] = err == nil
		return err
	}
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	_, err = s.files.Put(ctx, jetstream.ObjectMeta{Name: f.Sum}, file)
	s.sent[f.Sum] = err == nil
	return err
}

// fetch returns the files of a task, and no others.
func (s *store) fetch(ctx context.Context, t *Task) (*taskFiles, error) {
	for path, file := range t.Files {
		if err := s.download(ctx, file); err != nil {
			return nil, fmt.Errorf("fetching %s: %w", path, err)
		}
	}
	return &taskFiles{s.root, t.Files}, nil
}

// download fetches a file, unless it is there. Contents that do not have the hash of their name are
// refused.
func (s *store) download(ctx context.Context, f SentFile) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, err := s.root.Stat(f.Sum); err == nil {
		return nil
	}
	object, err := s.files.Get(ctx, f.Sum)
	if err != nil {
		return err
	}
	defer object.Close()
	partial, err := s.root.Create(f.Sum + ".part")
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
		return errors.Join(err, s.root.Remove(f.Sum+".part"))
	}
	return s.root.Rename(f.Sum+".part", f.Sum)
}
