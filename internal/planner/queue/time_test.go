package queue

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"pgregory.net/rapid"

	"github.com/llmsim/llmsim/scenarios"
)

// drawnConsumer is a consumer of a server, in the states that a test draws for each look at it.
type drawnConsumer struct {
	jetstream.Consumer
	looks []*jetstream.ConsumerInfo // nil where the server does not answer
	end   context.CancelFunc        // called after the last look
}

// Info implements jetstream.Consumer.
func (c *drawnConsumer) Info(context.Context) (info *jetstream.ConsumerInfo, err error) {
	if len(c.looks) == 0 {
		return nil, errors.New("closed")
	}
	info, c.looks = c.looks[0], c.looks[1:]
	if len(c.looks) == 0 {
		c.end()
	}
	if info == nil {
		err = errors.New("no answer")
	}
	return info, err
}

// drawInfo draws the state of the consumer of a version.
func drawInfo(t *rapid.T, name string) *jetstream.ConsumerInfo {
	few := rapid.SampledFrom([]int{0, 0, 0, 1, 3})
	return &jetstream.ConsumerInfo{Name: name, NumAckPending: few.Draw(t, "in hand"),
		NumWaiting: few.Draw(t, "workers"),
		NumPending: uint64(rapid.IntRange(0, 2).Draw(t, "tasks"))}
}

// A planner says that it misses workers when tasks have lain for 10 s and nobody took one, and each
// minute from then on. A worker, an empty queue and a server that does not answer begin the time
// anew.
func TestPlannersMissWorkers(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		c := &drawnConsumer{}
		var want, got []time.Duration
		lain := 0 // looks in a row that find tasks and no worker
		for range rapid.IntRange(1, 6).Draw(r, "states") {
			info := drawInfo(r, "v1")
			if rapid.IntRange(0, 4).Draw(r, "answers") == 0 {
				info = nil
			}
			for range rapid.IntRange(1, 30).Draw(r, "looks") {
				if c.looks = append(c.looks, info); info == nil || info.NumPending == 0 ||
					info.NumWaiting > 0 || info.NumAckPending > 0 {
					lain = 0
					continue
				}
				if lain++; lain%12 == 2 {
					want = append(want, time.Duration(len(c.looks))*5*time.Second)
				}
			}
		}
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			c.end = cancel
			began := time.Now()
			s, _, _ := fakeStore()
			q := &Queue{served: served{store: s}, config: Config{Log: func(words string) {
				got = append(got, time.Since(began))
				if !strings.Contains(words, "tasks wait for a worker of llmsim v1") {
					t.Errorf("%q", words)
				}
			}}}
			q.missWorkers(ctx, c)
		})
		if !slices.Equal(got, want) {
			r.Errorf("said after %v, want %v", got, want)
		}
	})
}

// consumers is a server that lists the consumers of each look.
type consumers struct {
	jetstream.JetStream
	looks [][]*jetstream.ConsumerInfo
	end   context.CancelFunc // called after the last look
}

// Stream implements jetstream.JetStream.
func (c *consumers) Stream(context.Context, string) (jetstream.Stream, error) {
	return listed{of: c}, nil
}

// listed is the stream of a server, whose consumers are listed.
type listed struct {
	jetstream.Stream
	of *consumers
}

// ListConsumers implements jetstream.Stream.
func (l listed) ListConsumers(context.Context) jetstream.ConsumerInfoLister {
	return infos{l.of}
}

// infos is what a server lists in a look.
type infos struct{ of *consumers }

// Err implements jetstream.ConsumerInfoLister.
func (infos) Err() error { return nil }

// Info implements jetstream.ConsumerInfoLister.
func (l infos) Info() <-chan *jetstream.ConsumerInfo {
	list := make(chan *jetstream.ConsumerInfo, len(l.of.looks[0]))
	for _, info := range l.of.looks[0] {
		list <- info
	}
	close(list)
	if l.of.looks = l.of.looks[1:]; len(l.of.looks) == 0 {
		l.of.end()
	}
	return list
}

