// Package distil turns tables of measured kernels into the few constants that the program ships of
// each engine, accelerator and number format, and says how well their forms hold on kernels of
// shapes that were left out. It also compares the cost of each kind of token mixing with measured
// kernels and attention modules.
package distil

import (
	"cmp"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/llmsim/llmsim/hardware"
	"github.com/llmsim/llmsim/internal/files"
	"github.com/llmsim/llmsim/models/measured"
)

// engines are the families of engines whose kernels are published.
func engines() []string { return []string{"vllm", "sglang", "trtllm"} }

// tablesOf returns the tables of an accelerator, of each name the one of the engine where it has
// one; none where the accelerator was not measured.
func tablesOf(dir fs.FS, engine string, a *hardware.Accelerator) []measured.Table {
	list, _ := measured.Select(dir,
		measured.Wanted{Accelerator: append([]string{a.Name}, a.Aliases...), Engine: engine})
	return list
}

// source says where constants are from.
func source(from ...string) string {
	slices.Sort(from)
	return "llmsim validate --kernels: " + strings.Join(from, ", ") +
		" (ai-dynamo/aiconfigurator, systems/data)"
}

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

// published is a table from which something is distilled, with the columns of its number format and
// of its sizes.
type published struct {
	format  string
	columns []string
	distil  table
}

// tables lists what is distilled from each table.
func tables() map[string]published {
	return map[string]published{
		"gemm": {"gemm_dtype", []string{"m", "n", "k"}, products},
		"moe": {"moe_dtype", []string{"num_tokens", "hidden_size", "inter_size", "topk",
			"num_experts", "moe_tp_size", "moe_ep_size"}, experts},
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
					k.Date, k.Source = date.Format(time.DateOnly), source(c.from...)
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
		for _, t := range tablesOf(dir, engine, a) {
			known, ok := tables()[t.Name]
			if !ok || t.Instead != "" {
				continue
			}
			list, err := known.read(dir, t)
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
func (p *published) read(dir fs.FS, t measured.Table) ([]row, error) {
	var list []row
	err := t.Each(dir, func(r *measured.Row) {
		one := row{format: r.Text(p.format), source: r.Text("kernel_source"),
			routing: r.Text("distribution"), seconds: r.Number("latency", 0) / 1000}
		for i, name := range p.columns {
			one.sizes[i] = r.Number(name, 1)
		}
		if r.Err() == nil && one.seconds > 0 {
			list = append(list, one)
		}
	})
	return list, err
}

// Write writes constants into a folder, in the form of hardware/fitted/kernels
// (ENGINE/ACCELERATOR.yaml) and hardware/fitted/recurrent (recurrent/ENGINE.yaml). It replaces no
// file: one that is there already is an error.
func Write(dir string, list []hardware.Kernels, recurrent []hardware.RecurrentKernel) error {
	contents := map[string]func(io.Writer) error{}
	for i := range list {
		name := filepath.Join(list[i].Engine, list[i].Accelerator+".yaml")
		contents[name] = files.AsYAML(&list[i])
	}
	byEngine := map[string][]hardware.RecurrentKernel{}
	for _, k := range recurrent {
		byEngine[k.Engine] = append(byEngine[k.Engine], k)
		contents[filepath.Join("recurrent", k.Engine+".yaml")] = files.AsYAML(byEngine[k.Engine])
	}
	return files.WriteNew(dir, contents)
}

// WriteText writes a table of the errors of the forms.
func WriteText(w io.Writer, list []hardware.Kernels) error {
	_, err := fmt.Fprintf(w, "%-8s %-14s %-27s %-9s %7s %7s %9s\n", "engine", "accelerator",
		"kernels", "format", "rows", "error", "left out")
	line := func(k *hardware.Kernels, what string, d hardware.DType, f hardware.KernelFit) {
		left := "–" // of kernels of one shape nothing can be left out
		if f.LeftOut > 0 {
			left = fmt.Sprintf("%.1f %%", 100*f.LeftOut)
		}
		if err == nil {
			_, err = fmt.Fprintf(w, "%-8s %-14s %-27s %-9s %7d %5.1f %% %9s\n", k.Engine,
				k.Accelerator, what, d, f.Rows, 100*f.Error, left)
		}
	}
	for i := range list {
		k := &list[i]
		for _, d := range slices.Sorted(maps.Keys(k.Products)) {
			line(k, "products", d, k.Products[d].Fit)
		}
		for _, d := range slices.Sorted(maps.Keys(k.Experts)) {
			for _, name := range slices.Sorted(maps.Keys(k.Experts[d])) {
				line(k, "experts, "+name, d, k.Experts[d][name].Fit)
			}
		}
	}
	return err
}
