package sweep

import (
	"context"
	"fmt"
	"testing"

	"github.com/llmsim/llmsim/internal/planner"
	"github.com/llmsim/llmsim/internal/planner/queue"
)

// BenchmarkSweep runs 1,000 configurations of 2,000 requests each. The target is 5 CPU-seconds;
// with two workers on two cores it should take at most 1/1.8 of the time of one.
func BenchmarkSweep(b *testing.B) {
	s := Sweep{Name: "speed", Set: []string{"workload.requests=2000"}, Axes: []planner.Axis{
		{Key: "hardware", Values: []string{"h100-sxm", "a100-80gb-sxm", "h200-sxm", "l40s"}},
		{Key: "batching.token-budget", Values: []string{"1024", "2048", "4096", "8192", "16384"}},
		{Key: "batching.max-sequences", Values: []string{"64", "128", "256", "512", "1024"}},
		{Key: "workload.rate", Values: []string{"2/s", "4/s", "6/s", "8/s", "10/s", "12/s", "14/s",
			"16/s", "18/s", "20/s"}},
	}}
	for _, workers := range []int{1, 2} {
		b.Run(fmt.Sprint("workers=", workers), func(b *testing.B) {
			for b.Loop() {
				r, err := s.Run(context.Background(),
					Options{Queue: queue.Config{Workers: workers}})
				if err != nil || len(r.Rows) != 1000 {
					b.Fatal(err)
				}
			}
		})
	}
}