// A worker names each other version once: when its tasks first wait and no worker of it does.
func TestOtherVersionsAreNamedOnce(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		server := &consumers{}
		var want, got []string
		named := map[string]bool{"v1": true}
		looks := rapid.IntRange(1, 5).Draw(r, "looks")
		for range looks {
			var list []*jetstream.ConsumerInfo
			for _, version := range []string{"v1", "v2", "v3"} {
				info := drawInfo(r, consumerName+version)
				list = append(list, info)
				if info.NumPending > 0 && info.NumWaiting == 0 && !named[version] {
					named[version] = true
					want = append(want, fmt.Sprintf("refusing %d tasks of llmsim %s: this is "+
						"llmsim v1", info.NumPending, version))
				}
			}
			server.looks = append(server.looks, list)
		}
		var took time.Duration
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			server.end = cancel
			began := time.Now()
			s := &store{js: server, version: "v1", log: func(words string) {
				words, _, _ = strings.Cut(words, ",")
				got = append(got, words)
			}}
			s.warnOfVersions(ctx)
			took = time.Since(began)
		})
		if !slices.Equal(got, want) || took != time.Duration(looks-1)*5*time.Second {
			r.Errorf("%d looks in %v say %q, want %q", looks, took, got, want)
		}
	})
}

// What the server does not answer is asked again each second for two minutes; and a late result
// each three times that a worker may be silent, as long as somebody waits for it.
func TestHowLongIsAskedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		calls, began := 0, time.Now()
		broken := errors.New("out of reach")
		err := insist(t.Context(), func() error { calls++; return broken })
		if took := time.Since(began); err != broken || took != 2*time.Minute || calls != 121 {
			t.Errorf("%v after %d calls in %v", err, calls, took)
		}
		for _, times := range []int{0, 1, 5} {
			s, _, js := fakeStore()
			asked := 0
			js.then = func() { asked++ }
			q := &Queue{config: Config{Redeliver: 7 * time.Second, Log: func(string) {}},
				served: served{store: s, sums: newSums()}, waiting: map[string]*pending{}}
			ctx, cancel := context.WithTimeout(t.Context(),
				time.Duration(times)*21*time.Second+time.Second)
			_, err := q.outcome(ctx, &Task{Key: "x", Kind: "k", Name: "a.yaml", Text: scenario})
			if asked != 1+times || !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("asked %d times more, want %d: %v", asked-1, times, err)
			}
			cancel()
		}
	})
}

// A worker that is stopped has half a second to store what it has done; one that goes on has as
// long as it takes.
func TestStoppedWorkersMayStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, c := range []struct {
			stops, takes time.Duration
			stored       bool
		}{{time.Hour, 30 * time.Second, true}, {0, 400 * time.Millisecond, true},
			{time.Second, 1400 * time.Millisecond, true}, {0, 600 * time.Millisecond, false},
			{time.Second, 1600 * time.Millisecond, false}} {
			s, b, _ := fakeStore()
			s.results = &slowBucket{bucket: b, takes: c.takes}
			ctx, cancel := context.WithTimeout(t.Context(), c.stops)
			w := newWorker(s, nil, time.Second)
			err := w.storeResult(ctx, &Task{Key: "x"}, outcome{Value: json.RawMessage("7")})
			cancel()
			if (err == nil) != c.stored || (len(b.put) == 1) != c.stored {
				t.Errorf("%+v: %v, %d stored", c, err, len(b.put))
			}
		}
	})
}

// slowBucket is results that take a time to be stored.
type slowBucket struct {
	*bucket
	takes time.Duration
}

// Put implements jetstream.KeyValue.
func (b *slowBucket) Put(ctx context.Context, key string, value []byte) (uint64, error) {
	if pause(ctx, b.takes); ctx.Err() != nil {
		return 0, ctx.Err()
	}
	return b.bucket.Put(ctx, key, value)
}

// A queue is closed when its last task has ended, and not before.
func TestClosedQueuesHaveEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const n = 3
		var begun sync.WaitGroup
		begun.Add(n)
		var ended atomic.Int32
		q := open(t, Config{Workers: n}, Handlers{"seed": func(ctx context.Context,
			_ *scenarios.File, _ string) (any, error) {
			begun.Done()
			<-ctx.Done()
			time.Sleep(time.Hour)
			ended.Add(1)
			return nil, ctx.Err()
		}})
		ctx, cancel := context.WithCancel(t.Context())
		for i := range n {
			go func() {
				_ = q.Do(ctx, &Task{Key: fmt.Sprint(i), Kind: "seed", Name: "a.yaml",
					Text: scenario}, new(int))
			}()
		}
		begun.Wait()
		if q.Close(); ended.Load() != n {
			t.Errorf("%d of %d tasks had ended", ended.Load(), n)
		}
		cancel()
	})
}
