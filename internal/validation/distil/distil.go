package distil

import (
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/llmsim/llmsim/hardware"
	"github.com/llmsim/llmsim/models/measured"
)

// engines are the families of engines whose kernels are published.
func engines() []string { return []string{"vllm", "sglang", "trtllm"} }

// table reads the kernels of a table. What it keeps of them, it adds to the constants.
type table func(into *hardware.Kernels, a *hardware.Accelerator, rows []row) error

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
		for i := range catalog.Accelerators {
			k, err := of(dir, engine, &catalog.Accelerators[i])
			if err != nil {
				return nil, err
			}
			if len(k.Products) > 0 {
				k.Date = date.Format(time.DateOnly)
				list = append(list, k)
			}
		}
	}
	return list, nil
}

// of distils the tables of one engine and accelerator; the result is empty without rows.
func of(dir fs.FS, engine string, a *hardware.Accelerator) (hardware.Kernels, error) {
	k := hardware.Kernels{
		Engine: engine, Accelerator: a.Name,
		Products: map[hardware.DType]hardware.ProductKernel{},
		Experts:  map[hardware.DType]map[string]hardware.ExpertKernel{},
	}
	selected, err := measured.Select(dir,
		measured.Wanted{Accelerator: append([]string{a.Name}, a.Aliases...), Engine: engine})
	if err != nil {
		return k, nil // the accelerator was not measured
	}
	var from []string
	for _, t := range selected {
		known, ok := tables()[t.Name]
		if !ok || t.Instead != "" {
			continue
		}
		rows, err := read(dir, t, known.format, known.columns)
		if err != nil {
			return k, err
		}
		if err := known.distil(&k, a, rows); err != nil {
			return k, fmt.Errorf("%s: %w", t.Path, err)
		}
		from = append(from, t.String())
	}
	slices.Sort(from)
	k.Source = "llmsim validate --kernels: " + strings.Join(from, ", ") +
		" (ai-dynamo/aiconfigurator, systems/data)"
	return k, nil
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
