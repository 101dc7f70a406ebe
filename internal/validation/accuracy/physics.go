package accuracy

import (
	"cmp"
	_ "embed"
	"sync"

	"github.com/llmsim/llmsim/hardware"
	"github.com/llmsim/llmsim/internal/files"
	"github.com/llmsim/llmsim/models"
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
	// Routing says how unevenly routers choose experts; nil means what ships with the program.
	Routing []models.Routing
	// Slowdown is a factor on the times of all steps; 0 is 1.
	Slowdown float64
	// Power returns what is known of the power that an accelerator draws.
	Power func(a *hardware.Accelerator) *hardware.PowerLaw
}

// Shipped reports whether predictions are what the program ships.
func (p *Physics) Shipped() bool {
	return p.Engine == nil && p.Constants == nil && p.Hosts == nil && p.Routing == nil &&
		p.Slowdown == 0
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
	return Machines()[machine]
}

// PowerLaw returns what is known of the power that an accelerator draws.
func (p *Physics) PowerLaw(a *hardware.Accelerator) *hardware.PowerLaw {
	if p.Power != nil {
		return p.Power(a)
	}
	return a.PowerLaw()
}

// machines.csv has the hosts of machines that one table alone was measured on, and of servers that
// tables name, as multiples of the time of an H100 machine's host. They are constants of the fit
// (llmsim validate DIR --fit), so that the accelerator's own does not have to do for all machines
// with it.
//
//go:embed machines.csv
var machinesTable string

// Machine names the machines of a table with an accelerator: TABLE/ACCELERATOR.
func Machine(table, gpu string) string { return table + "/" + gpu }

// contended are machines whose hosts are in the way of the accelerators. The L40S whose
// all-reduces were measured alone reach 60 % of PCIe in pairs, and of eight cards 7 % each. By its
// first request, which is alone, Qwen3-32B on two RTX PRO 6000 computes 2,361 tokens in 510 ms:
// products take 300 of them, and all-reduces 200 at 16 GB/s; without the host it would be 90.
var contended = map[string]string{
	Machine("custom_allreduce", "l40s"):      "pcie4-x16-contended",
	Machine("nccl", "l40s"):                  "pcie4-x16-contended",
	Machine("vllm_requests", "rtx-pro-6000"): "pcie5-x16-contended",
}

// ScaleUp returns the name of the link between the accelerators of a table's machines; "" without
// one.
func ScaleUp(table string, a *hardware.Accelerator) string {
	return cmp.Or(contended[Machine(table, a.Name)], a.ScaleUp)
}

// MachineHost is a row of the table.
type MachineHost struct {
	Machine string  `csv:"machine"`
	Host    float64 `csv:"host"`
}

// Machines returns the times of the hosts of machines.
var Machines = sync.OnceValue(func() map[string]float64 {
	list := map[string]float64{}
	for _, m := range files.MustReadTable[MachineHost]("machines.csv", machinesTable) {
		list[m.Machine] = m.Host
	}
	return list
})
