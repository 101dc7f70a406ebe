package planner

import "github.com/llmsim/llmsim/scenarios"

// ClockPool hands out sets of step clocks, one to each goroutine that runs simulations.
type ClockPool struct{ free chan *scenarios.Clocks }

// NewClockPool returns a pool for so many goroutines.
func NewClockPool(goroutines int) *ClockPool {
	p := &ClockPool{free: make(chan *scenarios.Clocks, goroutines)}
	for range goroutines {
		p.free <- scenarios.NewClocks()
	}
	return p
}

// Take returns a set that no other goroutine has until Return.
func (p *ClockPool) Take() *scenarios.Clocks { return <-p.free }

// Return gives a set back.
func (p *ClockPool) Return(c *scenarios.Clocks) { p.free <- c }
