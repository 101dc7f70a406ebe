package workload

import (
	"errors"
	"fmt"
	"math/rand/v2"

	"github.com/llmsim/llmsim/sim"
	"github.com/llmsim/llmsim/workload/arrivals"
	"github.com/llmsim/llmsim/workload/lengths"
)

// Call is a request of a session that is described call by call.
type Call struct {
	// After lists the earlier calls that must have ended, by their numbers from 0. From is the one
	// of the earlier calls whose text goes on, or −1 for a text that begins with the prefix.
	After []int
	From  int
	// Prompt is the number of tokens that are new in the prompt, and Output the number of tokens of
	// the answer.
	Prompt, Output *lengths.Distribution
	// Wait is the time between the end of the calls before and this one.
	Wait arrivals.Delay
}

// checkCalls refuses calls that wait for later ones, or continue what they do not wait for.
func (c *Class) checkCalls() error {
	if c.Turns != nil || c.Distinct > 0 || c.Samples > 1 {
		return errors.New("found calls beside turns, samples or distinct prompts, allowed: one " +
			"of them")
	}
	if len(c.Calls) >= maxTurns {
		return fmt.Errorf("found %d calls, allowed: at most %d", len(c.Calls), maxTurns-1)
	}
	before := make([]map[int]bool, len(c.Calls)) // that a call waits for, also through others
	for i, call := range c.Calls {
		before[i] = map[int]bool{-1: true}
		for _, a := range call.After {
			if a < 0 || a >= i {
				return fmt.Errorf("call %d: after: found %d, allowed: earlier calls", i, a)
			}
			before[i][a] = true
			for b := range before[a] {
				before[i][b] = true
			}
		}
		switch {
		case !before[i][call.From]:
			return fmt.Errorf("call %d: from: found %d, allowed: calls that it waits for, or −1", i,
				call.From)
		case call.Prompt == nil || call.Output == nil:
			return fmt.Errorf("call %d: found no lengths", i)
		}
	}
	return nil
}

// waits returns the times between the calls of a class.
func (c *Class) waits(seed uint64, class int) (list []func() sim.Time, err error) {
	for i := range c.Calls {
		source := rand.NewPCG(toolStream.key(seed)+uint64(class), uint64(i))
		wait, err := c.Calls[i].Wait.Sampler(source)
		if err != nil {
			return nil, err
		}
		list = append(list, wait)
	}
	return list, nil
}

// follow lists the calls of a session that is described call by call. A call that would be too long
// is left out, and so are the calls that wait for it.
func (m *mix) follow(c *drawnClass, prefix int) {
	g := &m.graph
	g.reset(prefix, c.MaxContext, KeepAll)
	numbers := make([]int32, len(c.Calls))
	for i := range c.Calls {
		described := &c.Calls[i]
		next := call{from: -1, text: int32(i), message: described.Prompt.Draw(&m.prompts),
			output: described.Output.Draw(&m.outputs), wait: c.between[i]()}
		fits := true
		var after []int32
		for _, a := range described.After {
			fits = fits && numbers[a] >= 0
			after = append(after, numbers[a])
		}
		if len(after) == 0 {
			next.wait = 0
		}
		if described.From >= 0 {
			next.from = numbers[described.From]
		}
		numbers[i] = -1
		if !fits {
			continue
		}
		if number, fits := g.add(next, after); fits {
			numbers[i] = number
		}
	}
}
