package speculation_test

import (
	"fmt"

	"github.com/llmsim/llmsim/policies/speculation"
)

// A drafter whose tokens are accepted with probability 0.8 and which takes a twentieth of the
// model's time pays most with drafts of eight tokens (Leviathan et al., theorem 3.8).
func ExampleOptimalLength() {
	const alpha, cost = 0.8, 0.05
	gamma := speculation.OptimalLength(alpha, cost, 16)
	fmt.Printf("%d tokens: %.2f tokens a step, %.2f times as fast\n", gamma,
		speculation.ExpectedTokens(alpha, gamma), speculation.Speedup(alpha, gamma, cost))
	// Output: 8 tokens: 4.33 tokens a step, 3.09 times as fast
}
