package validation

import (
	"github.com/llmsim/llmsim/hardware"
	"github.com/llmsim/llmsim/internal/validation/accuracy"
)

// Draw is what an accelerator of a measured server drew.
type Draw struct {
	accuracy.Group
	Accelerator *hardware.Accelerator
	// Usage is what steps ask of the accelerator if they take as long as they were measured to.
	Usage hardware.Usage
	Watts float64
}

// Draws returns what was measured of the power of accelerators, with the work of steps as p
// predicts it.
func (d *Data) Draws(p accuracy.Physics) []Draw {
	var list []Draw
	for i := range d.tables {
		for _, e := range d.tables[i].experiments {
			if e.full != nil {
				if draw, ok := e.draw(&p); ok {
					list = append(list, draw)
				}
			}
		}
	}
	return list
}

// draw reports false where the row lacks rate or power, or its steps cannot be predicted.
func (t *trial) draw(p *accuracy.Physics) (Draw, bool) {
	mean, usage, err := t.full(p)
	found := map[string]float64{}
	for _, m := range t.measured {
		found[m.Quantity] = m.Value
	}
	rate, power := found["output rate"], found["power"]
	if err != nil || rate <= 0 || power <= 0 {
		return Draw{}, false
	}
	time := mean * rate / float64(t.count) // predicted over measured
	return Draw{t.place.Group, &t.accelerator, usage.Mixed(time, hardware.Usage{}),
		power / float64(t.Parallelism.Accelerators())}, true
}
