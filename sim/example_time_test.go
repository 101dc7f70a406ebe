package sim_test

import (
	"fmt"

	"github.com/llmsim/llmsim/sim"
)

func ExampleSeconds() {
	fmt.Println(sim.Seconds(0.0125).Milliseconds())
	// Output: 12.5
}

func ExampleAffine_At() {
	step := sim.Affine{Base: sim.Seconds(0.01), PerToken: sim.Seconds(1e-6), Through: 4096}
	fmt.Println(step.At(1000).Milliseconds())
	// Output: 11
}
