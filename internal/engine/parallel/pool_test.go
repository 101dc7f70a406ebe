package parallel

import (
	"runtime"
	"sync/atomic"
	"testing"
	"time"
)

// count counts the calls of each iteration and checks that no worker is in two calls at once.
type count struct {
	calls []atomic.Int32
	busy  []atomic.Bool
	clash atomic.Bool
}

func (c *count) Do(worker, i int) {
	if !c.busy[worker].CompareAndSwap(false, true) {
		c.clash.Store(true)
	}
	c.calls[i].Add(1)
	c.busy[worker].Store(false)
}

// TestEachIterationOnce also covers workers that are parked, more workers than processors, and loops shorter than the team.
func TestEachIterationOnce(t *testing.T) {
	for _, threads := range []int{1, 2, 3, runtime.GOMAXPROCS(0) + 2} {
		p := New(threads)
		for loop := range 200 {
			n := loop % 17
			c := &count{calls: make([]atomic.Int32, n), busy: make([]atomic.Bool, threads)}
			p.Run(n, c)
			for i := range c.calls {
				if got := c.calls[i].Load(); got != 1 {
					t.Fatalf("%d threads: iteration %d of %d ran %d times", threads, i, n, got)
				}
			}
			if c.clash.Load() {
				t.Fatalf("%d threads: a worker was in two calls at once", threads)
			}
			if loop == 100 {
				time.Sleep(20 * time.Millisecond) // let the helpers park
			}
		}
		p.Close()
	}
}

type nothing struct{}

func (nothing) Do(int, int) {}

func TestRunDoesNotAllocate(t *testing.T) {
	p := New(2)
	defer p.Close()
	if n := testing.AllocsPerRun(100, func() { p.Run(8, nothing{}) }); n != 0 {
		t.Errorf("Run allocates %v times", n)
	}
}

func BenchmarkBarrier(b *testing.B) {
	p := New(2)
	defer p.Close()
	for b.Loop() {
		p.Run(2, nothing{})
	}
}
