package simtest_test

import (
	"fmt"

	"github.com/llmsim/llmsim/sim"
	"github.com/llmsim/llmsim/sim/simtest"
)

// lastTo sends each request to the last replica.
type lastTo struct{}

func (lastTo) Route(_ *sim.Request, pool *sim.Pool) int { return pool.At(pool.Len() - 1) }

// printing is a test that prints what it is told; a policy's author gives *testing.T in its place.
type printing struct{ failed bool }

func (p *printing) Helper() {}

func (p *printing) Errorf(format string, args ...any) { p.failed = true }

// Check runs random simulations with the policies that are given, and plain ones for the others:
// leaping must equal stepping, no request may be lost, and all memory must come back.
func ExampleCheck() {
	t := new(printing)
	simtest.Check(t, simtest.Policies{Router: func() sim.Router { return lastTo{} }})
	fmt.Println("kept:", !t.failed)
	// Output: kept: true
}
