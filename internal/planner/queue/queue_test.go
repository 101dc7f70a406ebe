package queue

import (
	"context"
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

	"github.com/llmsim/llmsim/internal/planner/queue/queuetest"
	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/scenarios"
)

// scenario is the text of the tasks, which differ in their seeds.
const scenario = "model: llama-3.1-8b\nhardware: h100-sxm\n"

func TestMain(m *testing.M) { os.Exit(queuetest.Main(m)) }

func open(t *testing.T, c Config, h Handlers) *Queue {
	t.Helper()
	q, err := Open(context.Background(), c, h)
	testkit.OK(t, err)
	return q
}

// seeded returns the task of a seed.
func seeded(t *testing.T, q *Queue, seed int) *Task {
	t.Helper()
	task := &Task{Kind: "seed", Name: "a.yaml", Text: scenario,
		Set: []string{fmt.Sprint("seed=", seed)}}
	f, err := scenarios.Parse(task.Name, []byte(task.Text), task.Set...)
	testkit.OK(t, err)
	if task.Key, err = q.Key(f, task.Kind, ""); err != nil {
		t.Fatal(err)
	}
	return task
}

// counting is a handler that returns ten times the seed, fails for the seeds in bad, and counts its
// calls.
func counting(calls *atomic.Int32, bad ...uint64) Handlers {
	return Handlers{"seed": func(_ context.Context, f *scenarios.File, _ string) (any, error) {
		calls.Add(1)
		for _, seed := range bad {
			if f.Scenario.Seed == seed {
				if seed%2 == 0 {
					panic("an even seed")
				}
				return nil, errors.New("an odd seed")
			}
		}
		return 10 * f.Scenario.Seed, nil
	}}
}

// doAll does the tasks of seeds 0 to n−1, each several times at the same moment, and returns the
// errors by seed.
func doAll(t *testing.T, q *Queue, n, times int) []error {
	t.Helper()
	failures := make([]error, n)
	var group sync.WaitGroup
	for seed := range n {
		for range times {
			group.Go(func() {
				var got int
				err := q.Do(context.Background(), seeded(t, q, seed), &got)
				if err == nil && got != 10*seed {
					err = fmt.Errorf("result %d, want %d", got, 10*seed)
				}
				if err != nil {
					failures[seed] = err
				}
			})
		}
	}
	group.Wait()
	return failures
}

// Nothing is computed twice: not when two ask for it, not by another queue on the same server, and
// not after a restart.
func TestNothingIsComputedTwice(t *testing.T) {
	url := queuetest.Serve(t)
	var calls atomic.Int32
	const n = 50
	for round := range 3 {
		q := open(t, Config{URL: url, Workers: 4}, counting(&calls))
		other := open(t, Config{URL: url, Workers: 4}, counting(&calls))
		for _, err := range append(doAll(t, q, n, 2), doAll(t, other, n, 2)...) {
			if err != nil {
				t.Error(err)
			}
		}
		q.Close()
		other.Close()
		if calls.Load() != n {
			t.Fatalf("after round %d, %d tasks were done %d times", round, n, calls.Load())
		}
	}
}

// A task that fails is tried three times and reported, the others are done. The next to ask for it
// tries again.
func TestPoisonedTasksAreParked(t *testing.T) {
	for name, url := range map[string]string{"own server": "", "server": queuetest.Serve(t)} {
		t.Run(name, func(t *testing.T) {
			var calls atomic.Int32
			q := open(t, Config{URL: url, Workers: 2}, counting(&calls, 3, 4))
			for seed, err := range doAll(t, q, 6, 1) {
				var parked *Parked
				if bad := seed == 3 || seed == 4; bad != errors.As(err, &parked) || !bad &&
					err != nil {
					t.Errorf("seed %d: %v", seed, err)
				}
				if seed == 4 && !strings.Contains(err.Error(), "3 tries: panic: an even seed") {
					t.Errorf("seed 4: %v", err)
				}
			}
			q.Close()
			if calls.Load() != 4+2*tries || q.conn != nil && !q.conn.IsClosed() {
				t.Errorf("%d calls, want %d; the connection: %+v", calls.Load(), 4+2*tries, q.conn)
			}
			if url == "" {
				return
			}
			healed := open(t, Config{URL: url, Workers: 2}, counting(&calls))
			defer healed.Close()
			for seed, err := range doAll(t, healed, 6, 1) {
				if err != nil {
					t.Errorf("seed %d, tried again: %v", seed, err)
				}
			}
		})
	}
}

// The task of a worker that falls silent is done by another; a worker that reports that it is alive
// keeps its own, however long it takes.
func TestSilentWorkersLoseTheirTasks(t *testing.T) {
	url := queuetest.Serve(t)
	const redeliver = 1500 * time.Millisecond
	planner := open(t, Config{URL: url, Redeliver: redeliver}, nil)
	defer planner.Close()
	taken := make(chan struct{})
	go func() { // a worker that takes a task and is never heard of again
		consumer, err := planner.store.begin(context.Background(), redeliver)
		if err == nil {
			_, err = consumer.Next()
		}
		if err != nil {
			t.Error(err)
		}
		close(taken)
	}()
	var calls atomic.Int32
	done := make(chan error, 1)
	go func() {
		var got int
		done <- planner.Do(context.Background(), seeded(t, planner, 7), &got)
	}()
	<-taken
	slow := Handlers{"seed": func(context.Context, *scenarios.File, string) (any, error) {
		calls.Add(1)
		time.Sleep(2 * redeliver)
		return 70, nil
	}}
	for range 2 {
		q := open(t, Config{URL: url, Workers: 1, Redeliver: redeliver}, slow)
		defer q.Close()
	}
	if err := <-done; err != nil || calls.Load() != 1 {
		t.Errorf("the task was done %d times: %v", calls.Load(), err)
	}
}

