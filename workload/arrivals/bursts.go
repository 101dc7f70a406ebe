package arrivals

import (
	"fmt"
	"math/rand/v2"

	"github.com/llmsim/llmsim/internal/units"
	"github.com/llmsim/llmsim/sim"
)

// Bursts is a rate that alternates between a high and a low value, high first.
type Bursts struct {
	// High and Low are the rates in arrivals/s during bursts and between them, at least 0.
	High, Low float64
	// For and Pause are how long a burst and the time between bursts last.
	For, Pause sim.Time
	// Random makes both lengths exponential with these means instead of fixed. With exponential
	// gaps that is the two-state Markov-modulated Poisson process (interrupted Poisson if Low is 0;
	// Fischer and Meier-Hellstern, "The Markov-modulated Poisson process (MMPP) cookbook",
	// Performance Evaluation 18, 1993).
	Random bool
}

// Pacer implements Rate.
func (b Bursts) Pacer(src rand.Source) (Pacer, error) {
	phases := b.phases()
	if err := phases.check(); err != nil {
		return nil, fmt.Errorf("bursts (phase 1: burst, phase 2: between): %w", err)
	}
	if !b.Random {
		return phases.Pacer(src)
	}
	draw := rand.New(src)
	turn := 0
	w := &piecewise{next: func() (Phase, bool) {
		phase := phases.List[turn]
		turn = 1 - turn
		// The length is at least one tick, since 0 would mean a phase without end.
		phase.For = max(sim.Seconds(draw.ExpFloat64()*phase.For.Seconds()), sim.Tick)
		return phase, true
	}}
	w.enter()
	return w, nil
}

func (b Bursts) phases() Phases {
	return Phases{List: []Phase{{b.High, b.High, b.For}, {b.Low, b.Low, b.Pause}}, Repeat: true}
}

// Mean implements Rate.
func (b Bursts) Mean() float64 { return b.phases().Mean() }

// Ends implements Rate.
func (Bursts) Ends() bool { return false }

func (b Bursts) String() string {
	kind := ""
	if b.Random {
		kind = " on average"
	}
	return fmt.Sprintf("bursts of %s for %v%s, %s for %v%s between",
		units.FormatRequestRate(b.High), b.For, kind, units.FormatRequestRate(b.Low), b.Pause, kind)
}
