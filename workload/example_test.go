package workload_test

import (
	"fmt"
	"log"

	"github.com/llmsim/llmsim/sim"
	"github.com/llmsim/llmsim/workload"
	"github.com/llmsim/llmsim/workload/arrivals"
	"github.com/llmsim/llmsim/workload/lengths"
)

// Requests are drawn one by one, so that memory does not grow with their number.
func Example() {
	prompt, _ := lengths.Uniform(100, 200)
	output, _ := lengths.Fixed(50)
	source, err := workload.Open(workload.Config{
		Classes:  []workload.Class{{Weight: 1, Prompt: prompt, Output: output}},
		Arrivals: &arrivals.Process{Rate: arrivals.Steady(2), Gaps: arrivals.Constant{}},
		Requests: 3,
	})
	if err != nil {
		log.Fatal(err)
	}
	defer source.Close()
	for source.NextArrival() < sim.Never {
		var r sim.Request
		source.Next(&r)
		fmt.Printf("%v: %d tokens in, %d out\n", r.Arrival, r.Prompt, r.Output)
	}
	// Output:
	// 0s: 152 tokens in, 50 out
	// 500ms: 123 tokens in, 50 out
	// 1s: 176 tokens in, 50 out
}
