package scaling_test

import (
	"fmt"
	"log"

	"github.com/llmsim/llmsim/policies/scaling"
	"github.com/llmsim/llmsim/sim"
)

// A replica of a 70B model in 16 bits starts after its machine is up and its weights have come over
// the slowest part of their way.
func ExampleColdStart() {
	start := scaling.ColdStart{Boot: 40 * sim.Second, Weights: 140e9, Disk: 5e9, PCIe: 100e9}
	t, err := start.Time()
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(t)
	// Output: 1m8s
}
