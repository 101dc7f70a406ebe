package accuracy

import (
	"github.com/llmsim/llmsim/hardware"
	"github.com/llmsim/llmsim/models/steptime"
)

// Physics is what predictions rest on. The zero value is what the program ships; a fit tries
// others.
type Physics struct {
	// Engine returns the preset of that name.
	Engine func(name string) (steptime.Engine, error)
	// Constants returns the fitted constants of an accelerator and its links; nil means the
	// constants that ship with the program.
	Constants func(a *hardware.Accelerator, scaleUp, network *hardware.Link) *hardware.Constants
	// Hosts are the hosts of machines; nil means the ones that ship with the program.
	Hosts map[string]float64
	// Power returns what is known of the power that an accelerator draws.
	Power func(a *hardware.Accelerator) *hardware.PowerLaw
}

// Preset returns the engine preset of that name; an error names the nearest one.
func (p *Physics) Preset(name string) (steptime.Engine, error) {
	if p.Engine != nil {
		return p.Engine(name)
	}
	return steptime.FindEngine(name)
}

// ConstantsOf returns the constants of an accelerator and its links; nil means those that ship with
// the program.
func (p *Physics) ConstantsOf(a *hardware.Accelerator, scaleUp,
	network *hardware.Link) *hardware.Constants {
	if p.Constants != nil {
		return p.Constants(a, scaleUp, network)
	}
	return nil
}

// Host returns the time of a machine's host; 0 where it is not known.
func (p *Physics) Host(machine string) float64 {
	if p.Hosts != nil {
		return p.Hosts[machine]
	}
	return machines()[machine]
}

// PowerLaw returns what is known of the power that an accelerator draws.
func (p *Physics) PowerLaw(a *hardware.Accelerator) *hardware.PowerLaw {
	if p.Power != nil {
		return p.Power(a)
	}
	return a.PowerLaw()
}
