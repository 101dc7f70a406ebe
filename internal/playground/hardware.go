package playground

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"strings"

	"github.com/llmsim/llmsim/hardware"
	"github.com/llmsim/llmsim/internal/units"
)

// figure is a figure of an accelerator that a setting of the page changes.
type figure struct {
	parse func(string) (float64, error)
	set   func(a *hardware.Accelerator, value float64)
}

// figures returns what can be changed by its setting. An accelerator keeps the shares of its rates
// that its kernels reach, and the ratios between number formats.
func figures() map[string]figure {
	return map[string]figure{
		"hardware.bandwidth": {units.ParseByteRate,
			func(a *hardware.Accelerator, value float64) { a.Bandwidth = value }},
		"hardware.memory": {units.ParseBytes,
			func(a *hardware.Accelerator, value float64) { a.Memory = value }},
		"hardware.peak": {units.ParseFLOPRate, func(a *hardware.Accelerator, value float64) {
			factor := value / a.Peak[hardware.BF16]
			if !(factor > 0) || math.IsInf(factor, 0) { // it has no such rate
				return
			}
			a.Peak = maps.Clone(a.Peak)
			for d := range a.Peak {
				a.Peak[d] *= factor
			}
		}},
	}
}

// tuned takes the settings that change an accelerator, which no scenario file has, out of the
// others: hardware.bandwidth=5TB/s, hardware.memory=100GB, and hardware.peak=1PFLOP/s in BF16. It
// returns the function that changes it; nil without such settings.
func tuned(settings []string) (others []string, tune func(*hardware.Accelerator), err error) {
	known := figures()
	var changes []func(*hardware.Accelerator)
	for _, setting := range settings {
		key, text, _ := strings.Cut(setting, "=")
		f, ok := known[key]
		if !ok {
			others = append(others, setting)
			continue
		}
		value, err := f.parse(text)
		if err == nil && !(value > 0) {
			err = fmt.Errorf("found %s, want more than 0", text)
		}
		if err != nil {
			return nil, nil, fmt.Errorf("%s: %w", key, err)
		}
		changes = append(changes, func(a *hardware.Accelerator) { f.set(a, value) })
	}
	if changes == nil {
		return others, nil, nil
	}
	return others, func(a *hardware.Accelerator) {
		for _, change := range changes {
			change(a)
		}
	}, nil
}

// errNoSuchHardware says why an accelerator that was changed by hand has no scenario file.
var errNoSuchHardware = errors.New("a scenario names an accelerator of the catalogue, and this " +
	"one was changed by hand: put its figures into a file of your own (hardware.file)")
