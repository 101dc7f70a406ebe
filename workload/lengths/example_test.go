package lengths_test

import (
	"fmt"
	"log"
	"math/rand/v2"

	"github.com/llmsim/llmsim/workload/lengths"
)

// Prompts of 600 tokens on average, some of them much longer, but none longer than 4,000.
func ExampleLogNormal() {
	d, err := lengths.LogNormal(600, 1, 4, 4000)
	if err != nil {
		log.Fatal(err)
	}
	random := rand.NewPCG(1, 2)
	fmt.Println(d.Draw(random), d.Draw(random), d.Draw(random))
	fmt.Printf("mean %.0f, from %d to %d\n", d.Mean(), d.Min(), d.Max())
	// Output:
	// 778 540 811
	// mean 583, from 4 to 4000
}
