package hardware

import (
	"bytes"
	"cmp"
	"embed"
	"fmt"
	"math"
	"path"
	"slices"
	"sync"

	"gopkg.in/yaml.v3"
)

//go:embed fitted
var fittedFiles embed.FS

// AllConstants returns the constants of all accelerators that were measured, by name.
func AllConstants() []Constants { return slices.Clone(fittedConstants()) }

// AllCollectives returns the constants of all links that were measured, by name.
func AllCollectives() []Collective { return slices.Clone(fittedCollectives()) }

var fittedConstants = sync.OnceValue(func() []Constants {
	list := readFitted[Constants]("fitted/accelerators")
	slices.SortFunc(list, func(a, b Constants) int { return cmp.Compare(a.Accelerator, b.Accelerator) })
	return list
})

var fittedCollectives = sync.OnceValue(func() []Collective {
	list := readFitted[Collective]("fitted/links")
	slices.SortFunc(list, func(a, b Collective) int { return cmp.Compare(a.Link, b.Link) })
	return list
})

// readFitted reads the YAML files of an embedded folder, one value each. They are part of the program, so that a mistake in them
// is a bug.
func readFitted[T any](dir string) []T {
	entries, err := fittedFiles.ReadDir(dir)
	if err != nil {
		panic(err)
	}
	var list []T
	for _, e := range entries {
		data, err := fittedFiles.ReadFile(path.Join(dir, e.Name()))
		if err != nil {
			panic(err)
		}
		decoder := yaml.NewDecoder(bytes.NewReader(data))
		decoder.KnownFields(true)
		var v T
		if err := decoder.Decode(&v); err != nil {
			panic(fmt.Sprintf("hardware: %s/%s: %v", dir, e.Name(), err))
		}
		list = append(list, v)
	}
	return list
}

// The error to expect, of a decode step, from constants of a relative. Measured by predicting each accelerator from the constants
// of the others: see docs/physics.md.
const (
	sameGenerationError  = "10 %"
	otherGenerationError = "25 %"
)

// FittedConstants returns the constants of an accelerator and of the links that join it, and warnings where those of a relative
// stand in because it was not measured. Links may be nil.
func FittedConstants(a *Accelerator, scaleUp, network *Link) (Constants, []string) {
	var warnings []string
	c, far := nearestConstants(a)
	if far > 0 {
		band := sameGenerationError
		if far > 1 {
			band = otherGenerationError
		}
		warnings = append(warnings, fmt.Sprintf("%s was not measured: efficiencies are those of %s; expect step times to be off by %s or more", a.Name, c.Accelerator, band))
	}
	use := func(l *Link, into *Collective, across bool) {
		if l == nil {
			return
		}
		*into = nearestCollective(l, across)
		if into.Link != l.Name {
			warnings = append(warnings, fmt.Sprintf("the link %s was not measured: its latency and efficiency are those of %s", l.Name, into.Link))
		}
	}
	use(scaleUp, &c.ScaleUp, false)
	use(network, &c.Network, true)
	return c, warnings
}

// dataSheets is the built-in catalogue, in which the relatives of a device are looked for.
var dataSheets = sync.OnceValue(func() Catalog {
	c, err := Load()
	if err != nil {
		panic(err)
	}
	return c
})

// nearestConstants returns the constants measured on a, or those of its nearest relative, and how far that is: 0 for itself, 1
// for the same generation, 2 for another. Of equally near relatives the one with the most similar bandwidth is taken.
func nearestConstants(a *Accelerator) (Constants, int) {
	best, distance, gap := Constants{}, 3, 0.0
	for _, c := range fittedConstants() {
		measured, err := dataSheets().Accelerator(c.Accelerator)
		if err != nil {
			panic(err)
		}
		d := 2
		switch {
		case measured.Name == a.Name:
			d = 0
		case measured.Generation == a.Generation:
			d = 1
		}
		if g := ratio(measured.Bandwidth, a.Bandwidth); d < distance || d == distance && g < gap {
			best, distance, gap = c, d, g
		}
	}
	return best, distance
}

// nearestCollective returns the constants of the link of that name, or of the link of the same scope with the most similar
// bandwidth.
func nearestCollective(l *Link, across bool) Collective {
	var best Collective
	gap := math.Inf(1)
	for _, c := range fittedCollectives() {
		measured, err := dataSheets().Link(c.Link)
		if err != nil {
			panic(err)
		}
		g := ratio(measured.Bandwidth, l.Bandwidth)
		if measured.Name == l.Name {
			g = 0
		}
		if c.Across == across && g < gap {
			best, gap = c, g
		}
	}
	return best
}

// ratio returns how many times the smaller the larger of two rates is.
func ratio(a, b float64) float64 { return max(a, b) / min(a, b) }
