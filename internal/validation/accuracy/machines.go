package accuracy

import (
	_ "embed"
	"sync"

	"github.com/llmsim/llmsim/internal/files"
)

// machines.csv has the hosts of machines that one table alone was measured on, as multiples of the
// time of an H100 machine's host. They are constants of the fit (llmsim validate DIR --fit), so
// that the accelerator's own does not have to stand for all machines with it.
//
//go:embed machines.csv
var machinesTable string

// Machine names the machines of a table with an accelerator: TABLE/ACCELERATOR.
func Machine(table, gpu string) string { return table + "/" + gpu }

// Machines returns the time of their hosts.
func Machines() map[string]float64 { return machines() }

// MachinesHeader is the first line of the table of machines.
const MachinesHeader = "machine,host"

// machines reads the table, which is part of the program: it is right, or a test fails.
var machines = sync.OnceValue(func() map[string]float64 {
	list := map[string]float64{}
	for _, m := range files.MustReadTable[struct {
		Machine string  `csv:"machine"`
		Host    float64 `csv:"host"`
	}]("machines.csv", machinesTable) {
		list[m.Machine] = m.Host
	}
	return list
})
