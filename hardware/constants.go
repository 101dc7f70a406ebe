package hardware

import (
	"embed"
	"fmt"
	"maps"
	"math"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/llmsim/llmsim/internal/files"
	"github.com/llmsim/llmsim/internal/units"
)

//go:embed fitted
var fittedFiles embed.FS

// AllConstants returns the constants of all accelerators that were measured, by name.
func AllConstants() []Constants { return slices.Clone(fittedConstants()) }

// AllCollectives returns the constants of all links that were measured, by name.
func AllCollectives() []Collective { return slices.Clone(fittedCollectives()) }

// Stated returns what the file of a measured accelerator states itself: what it takes from the
// accelerator that it is like is 0.
func Stated(accelerator string) Constants {
	return statedConstants()[accelerator]
}

// StatedLink returns what the file of a measured link states itself, as Stated does.
func StatedLink(link string) Collective { return statedCollectives()[link] }

const (
	fittedAccelerators = "fitted/accelerators"
	fittedLinks        = "fitted/links"
)

var statedConstants = sync.OnceValue(func() map[string]Constants {
	return readFitted[Constants](fittedAccelerators)
})

var statedCollectives = sync.OnceValue(func() map[string]Collective {
	return readFitted[Collective](fittedLinks)
})

var fittedConstants = sync.OnceValue(func() []Constants {
	return whole(fittedAccelerators, statedConstants(), func(c Constants) string { return c.Like })
})

var fittedCollectives = sync.OnceValue(func() []Collective {
	return whole(fittedLinks, statedCollectives(), func(c Collective) string { return c.Like })
})

// whole returns the values of a folder's files in the order of their names, each read over the
// value that it is like.
func whole[T any](dir string, stated map[string]T, like func(T) string) []T {
	var readOver func(name string, v *T)
	readOver = func(name string, v *T) {
		if other := like(stated[name]); other != "" {
			readOver(other, v)
		}
		readInto(path.Join(dir, name+".yaml"), v)
	}
	var list []T
	for _, name := range slices.Sorted(maps.Keys(stated)) {
		var v T
		readOver(name, &v)
		list = append(list, v)
	}
	return list
}

// readFitted reads the files of an embedded folder, one value each, by name. A file has the name of
// its accelerator or link.
func readFitted[T any](dir string) map[string]T {
	entries, err := fittedFiles.ReadDir(dir)
	if err != nil {
		panic(err)
	}
	byName := map[string]T{}
	for _, e := range entries {
		byName[strings.TrimSuffix(e.Name(), ".yaml")] = readFile[T](path.Join(dir, e.Name()))
	}
	return byName
}

// readFile reads an embedded YAML file. The file is part of the program, so a mistake in it is a
// bug, and readFile panics.
func readFile[T any](name string) T {
	var v T
	readInto(name, &v)
	return v
}

// readInto reads an embedded YAML file into v, and leaves fields alone that the file does not
// state.
func readInto(name string, v any) {
	data, err := fittedFiles.ReadFile(name)
	if err == nil {
		err = files.DecodeYAML(data, v)
	}
	if err != nil {
		panic(fmt.Sprintf("hardware: %s: %v", name, err))
	}
}

// relatives says how well constants of one accelerator predict the step times of another, as
// relative errors, by how near they are.
type relatives struct {
	Source, Date    string
	SameGeneration  float64 `yaml:"same_generation"`
	OtherGeneration float64 `yaml:"other_generation"`
	OtherMaker      float64 `yaml:"other_maker"`
	// Makers has the generations of each maker.
	Makers map[string][]string
}

// maker returns who makes accelerators of a generation; "" for one that the catalogue lacks.
func (r *relatives) maker(generation string) string {
	for name, generations := range r.Makers {
		if slices.Contains(generations, generation) {
			return name
		}
	}
	return ""
}

var carries = sync.OnceValue(func() relatives {
	return readFile[relatives]("fitted/relatives.yaml")
})

// FittedConstants returns the constants of an accelerator and of the links that join it. If the
// accelerator or a link was not measured, a relative's constants hold, and a warning says so. Links
// may be nil.
func FittedConstants(a *Accelerator, scaleUp, network *Link) (Constants, []string) {
	var warnings []string
	c, own := a.own()
	far := 0
	if !own {
		c, far = NearestConstants(a, fittedConstants())
	}
	if far > 0 {
		warnings = append(warnings, borrowed(a, c.Accelerator, far))
	}
	use := func(l *Link, into *Collective, across bool) {
		if l == nil {
			return
		}
		*into = NearestCollective(l, across, fittedCollectives())
		if into.Link != l.Name && l.Name != "loopback" { // which nothing crosses
			warnings = append(warnings,
				fmt.Sprintf("the link %s was not measured: its latency and efficiency are "+
					"those of %s", l.Name, into.Link))
		}
	}
	use(scaleUp, &c.ScaleUp, false)
	use(network, &c.Network, true)
	return c, warnings
}

// HostSpread says how far the hosts of machines are from the typical host of their accelerator,
// Constants.Host: a machine that was not measured has any of them.
type HostSpread struct {
	Source, Date string
	// Machines is the number of machines whose hosts were measured, and Deviation the standard
	// deviation of the logarithm of a machine's host time over the typical one.
	Machines  int
	Deviation float64
}

