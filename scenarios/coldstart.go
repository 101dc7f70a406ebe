package scenarios

import (
	"github.com/llmsim/llmsim/policies/scaling"
	"github.com/llmsim/llmsim/sim"
)

// coldStart returns how long a replica takes to start. Weights come over disk or network and then
// over the accelerators' links to the host.
func (g *pool) coldStart(field string, c *ColdStart) sim.Time {
	if *c == (ColdStart{}) {
		return 0
	}
	gpus := float64(g.s.Parallelism.degrees().GPUs())
	start := scaling.ColdStart{Boot: sim.Time(c.Boot), Weights: g.Plan.Weights * gpus}
	if c.Disk != "" {
		host, err := g.catalog.Host(c.Disk)
		if err != nil {
			g.problem(field+".disk", "%v", err)
			return 0
		}
		start.Disk = host.Disk
	}
	if link := g.findLink(g.catalog, field+".network", c.Network); link != nil {
		start.Network = link.Bandwidth * gpus
	}
	if link := g.findLink(g.catalog, "hardware", g.Config.Accelerator.HostLink); link != nil {
		start.PCIe = link.Bandwidth * gpus
	}
	t, err := start.Time()
	if err != nil {
		g.problem(field, "%v", err)
	}
	return t
}
