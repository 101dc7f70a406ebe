package kernels

import (
	"fmt"
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

// TestEachIterationOnce also covers workers that are parked, more workers than processors, and
// loops shorter than the team.
func TestEachIterationOnce(t *testing.T) {
	for _, threads := range []int{1, 2, 3, runtime.GOMAXPROCS(0) + 2} {
		p := NewPool(threads)
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

// slow is a task whose iterations take long where a helper does them, as when the system gives its
// core to other programs.
type slow struct{ count }

func (s *slow) Do(worker, i int) {
	if worker > 0 {
		time.Sleep(time.Duration(i%3) * 300 * time.Microsecond)
	}
	s.count.Do(worker, i)
}

// The caller parks while it waits long, and goes on when the last helper has left, whichever that
// is.
func TestRunWaitsForSlowHelpers(t *testing.T) {
	for _, threads := range []int{2, 3, 5} {
		p := NewPool(threads)
		for range 100 {
			s := &slow{count{calls: make([]atomic.Int32, 9), busy: make([]atomic.Bool, threads)}}
			p.Run(len(s.calls), s)
			for i := range s.calls {
				if got := s.calls[i].Load(); got != 1 {
					t.Fatalf("%d threads: iteration %d ran %d times when Run returned", threads, i,
						got)
				}
			}
			if p.waiting.Load() || len(p.left) > 0 {
				t.Fatalf("%d threads: Run returned while it still waits", threads)
			}
		}
		p.Close()
	}
}

type nothing struct{}

func (nothing) Do(int, int) {}

func TestRunDoesNotAllocate(t *testing.T) {
	p := NewPool(2)
	defer p.Close()
	if n := testing.AllocsPerRun(100, func() { p.Run(8, nothing{}) }); n != 0 {
		t.Errorf("Run allocates %v times", n)
	}
}

func BenchmarkBarrier(b *testing.B) {
	p := NewPool(2)
	defer p.Close()
	for b.Loop() {
		p.Run(2, nothing{})
	}
}

// spin is a task whose iterations compute for some microseconds.
type spin struct {
	sums [2]struct {
		sum float64
		_   [120]byte
	}
}

func (s *spin) Do(worker, i int) {
	x := float64(i)
	for range 4000 {
		x = x*0.999 + 1
	}
	s.sums[worker].sum += x
}

// BenchmarkStep runs the loops of a decode step: some sixty, of some forty iterations each. Run it
// on a machine that is idle, and on one whose cores are busy with other programs: there two threads
// must not be slower than one.
func BenchmarkStep(b *testing.B) {
	for _, threads := range []int{1, 2} {
		b.Run(fmt.Sprintf("threads=%d", threads), func(b *testing.B) {
			p := NewPool(threads)
			defer p.Close()
			for b.Loop() {
				for range 60 {
					p.Run(40, &spin{})
				}
			}
		})
	}
}
