package metrics_test

import (
	"fmt"
	"log"

	"github.com/llmsim/llmsim/metrics"
	"github.com/llmsim/llmsim/sim"
)

// A distribution sums up any number of spans within an accuracy: the mean is exact.
func ExampleDistribution() {
	d, err := metrics.NewDistribution(0.001)
	if err != nil {
		log.Fatal(err)
	}
	for ms := range 1000 {
		d.Add(sim.Time(ms+1) * sim.Millisecond)
	}
	const ms = float64(sim.Millisecond)
	fmt.Printf("mean %.1f ms, median %.0f ms, p99 %.0f ms\n", d.Mean()/ms, d.Quantile(0.5)/ms,
		d.Quantile(0.99)/ms)
	// Output: mean 500.5 ms, median 500 ms, p99 990 ms
}