// A queue that is closed while it works leaves its tasks to others, and that is no try.
func TestClosedQueuesGiveTasksBack(t *testing.T) {
	url := queuetest.Serve(t)
	for range tries + 1 {
		ctx, cancel := context.WithCancel(context.Background())
		begun := make(chan struct{})
		q := open(t, Config{URL: url, Workers: 1},
			Handlers{"seed": func(ctx context.Context, _ *scenarios.File, _ string) (any, error) {
				close(begun)
				<-ctx.Done()
				return nil, ctx.Err()
			}})
		go func() { <-begun; q.stop(); cancel() }()
		var got int
		if err := q.Do(ctx, seeded(t, q, 1), &got); !errors.Is(err, context.Canceled) {
			t.Errorf("interrupted: %v", err)
		}
		q.Close()
	}
	var calls atomic.Int32
	q := open(t, Config{URL: url, Workers: 1}, counting(&calls))
	defer q.Close()
	for seed, err := range doAll(t, q, 2, 1) {
		if err != nil {
			t.Errorf("seed %d: %v", seed, err)
		}
	}
	if calls.Load() != 2 {
		t.Errorf("%d calls, want 2", calls.Load())
	}
}

// What the scenario names travels with it: the worker reads the file as it was, wherever the paths
// lead on its machine.
func TestFilesTravel(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "prompts.csv")
	testkit.OK(t, os.WriteFile(path, []byte("tokens\n100\n200\n"), 0o666))
	url := queuetest.Serve(t)
	planner := open(t, Config{URL: url}, nil)
	defer planner.Close()
	task := &Task{Kind: "read", Name: filepath.Join(dir, "a.yaml"), Text: scenario +
		"workload: {prompt: {distribution: empirical, file: prompts.csv}}\n"}
	f, err := scenarios.Parse(task.Name, []byte(task.Text))
	testkit.OK(t, err)
	if task.Key, err = planner.Key(f, task.Kind, ""); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	var got string
	go func() { done <- planner.Do(context.Background(), task, &got) }()
	// until the task is queued
	for info, err := planner.store.js.Stream(context.Background(), streamName); ; {
		testkit.OK(t, err)
		if now, err := info.Info(context.Background()); err != nil || now.State.Msgs > 0 {
			break
		}
	}
	testkit.OK(t, os.Rename(path, path+".away"))
	q := open(t, Config{URL: url, Workers: 1},
		Handlers{"read": func(_ context.Context, f *scenarios.File, _ string) (any, error) {
			data, err := fs.ReadFile(f.FS, path)
			return string(data), err
		}})
	defer q.Close()
	if err := <-done; err != nil || got != "tokens\n100\n200\n" {
		t.Errorf("the worker read %q: %v", got, err)
	}
}

// Planners and workers of two versions share a server: each planner gets what the workers of its
// version compute, also where the other version has a result of the same key, and nothing is lost
// while workers of one version are away.
func TestVersionsDoNotMix(t *testing.T) {
	url := queuetest.Serve(t)
	answers := func(n int) Handlers {
		return Handlers{"seed": func(context.Context, *scenarios.File, string) (any, error) {
			return n, nil
		}}
	}
	open1 := open(t, Config{URL: url, version: "v1"}, nil)
	defer open1.Close()
	open2 := open(t, Config{URL: url, version: "v2"}, nil)
	defer open2.Close()
	const n = 10
	var group sync.WaitGroup
	for seed := range n {
		for want, q := range map[int]*Queue{1: open1, 2: open2} {
			task := seeded(t, q, seed)
			group.Go(func() {
				var got int
				if err := q.Do(context.Background(), task, &got); err != nil || got != want {
					t.Errorf("seed %d of version %d: %d, %v", seed, want, got, err)
				}
			})
		}
	}
	second := open(t, Config{URL: url, version: "v2", Workers: 1}, answers(2))
	defer second.Close()
	// until those of version 2 are done
	for stream, err := peer(t, url).Stream(context.Background(), streamName); ; {
		testkit.OK(t, err)
		if info, err := stream.Info(context.Background()); err != nil || info.State.Msgs <= n {
			break
		}
	}
	first := open(t, Config{URL: url, version: "v1", Workers: 1}, answers(1))
	defer first.Close()
	group.Wait()
}

// Workers leave the tasks of another version alone, and say so.
func TestVersions(t *testing.T) {
	url := queuetest.Serve(t)
	planner := open(t, Config{URL: url}, nil)
	defer planner.Close()
	planner.store.version = "v9_9_9"
	if _, err := planner.store.begin(context.Background(), time.Second); err != nil {
		t.Fatal(err)
	}
	testkit.OK(t, planner.store.publish(context.Background(), seeded(t, planner, 1)))
	ctx, cancel := context.WithCancel(context.Background())
	var calls atomic.Int32
	refused := make(chan string, 10)
	ended := make(chan error, 1)
	go func() {
		ended <- Work(ctx, Config{URL: url, Workers: 1, Log: func(text string) {
			if strings.HasPrefix(text, "refusing") {
				refused <- text
			}
		}}, counting(&calls))
	}()
	if text := <-refused; !strings.Contains(text, "1 tasks of llmsim v9_9_9") {
		t.Error(text)
	}
	cancel()
	if err := <-ended; err != nil || calls.Load() != 0 {
		t.Errorf("%v; %d tasks of another version done", err, calls.Load())
	}
}
