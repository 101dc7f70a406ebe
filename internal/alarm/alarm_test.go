package alarm

import (
	"sync"
	"testing"
	"time"

	"github.com/llmsim/llmsim/internal/testkit"
)

// TestWakeIsNeverLost has several goroutines wake one that waits without a time: every item that
// was handed over before a Wake is seen.
func TestWakeIsNeverLost(t *testing.T) {
	a, err := New()
	testkit.OK(t, err)
	defer a.Close()
	const senders, each = 4, 5000
	var mu sync.Mutex
	handed := 0
	for range senders {
		go func() {
			for range each {
				mu.Lock()
				handed++
				mu.Unlock()
				a.Wake()
			}
		}()
	}
	for seen := 0; seen < senders*each; {
		a.Wait(time.Time{})
		mu.Lock()
		seen = handed
		mu.Unlock()
	}
}

// TestWaitEndsAtItsTime does not end before; how much later is a matter for benchmarks.
func TestWaitEndsAtItsTime(t *testing.T) {
	a, err := New()
	testkit.OK(t, err)
	defer a.Close()
	for range 20 {
		until := time.Now().Add(time.Millisecond)
		for time.Now().Before(until) {
			a.Wait(until)
		}
	}
	a.Wait(time.Now().Add(-time.Hour)) // returns at once
}

// BenchmarkLateness reports how late a wait of 2.3 ms ends.
func BenchmarkLateness(b *testing.B) {
	a, err := New()
	testkit.OK(b, err)
	defer a.Close()
	var late time.Duration
	for b.Loop() {
		until := time.Now().Add(2300 * time.Microsecond)
		a.Wait(until)
		late += time.Since(until)
	}
	b.ReportMetric(float64(late.Microseconds())/float64(b.N), "µs-late/op")
}
