package validation

import (
	"fmt"
	"math/rand/v2"
	"testing"

	servers "github.com/llmsim/llmsim/scenarios/deployment"
	"github.com/llmsim/llmsim/scenarios/evidence"
)

// Ranges that are calibrated on some rows hold four in five of others, of servers with biases and
// errors of their own: of further rows of the same servers, and of servers under an engine of which
// others were measured.
func TestRangesHoldWhatTheyHaveNotSeen(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	const count, seen, next = 60, 14, 40
	var c calibration
	type world struct {
		key         servers.Key
		bias, error float64
	}
	draw := func(i int) world {
		engine := []string{"careful", "rough"}[i%2]
		scale := 1 + 4*float64(i%2)
		return world{servers.Key{Engine: engine, Accelerator: fmt.Sprint(i), Model: "m"},
			0.05 * scale * random.NormFloat64(), 0.04 * scale}
	}
	row := func(w *world) served {
		return served{&Comparison{Key: w.key}, "TPOT", "TPOT",
			w.bias + w.error*random.NormFloat64()}
	}
	var worlds []world
	for i := range count {
		w := draw(i)
		worlds = append(worlds, w)
		for range seen {
			c.rows = append(c.rows, row(&w))
		}
	}
	own, pooled, rows := 0.0, map[string]float64{}, 0.0
	for i := range count {
		known, fresh := &worlds[i], draw(i)
		first := row(known)
		var deviations []float64
		for _, s := range c.rows {
			if s.Key == known.key {
				deviations = append(deviations, s.deviation)
			}
		}
		mine := given(c.before(&first), deviations)
		pool := c.pool(known.key.Engine, "", "TPOT", nil).Off
		for range next {
			rows++
			if s := row(known); mine.Holds(s.deviation, evidence.Width80) {
				own++
			}
			if s := row(&fresh); pool.Holds(s.deviation, evidence.Width80) {
				pooled[known.key.Engine]++
			}
		}
	}
	if share := own / rows; !calibrated(share) {
		t.Errorf("ranges of servers hold %.1f %% of further rows, want 75 to 85", 100*share)
	}
	for engine, n := range pooled {
		if share := 2 * n / rows; share < 0.7 || share > 0.9 {
			t.Errorf("ranges of %s engines hold %.1f %% of other servers' rows, want 70 to 90",
				engine, 100*share)
		}
	}
}
