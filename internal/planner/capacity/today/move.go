package today

import (
	"fmt"
	"strings"

	"github.com/llmsim/llmsim/internal/units"
)

// move is a change from one fleet to another.
type move struct {
	from, to int // replicas
	// same reports whether replicas have the same accelerators before and after, so that each can
	// be restarted where it is.
	same          bool
	changes       []string // settings of replicas
	routing       string   // the change of the routing; empty for none
	today, answer string   // labels of the replicas
	beside        int      // the accelerators of the new fleet
}

// stepsTo lists the steps of a move in an order in which never fewer replicas serve than the lesser
// of both fleets has: what is new starts before what is old stops.
func stepsTo(m move) []string {
	steps := ofReplicas(m)
	if m.routing != "" {
		steps = append(steps, fmt.Sprintf("At the router, set %s.", m.routing))
	}
	return steps
}

// ofReplicas lists the steps that start, restart and stop replicas.
func ofReplicas(m move) []string {
	if !m.same {
		return []string{
			fmt.Sprintf("Start %s of %s beside today's. This takes %s more for as long as both "+
				"run.", units.Plural(m.to, "replica"), m.answer,
				units.Plural(m.beside, "accelerator")),
			"Send them a growing share of the requests, up to all.",
			fmt.Sprintf("Stop each replica of %s when its requests have ended.", m.today),
		}
	}
	if len(m.changes) == 0 {
		return counted(m)
	}
	first := max(1, m.to-m.from)
	steps := []string{fmt.Sprintf("Start %s with %s.", units.Plural(first, "replica"),
		strings.Join(m.changes, "; "))}
	if again := m.to - first; again > 0 {
		steps = append(steps, fmt.Sprintf("Restart %d of today's replicas with the new settings, "+
			"one at a time, each when its requests have ended: %d serve meanwhile.", again,
			m.from+first-1))
	}
	if stop := m.from + first - m.to; stop > 0 {
		steps = append(steps, stopping(stop))
	}
	return steps
}

// counted lists the steps where only the number of replicas changes.
func counted(m move) []string {
	switch {
	case m.to > m.from:
		return []string{fmt.Sprintf("Start %s more.", units.Plural(m.to-m.from, "replica"))}
	case m.to < m.from:
		return []string{stopping(m.from - m.to)}
	}
	return nil
}

func stopping(n int) string {
	if n == 1 {
		return "Stop 1 replica of today's when its requests have ended."
	}
	return fmt.Sprintf("Stop %s of today's, one at a time, each when its requests have ended, and "+
		"see before the next that the SLO is kept.", units.Plural(n, "replica"))
}
