package queue

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

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

// Results and files are kept on a server for a month, and results on a planner's, where they are
// taken at once, for a minute.
const (
	keepOnServer  = 30 * 24 * time.Hour
	keepInProcess = time.Minute
)

// store is the streams on a server.
type store struct {
	js      jetstream.JetStream
	results jetstream.KeyValue
	files   jetstream.ObjectStore
	cache   *cache
	key     *key
	version string
}

// newStore returns a store whose buckets are not known yet.
func newStore(conn *nats.Conn, c *Config, k *key) (s *store, err error) {
	s = &store{key: k}
	if s.js, err = jetstream.New(conn); err != nil {
		return nil, err
	}
	if s.version, err = c.identity(); err != nil {
		return nil, err
	}
	s.cache, err = newCache()
	return s, err
}

// openStore finds the streams, or makes them.
func openStore(ctx context.Context, conn *nats.Conn, c *Config, k *key) (*store, error) {
	s, err := newStore(conn, c, k)
	if err != nil {
		return nil, err
	}
	keep, storage := keepOnServer, jetstream.FileStorage
	if c.URL == "" {
		keep, storage = keepInProcess, jetstream.MemoryStorage
	}
	// One message for a key at a time: what is queued is not queued again.
	if _, err = s.js.CreateOrUpdateStream(ctx, jetstream.StreamConfig{
		Name: streamName, Subjects: []string{subject + ">"}, Retention: jetstream.WorkQueuePolicy,
		Storage:           storage,
		MaxMsgsPerSubject: 1, Discard: jetstream.DiscardNew, DiscardNewPerSubject: true,
	}); err == nil {
		s.results, err = s.js.CreateOrUpdateKeyValue(ctx, jetstream.KeyValueConfig{
			Bucket: resultBucket, TTL: keep, Storage: storage})
	}
	if err == nil {
		s.files, err = s.js.CreateOrUpdateObjectStore(ctx, jetstream.ObjectStoreConfig{
			Bucket: fileBucket, TTL: keepOnServer})
	}
	return s, err
}

// joinStore finds the streams that another process made, and waits until they exist.
func joinStore(ctx context.Context, conn *nats.Conn, c *Config, k *key) (*store, error) {
	s, err := newStore(conn, c, k)
	if err != nil {
		return nil, err
	}
	if s.results, err = eventually(ctx, func() (jetstream.KeyValue, error) {
		return s.js.KeyValue(ctx, resultBucket)
	}); err == nil {
		s.files, err = eventually(ctx, func() (jetstream.ObjectStore, error) {
			return s.js.ObjectStore(ctx, fileBucket)
		})
	}
	if err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

// eventually tries each second until something is there.
func eventually[T any](ctx context.Context, find func() (T, error)) (T, error) {
	for {
		found, err := find()
		missing := errors.Is(err, jetstream.ErrBucketNotFound) ||
			errors.Is(err, jetstream.ErrStreamNotFound) ||
			errors.Is(err, jetstream.ErrConsumerNotFound)
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
		Durable: consumerName + s.version, FilterSubject: subject + s.version +
			".>", AckPolicy: jetstream.AckExplicitPolicy, AckWait: redeliver,
		MaxDeliver: -1, MaxAckPending: -1, MaxWaiting: 1 << 16, InactiveThreshold: keepOnServer,
	})
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

// readOutcome returns the stored outcome of a task. It returns an error for an entry that was not
// signed with the key, which says nothing about the task.
func (s *store) readOutcome(name string, sealed []byte) (o outcome, err error) {
	data, err := s.key.open(aResult, name, sealed)
	if err == nil {
		err = json.Unmarshal(data, &o)
	}
	return o, err
}

// entry is what lies under the key of a task.
type entry int

const (
	nothing entry = iota
	forged        // something that was not signed with the key
	genuine       // an outcome
)

// result returns the outcome that is stored under a key, and what lies there.
func (s *store) result(ctx context.Context, key string) (o outcome, found entry, err error) {
	err = insist(ctx, func() error {
		stored, err := s.results.Get(ctx, s.name(key))
		if errors.Is(err, jetstream.ErrKeyNotFound) {
			found = nothing
			return nil
		}
		if err != nil {
			return err
		}
		found = genuine
		var unsigned error
		if o, unsigned = s.readOutcome(stored.Key(), stored.Value()); unsigned != nil {
			found = forged
		}
		return nil
	})
	return o, found, err
}

// keep stores an outcome.
func (s *store) keep(ctx context.Context, key string, o outcome) error {
	data, err := json.Marshal(o)
	if err != nil {
		return err
	}
	if len(data) > mostMessage/2 {
		return s.keep(ctx, key,
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
	for {
		err := do()
		var refused *jetstream.APIError
		if err == nil || ctx.Err() != nil || errors.As(err, &refused) && refused.Code < 500 ||
			time.Now().After(deadline) {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(time.Second):
		}
	}
}
