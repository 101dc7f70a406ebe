package queue

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
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

// Results and files are kept on a server for a month, in a process, where results are taken at once, for a minute.
const (
	keepOnServer  = 30 * 24 * time.Hour
	keepInProcess = time.Minute
)

// store is the streams on a server.
type store struct {
	js      jetstream.JetStream
	results jetstream.KeyValue
	files   jetstream.ObjectStore // nil where nobody else takes part
	cache   *fileCache
	version string
}

// openStore finds the streams, or makes them.
func openStore(ctx context.Context, conn *nats.Conn, c *Config) (*store, error) {
	js, err := jetstream.New(conn)
	if err != nil {
		return nil, err
	}
	s := &store{js: js, version: "local"}
	keep, storage := keepOnServer, jetstream.FileStorage
	if c.URL == "" {
		keep, storage = keepInProcess, jetstream.MemoryStorage
	}
	// One message for a key at a time: what is queued is not queued again.
	if _, err := js.CreateOrUpdateStream(ctx, jetstream.StreamConfig{
		Name: streamName, Subjects: []string{subject + ">"}, Retention: jetstream.WorkQueuePolicy, Storage: storage,
		MaxMsgsPerSubject: 1, Discard: jetstream.DiscardNew, DiscardNewPerSubject: true,
	}); err != nil {
		return nil, err
	}
	if s.results, err = js.CreateOrUpdateKeyValue(ctx, jetstream.KeyValueConfig{Bucket: resultBucket, TTL: keep, Storage: storage}); err != nil {
		return nil, err
	}
	if !c.shared() {
		return s, nil
	}
	if s.files, err = js.CreateOrUpdateObjectStore(ctx, jetstream.ObjectStoreConfig{Bucket: fileBucket, TTL: keepOnServer}); err != nil {
		return nil, err
	}
	if s.version, err = identity(); err != nil {
		return nil, err
	}
	s.cache, err = newFileCache()
	return s, err
}

// joinStore finds the streams that somebody else made, and waits until they are there.
func joinStore(ctx context.Context, conn *nats.Conn) (*store, error) {
	js, err := jetstream.New(conn)
	if err != nil {
		return nil, err
	}
	s := &store{js: js}
	if s.version, err = identity(); err != nil {
		return nil, err
	}
	if s.results, err = eventually(ctx, func() (jetstream.KeyValue, error) { return js.KeyValue(ctx, resultBucket) }); err != nil {
		return nil, err
	}
	if s.files, err = eventually(ctx, func() (jetstream.ObjectStore, error) { return js.ObjectStore(ctx, fileBucket) }); err != nil {
		return nil, err
	}
	s.cache, err = newFileCache()
	return s, err
}

// eventually tries each second until something is there.
func eventually[T any](ctx context.Context, find func() (T, error)) (T, error) {
	for {
		found, err := find()
		missing := errors.Is(err, jetstream.ErrBucketNotFound) || errors.Is(err, jetstream.ErrStreamNotFound) || errors.Is(err, jetstream.ErrConsumerNotFound)
		if !missing {
			return found, err
		}
		select {
		case <-ctx.Done():
			return found, ctx.Err()
		case <-time.After(time.Second):
		}
	}
}

func (s *store) close() {
	if s.cache != nil {
		s.cache.close()
	}
}

// consume returns the consumer from which workers of this version take tasks.
func (s *store) consume(ctx context.Context, redeliver time.Duration) (jetstream.Consumer, error) {
	return s.js.CreateOrUpdateConsumer(ctx, streamName, jetstream.ConsumerConfig{
		Durable: consumerName + s.version, FilterSubject: subject + s.version + ".>", AckPolicy: jetstream.AckExplicitPolicy, AckWait: redeliver,
		MaxDeliver: -1, MaxAckPending: -1, MaxWaiting: 1 << 16, InactiveThreshold: keepOnServer,
	})
}

// publish queues a task. That it is queued already is no error.
func (s *store) publish(ctx context.Context, t *Task) error {
	data, err := json.Marshal(t)
	if err != nil {
		return err
	}
	return insist(ctx, func() error {
		_, err := s.js.Publish(ctx, subject+s.version+"."+t.Key, data)
		var refused *jetstream.APIError
		if errors.As(err, &refused) && strings.Contains(refused.Description, "maximum messages per subject") {
			return nil
		}
		return err
	})
}

// result returns the outcome that is stored under a key, and whether there is one.
func (s *store) result(ctx context.Context, key string) (o outcome, ok bool, err error) {
	err = insist(ctx, func() error {
		entry, err := s.results.Get(ctx, key)
		if errors.Is(err, jetstream.ErrKeyNotFound) {
			return nil
		}
		if err == nil {
			o, err = readOutcome(entry.Value())
			ok = err == nil
		}
		return err
	})
	return o, ok, err
}

// keep stores an outcome.
func (s *store) keep(ctx context.Context, key string, o outcome) error {
	data, err := json.Marshal(o)
	if err != nil {
		return err
	}
	return insist(ctx, func() error {
		_, err := s.results.Put(ctx, key, data)
		return err
	})
}

// forget removes an outcome.
func (s *store) forget(ctx context.Context, key string) error {
	return insist(ctx, func() error { return s.results.Purge(ctx, key) })
}

// watch returns what is stored from now on.
func (s *store) watch(ctx context.Context) (jetstream.KeyWatcher, error) {
	stream, err := s.js.Stream(ctx, "KV_"+resultBucket)
	if err != nil {
		return nil, err
	}
	return s.results.WatchAll(ctx, jetstream.ResumeFromRevision(stream.CachedInfo().State.LastSeq+1))
}

// insist does something again that fails because the server is out of reach, for two minutes.
func insist(ctx context.Context, do func() error) error {
	deadline := time.Now().Add(2 * time.Minute)
	for {
		err := do()
		var refused *jetstream.APIError
		if err == nil || ctx.Err() != nil || errors.As(err, &refused) && refused.Code < 500 || time.Now().After(deadline) {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(time.Second):
		}
	}
}
