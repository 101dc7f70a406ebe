package scenarios

import (
	"cmp"

	"github.com/llmsim/llmsim/sim"
	"github.com/llmsim/llmsim/workload"
)

// traits returns the traits of the requests of a class.
func (d *demand) traits(field string, c *Class) workload.Traits {
	p := &c.Patience
	waits := (&Delay{p.Mean, p.Distribution, p.CV}).delay()
	return workload.Traits{
		Priority: c.Priority, Tenant: d.tenant[c.Tenant], Model: d.served(field, c),
		Deadline: sim.Time(cmp.Or(c.Deadline, c.SLO.E2E.Strictest())),
		TTFT:     sim.Time(c.SLO.TTFT.Strictest()),
		Patience: waits.Mean, PatienceShape: waits.Shape, AfterFirst: p.From == "first-token",
		Region: d.fleet.regionOf(field+".region", c.Region),
	}
}
