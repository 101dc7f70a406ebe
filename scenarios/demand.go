package scenarios

import (
	"slices"
	"strings"

	"github.com/llmsim/llmsim/internal/nearest"
	"github.com/llmsim/llmsim/metrics"
	"github.com/llmsim/llmsim/workload"
	"github.com/llmsim/llmsim/workload/lengths"
)

// demand describes the requests to a fleet, and when they arrive.
type demand struct {
	*notes
	fleet    *fleet
	workload Workload       // with its defaults
	slo      SLO            // of requests of no class, and of classes without their own
	tenants  []string       // by sim.Request.Tenant
	tenant   map[string]int // the number of a tenant, by name
	config   workload.Config

	// distributions holds the distributions of lengths by their description. lengthEntries is the
	// number of different lengths of all of them.
	distributions map[Length]*lengths.Distribution
	lengthEntries int
}

// metrics returns what to collect.
func (d *demand) metrics() metrics.Config {
	c := metrics.Config{SLO: d.slo.limits(), Tenants: d.tenants, KeepCut: d.workload.KeepCut,
		Whole: d.workload.Whole}
	for i := range d.workload.Classes {
		class := &d.workload.Classes[i]
		c.Classes = append(c.Classes, metrics.Class{
			Name: class.Name, SLO: class.SLO.limits(), Tenant: d.tenant[class.Tenant],
		})
	}
	return c
}

// modelOf returns the number of the model that a class names. The name may be left out if the fleet
// serves one model.
func (d *demand) modelOf(field string, c *Class) int {
	models := d.fleet.models
	if c.Model == "" && len(models) == 1 {
		return 0
	}
	names := slices.Clone(models)
	for i := range d.fleet.pools {
		g := &d.fleet.pools[i]
		if c.Model == models[g.model] || c.Model == g.s.Model {
			return g.model
		}
		names = append(names, g.s.Model)
	}
	slices.Sort(names)
	switch all := strings.Join(models, " and "); {
	case c.Model != "":
		d.problem(field+".model", "no pool serves it: %s",
			nearest.Unknown("model", c.Model, slices.Compact(names)))
	case len(d.workload.Classes) == 0:
		d.problem("workload", "the fleet serves %s; give it classes, each with the model that it "+
			"asks for", all)
	default:
		d.problem(field+".model", "the fleet serves %s; say which of them is asked for", all)
	}
	return 0
}

// leastContext returns the longest context with which every model is served.
func (d *demand) leastContext() int {
	least := d.fleet.context(0)
	for model := range d.fleet.models {
		least = min(least, d.fleet.context(model))
	}
	return least
}

// maxLengthEntries bounds the tables of all distributions of lengths together, to some 400 MB.
const maxLengthEntries = 1 << 24

// lengths returns the distribution that l describes, or nil if l is wrong. Classes with the same
// description share one.
func (d *demand) lengths(field string, l *Length) *lengths.Distribution {
	located := *l
	located.File = d.file.locate(field+".file", l.File)
	if made := d.distributions[located]; made != nil {
		return made
	}
	d.lengthEntries += max(located.Max-located.Min+1, 1)
	if d.lengthEntries > maxLengthEntries {
		d.problem(field, "the distributions of lengths up to this one have more than %d lengths "+
			"to draw from; "+
			"narrow them by min and max, or give several classes the same", maxLengthEntries)
		return nil
	}
	made, err := d.file.Clocks.distribution(located, func() (*lengths.Distribution, error) {
		return located.Lengths(d.file.files())
	})
	if err != nil {
		d.problem(field, "%v", plainPathError(err))
		return nil
	}
	d.distributions[located] = made
	return made
}
