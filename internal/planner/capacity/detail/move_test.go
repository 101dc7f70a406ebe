package detail

import (
	"regexp"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

var number = regexp.MustCompile(`\d+`)

// The steps of a move lead from one number of replicas to the other, have all replicas of the
// answer started with its settings, and never leave fewer than the lesser fleet has.
func TestMovesKeepReplicasServing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := move{from: rapid.IntRange(1, 40).Draw(t, "from"), same: true,
			to: rapid.IntRange(1, 40).Draw(t, "to")}
		settings := rapid.Bool().Draw(t, "settings")
		if settings {
			m.changes = []string{"batching.token-budget set"}
		}
		serving, renewed := m.from, 0
		for _, step := range stepsTo(m) {
			n, err := strconv.Atoi(number.FindString(step))
			if err != nil {
				t.Fatalf("no number in %q", step)
			}
			switch {
			case strings.HasPrefix(step, "Start"):
				serving, renewed = serving+n, renewed+n
			case strings.HasPrefix(step, "Restart"):
				renewed += n
				if serving-1 < min(m.from, m.to) {
					t.Fatalf("%d serve while one restarts, of %+v", serving-1, m)
				}
			case strings.HasPrefix(step, "Stop"):
				serving -= n
			default:
				t.Fatalf("unknown step %q", step)
			}
		}
		if serving != m.to || settings && renewed != m.to {
			t.Fatalf("%d serve and %d have the settings after %+v", serving, renewed, m)
		}
	})
}

// Other accelerators start before today's stop, and a change of the routing restarts nothing.
func TestMovesToOtherServersAndRouting(t *testing.T) {
	steps := stepsTo(move{from: 3, to: 2, today: "old", answer: "new", beside: 8})
	if len(steps) != 3 || !strings.HasPrefix(steps[0], "Start 2 replicas of new") ||
		!strings.HasPrefix(steps[2], "Stop each replica of old") {
		t.Errorf("found %q", steps)
	}
	steps = stepsTo(move{from: 3, to: 3, same: true, routing: "routing random"})
	if len(steps) != 1 || !strings.HasPrefix(steps[0], "At the router") {
		t.Errorf("found %q", steps)
	}
}
