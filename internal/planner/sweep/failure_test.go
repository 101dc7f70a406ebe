package sweep

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/llmsim/llmsim/internal/planner"
	"github.com/llmsim/llmsim/internal/planner/queue"
	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/scenarios"
)

// Points whose runs fail are rows that say so, the others are as ever; started again, only these
// are run.
func TestFailedPointsAreReported(t *testing.T) {
	s, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: server.RANDOM_PORT,
		JetStream: true, StoreDir: t.TempDir(), NoSigs: true, NoLog: true})
	testkit.OK(t, err)
	s.Start()
	defer s.Shutdown()
	if !s.ReadyForConnections(20 * time.Second) {
		t.Fatal("the server does not start")
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { // a worker that cannot do what has the seed 3
		ended <- queue.Work(ctx, queue.Config{URL: s.ClientURL(), Workers: 2},
			queue.Handlers{Kind: func(ctx context.Context, f *scenarios.File, _ string) (any,
				error) {
				if f.Scenario.Seed == 3 {
					return nil, errors.New("it is broken")
				}
				return Simulate(ctx, f, "")
			}})
	}()
	j, err := planner.OpenJournal(filepath.Join(t.TempDir(), "journal.jsonl"))
	testkit.OK(t, err)
	defer j.Close()
	sweep := example()
	r, err := sweep.Run(ctx, Options{Queue: queue.Config{URL: s.ClientURL()}, Journal: j})
	testkit.OK(t, err)
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	for _, row := range r.Rows {
		broken := row.Point[2].Value == "3"
		if row.Failed != broken || broken &&
			!strings.Contains(row.Reason, "failed in 3 tries: it is broken") {
			t.Errorf("%v: failed %v, %q", row.Point, row.Failed, row.Reason)
		}
	}
	if r.Failed() != 15 || j.Len() != 45 {
		t.Errorf("%d points failed and %d are kept, want 15 and 45", r.Failed(), j.Len())
	}
	left := 0
	if results(t, Options{Journal: j, Started: func(n int) { left = n }}) != results(t,
		Options{}) || left != 15 {
		t.Errorf("%d runs when started again, want 15, and then the results of an "+
			"undisturbed sweep", left)
	}
}
