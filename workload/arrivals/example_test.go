package arrivals_test

import (
	"fmt"
	"log"
	"math/rand/v2"

	"github.com/llmsim/llmsim/sim"
	"github.com/llmsim/llmsim/workload/arrivals"
)

// Arrivals at even gaps, whose rate rises from one to three a second within four seconds.
func ExampleProcess_Times() {
	process := arrivals.Process{
		Rate: arrivals.Phases{List: []arrivals.Phase{{From: 1, To: 3, For: 4 * sim.Second}}},
		Gaps: arrivals.Constant{},
	}
	times, err := process.Times(rand.NewPCG(1, 2), rand.NewPCG(3, 4))
	if err != nil {
		log.Fatal(err)
	}
	n := 0
	for t := times.Next(); t < sim.Never; t = times.Next() {
		if n++; n <= 3 {
			fmt.Printf("%.2f s\n", t.Seconds())
		}
	}
	fmt.Println(n, "arrivals")
	// Output:
	// 0.00 s
	// 0.83 s
	// 1.46 s
	// 8 arrivals
}
