package scenarios

import (
	"fmt"

	"github.com/llmsim/llmsim/models/steptime"
	"github.com/llmsim/llmsim/workload/lengths"
)

// Clocks keeps step clocks, with the step times that they have computed, for many scenarios that
// serve the same model on the same accelerators. It also keeps the tables of their distributions of
// lengths. It makes building and short runs cheaper, and changes no result. A Clocks and the
// simulations that share it may be used by one goroutine at a time only.
type Clocks struct {
	known   map[string]*steptime.Clock
	lengths map[Length]*lengths.Distribution
	entries int // of these tables
}

// mostClocks bounds the memory of Clocks: a clock takes some hundred kilobytes.
const mostClocks = 64

// mostEntries bounds the tables of distributions, to 16 MB or so.
const mostEntries = 1 << 20

// NewClocks returns an empty set.
func NewClocks() *Clocks {
	return &Clocks{known: map[string]*steptime.Clock{}, lengths: map[Length]*lengths.Distribution{}}
}

// distribution returns the distribution that l describes, and makes it if necessary. A distribution
// from a file is read each time, since the file may change.
func (c *Clocks) distribution(l Length, make func() (*lengths.Distribution, error)) (
	*lengths.Distribution, error) {
	if c == nil || l.File != "" {
		return make()
	}
	if known := c.lengths[l]; known != nil {
		return known, nil
	}
	made, err := make()
	if err != nil {
		return nil, err
	}
	size := l.Max - l.Min + 1
	if c.entries += size; c.entries > mostEntries {
		clear(c.lengths)
		c.entries = size
	}
	c.lengths[l] = made
	return made, nil
}

// clock returns the clock of a scenario whose defaults are filled in, and makes it if necessary. A
// scenario whose model or hardware comes from a file gets a clock of its own, since the file may
// change.
func (c *Clocks) clock(s *Scenario, ownModel bool, make func() (*steptime.Clock, error)) (
	*steptime.Clock, error) {
	if c == nil || s.Hardware.File != "" || s.Hardware.Operators != "" || ownModel {
		return make()
	}
	engine := s.Engine
	engine.MaxModelLen = 0 // changes no step
	key := fmt.Sprint(s.Shape, s.Attention, s.Workload.Images, s.Workload.Audio,
		s.Workload.Tokens,
		s.Fleet.Encoders > 0, " ", s.Model, " ",
		s.Hardware.Accelerator, " ", s.Hardware.Link, " ", s.Hardware.Network, " ",
		s.Hardware.PerNode, " ", s.Hardware.Host, s.Parallelism, engine)
	if s.Steps != nil {
		key += fmt.Sprint(" ", *s.Steps)
	}
	if s.Adapters != nil {
		key += fmt.Sprint(" ", *s.Adapters)
	}
	if s.drafts() {
		key += " " + s.Speculation.Scheduling
	}
	if clock := c.known[key]; clock != nil {
		return clock, nil
	}
	clock, err := make()
	if err != nil {
		return nil, err
	}
	if len(c.known) == mostClocks {
		clear(c.known)
	}
	c.known[key] = clock
	return clock, nil
}
