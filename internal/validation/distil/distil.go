package distil

import (
	"cmp"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/llmsim/llmsim/hardware"
	"github.com/llmsim/llmsim/models/measured"
)

// engines are the families of engines whose kernels are published.
func engines() []string { return []string{"vllm", "sglang", "trtllm"} }

// dies returns the accelerators of a catalogue by die. Kernels of one die take one share of its
// data sheet's rate and one fixed time, whatever card it is on: only what reads memory differs.
func dies(catalog hardware.Catalog) [][]*hardware.Accelerator {
	first := map[string]string{"h200-sxm": "h100-sxm", "gb200": "b200-sxm", "gb300": "b300-sxm"}
	var list [][]*hardware.Accelerator
	at := map[string]int{}
	for i := range catalog.Accelerators {
		a := &catalog.Accelerators[i]
		die := cmp.Or(first[a.Name], a.Name)
		k, seen := at[die]
		if !seen {
			k = len(list)
			at[die], list = k, append(list, nil)
		}
		list[k] = append(list[k], a)
	}
	return list
}

// card is an accelerator of a die, and what is distilled of it.
type card struct {
	*hardware.Accelerator
	kernels hardware.Kernels
	from    []string
}

// table reads the kernels of a table, by card of a die. What it keeps of them, it adds to the
// constants of the cards.
type table func(die []*card, rows [][]row)

// row is what the forms need of a measured kernel.
type row struct {
	// format is what the table calls the number format, source is what the engine calls the kernel,
	// routing is how tokens were spread over experts.
	format, source, routing string
	// sizes are the numbers of the columns that the table asked for.
	sizes   [columns]float64
	seconds float64
}

// columns is the largest number of sizes that a kernel has.
const columns = 7

// tables lists what is distilled from each table, with the columns of its sizes.
func tables() map[string]struct {
	format  string
	columns []string
	distil  table
} {
	return map[string]struct {
		format  string
		columns []string
		distil  table
	}{
		"gemm": {"gemm_dtype", []string{"m", "n", "k"}, products},
		"moe": {"moe_dtype", []string{"num_tokens", "hidden_size", "inter_size", "topk",
			"num_experts", "moe_tp_size",
			"moe_ep_size"}, experts},
	}
}

// Kernels distils the tables of a folder in the published layout: for each engine and accelerator
// of the catalogue what its kernels reach.
func Kernels(dir fs.FS, catalog hardware.Catalog, date time.Time) ([]hardware.Kernels, error) {
	var list []hardware.Kernels
	for _, engine := range engines() {
		for _, accelerators := range dies(catalog) {
			die, err := of(dir, engine, accelerators)
			if err != nil {
				return nil, err
			}
			for _, c := range die {
				if k := c.kernels; len(k.Products) > 0 {
					k.Date = date.Format(time.DateOnly)
					slices.Sort(c.from)
					k.Source = "llmsim validate --kernels: " + strings.Join(c.from, ", ") +
						" (ai-dynamo/aiconfigurator, systems/data)"
					list = append(list, k)
				}
			}
		}
	}
	return list, nil
}

// of distils the tables of one engine and die, which the result has without rows, too.
func of(dir fs.FS, engine string, accelerators []*hardware.Accelerator) ([]*card, error) {
	var die []*card
	rows := map[string][][]row{}
	for i, a := range accelerators {
		c := &card{Accelerator: a, kernels: hardware.Kernels{
			Engine: engine, Accelerator: a.Name,
			Products: map[hardware.DType]hardware.ProductKernel{},
			Experts:  map[hardware.DType]map[string]hardware.ExpertKernel{},
		}}
		die = append(die, c)
		selected, err := measured.Select(dir,
			measured.Wanted{Accelerator: append([]string{a.Name}, a.Aliases...), Engine: engine})
		if err != nil {
			continue // the accelerator was not measured
		}
		for _, t := range selected {
			known, ok := tables()[t.Name]
			if !ok || t.Instead != "" {
				continue
			}
			list, err := read(dir, t, known.format, known.columns)
			if err != nil {
				return nil, err
			}
			if rows[t.Name] == nil {
				rows[t.Name] = make([][]row, len(accelerators))
			}
			rows[t.Name][i] = append(rows[t.Name][i], list...)
			c.from = append(c.from, t.String())
		}
	}
	for name, byCard := range rows {
		tables()[name].distil(die, byCard)
	}
	return die, nil
}

// read returns the rows of a table.
func read(dir fs.FS, t measured.Table, format string, names []string) ([]row, error) {
	var list []row
	err := t.Each(dir, func(r *measured.Row) {
		one := row{format: r.Text(format), source: r.Text("kernel_source"),
			routing: r.Text("distribution")}
		one.seconds = r.Number("latency", 0) / 1000
		for i, name := range names {
			one.sizes[i] = r.Number(name, 1)
		}
		if r.Err() == nil && one.seconds > 0 {
			list = append(list, one)
		}
	})
	return list, err
}