// Hosts returns how far the hosts of machines spread.
func Hosts() HostSpread { return hosts() }

var hosts = sync.OnceValue(func() HostSpread { return readFile[HostSpread]("fitted/hosts.yaml") })

// borrowed says from where the efficiencies of an accelerator without its own are, and what
// is known of such loans.
func borrowed(a *Accelerator, from string, far int) string {
	known, alone, by := carries(), "", ""
	band := known.SameGeneration
	switch {
	case far == otherMaker:
		sheets := dataSheets().Accelerators
		alone = ", nor has another accelerator of its maker"
		by = ", made by " + known.maker(sheets[indexOf(from, sheets)].Generation)
		band = known.OtherMaker
	case far > 1:
		band = known.OtherGeneration
	}
	return fmt.Sprintf("%s has no constants of its own%s: efficiencies are those of %s%s; "+
		"measured accelerators that were predicted from one as near had a median error of step "+
		"times of at most %s each", a.Name, alone, from, by, units.FormatFraction(band))
}

// dataSheets is the built-in catalogue, in which the relatives of a device are found.
func dataSheets() Catalog {
	c, err := Load()
	if err != nil {
		panic(err)
	}
	return c
}

// NearestConstants returns the measured constants of a, or of its nearest relative, and the
// distance: 0 for a itself, 1 for the same generation, 2 for another generation of the same maker,
// 3 for another maker. Of equally near relatives, it takes the one with the most similar bandwidth.
//
// Memory belongs to a card, not to its die. A card whose memory was not measured is taken to reach
// the mean share of the bandwidth of the measured cards of its generation, among which the mean of
// all counts as one.
func NearestConstants(a *Accelerator, measured []Constants) (Constants, int) {
	best, closest := Constants{}, farthest()
	for _, c := range measured {
		if d := kinship(a, c.Accelerator); d.less(closest) {
			best, closest = c, d
		}
	}
	if closest.steps == 0 || closest.steps == 1 && closest.gap < sameMemory {
		return best, closest.steps
	}
	for _, share := range memoryShares() {
		var all, kin, relatives float64
		for i := range measured {
			v := *share(&measured[i])
			all += v / float64(len(measured))
			if kinship(a, measured[i].Accelerator).steps == 1 {
				kin, relatives = kin+v, relatives+1
			}
		}
		*share(&best) = (kin + all) / (relatives + 1)
	}
	return best, closest.steps
}

// sameMemory is the ratio of bandwidths below which cards of one generation have the same memory,
// whatever its clock: A100 with 80 GB as a module and on PCI Express, A40 and RTX A6000.
const sameMemory = 1.15

// memoryShares are the shares of the bandwidth that large kernels reach.
func memoryShares() []func(*Constants) *float64 {
	return []func(*Constants) *float64{
		func(c *Constants) *float64 { return &c.Linear.Memory },
		func(c *Constants) *float64 { return &c.Experts.Memory },
		func(c *Constants) *float64 { return &c.Attention.DecodeMemory },
	}
}

// otherMaker is the distance of accelerators of different makers.
const otherMaker = 3

// distance says how unlike two accelerators are: steps are 0 for itself, 1 for the same
// generation, 2 for another of the same maker, otherMaker for the rest, and gap is the ratio of the
// bandwidths.
type distance struct {
	steps int
	gap   float64
}

// farthest is farther than any accelerator.
func farthest() distance { return distance{steps: otherMaker + 1} }

func (d distance) less(e distance) bool {
	return d.steps < e.steps || d.steps == e.steps && d.gap < e.gap
}

// kinship returns the distance of a from the accelerator of that name in the catalogue.
func kinship(a *Accelerator, name string) distance {
	sheets := dataSheets().Accelerators
	relative := &sheets[indexOf(name, sheets)]
	d := distance{otherMaker, ratio(relative.Bandwidth, a.Bandwidth)}
	known := carries()
	switch maker := known.maker(a.Generation); {
	case relative.Name == a.Name:
		d.steps = 0
	case relative.Generation == a.Generation:
		d.steps = 1
	case maker != "" && maker == known.maker(relative.Generation):
		d.steps = 2
	}
	return d
}

// NearestCollective returns the measured constants of the link of that name, or of the link with
// the most similar bandwidth. That link must have the same scope, the same kind of port (one for
// each node, or one for each device) and, where one was measured, the same way between devices.
func NearestCollective(l *Link, across bool, measured []Collective) Collective {
	var best Collective
	gap, sheets := math.Inf(1), dataSheets().Links
	for _, c := range measured {
		relative := &sheets[indexOf(c.Link, sheets)]
		g := ratio(relative.Bandwidth, l.Bandwidth)
		switch {
		case relative.Name == l.Name:
			g = 0
		case (relative.Port == "node") != (l.Port == "node"):
			g *= 1e6
		case relative.Reach != l.Reach:
			g *= 1e3
		}
		if c.Across == across && g < gap {
			best, gap = c, g
		}
	}
	return best
}

// ratio returns the larger of two rates divided by the smaller.
func ratio(a, b float64) float64 { return max(a, b) / min(a, b) }
