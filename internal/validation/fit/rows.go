package fit

import (
	_ "embed"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/llmsim/llmsim/hardware"
	"github.com/llmsim/llmsim/internal/files"
	"github.com/llmsim/llmsim/internal/validation"
	"github.com/llmsim/llmsim/internal/validation/accuracy"
	"github.com/llmsim/llmsim/models/steptime"
)

// quantity is what is fitted to, and how far off a good model of it may be: Deviation is the
// relative error of one standard deviation.
//
// Served steps set the level of the constants. Kernels measured apart lend them shape where served
// rows say nothing, and count for little: they reach 10–20 % more than in a server, or wait for the
// host to launch them (docs/constants.md, internal/validation/known-gaps.md). Rows of latent
// attention alone have 0.1 to 0.3 ms of launches in them, and say nothing.
type quantity struct {
	Table     string  `csv:"table"`
	Quantity  string  `csv:"quantity"`
	Deviation float64 `csv:"deviation"`
	// On are the beginnings of the names of the constants on which a table of single kernels
	// depends; nil for others. The groups of such a table are number formats rather than models.
	On accuracy.Beginnings `csv:"on"`
}

//go:embed quantities.csv
var quantitiesCSV string

// quantities lists what is fitted to.
var quantities = sync.OnceValue(func() []quantity {
	return files.MustReadTable[quantity]("quantities.csv", quantitiesCSV)
})

// serverWeight is what a server of one row counts.
const serverWeight = 2

// find returns a quantity, or the first of the table where name is empty; nil where nothing is
// fitted to it.
func find(table, name string) *quantity {
	list := quantities()
	i := slices.IndexFunc(list, func(q quantity) bool {
		return q.Table == table && (q.Quantity == name || name == "")
	})
	if i < 0 {
		return nil
	}
	return &list[i]
}

// Mark notes of each row of a report whether the fit to its data takes it.
func Mark(d *validation.Data, r *accuracy.Report) {
	thin(d, r).Mark(r, func(table, name string) bool { return find(table, name) != nil })
}

// row is a measured figure that is fitted to.
type row struct {
	accuracy.Group
	table     string
	key       accuracy.RowName
	kernel    bool
	deviation float64
	// weight is proportional to 1/√n for n kernels, or n loads of a server, of the same table,
	// group and quantity. These rows share most of their errors, so n of them count as √n rows.
	weight float64
	// parameters are the places of the parameters on which the row may depend, by kind; -1 without
	// one.
	parameters []int
}

// groupKey is what rows have in common that share their errors.
type groupKey struct {
	accuracy.Group
	table, quantity string
}

// rowsOf returns the figures of a report that are fitted to.
func rowsOf(r *accuracy.Report) []row {
	var list []row
	var groups []groupKey
	size := map[groupKey]int{}
	for c := range r.All() {
		q := find(c.Table, c.Quantity)
		if q == nil || c.Predicted <= 0 {
			continue
		}
		g := groupKey{c.Group, c.Table, c.Quantity}
		if q.On == nil {
			g.TP = 0
		}
		size[g]++
		groups = append(groups, g)
		list = append(list, row{Group: c.Group, table: c.Table, key: c.Row(), kernel: q.On != nil,
			deviation: q.Deviation})
	}
	for i := range list {
		list[i].weight = 1 / math.Sqrt(float64(size[groups[i]]))
		if list[i].Engine != "" {
			list[i].weight *= serverWeight
		}
	}
	return list
}

// logErrors returns ln(predicted/measured) by row, and the comparisons; NaN and nil where the
// report lacks a row.
func logErrors(r *accuracy.Report, rows []row) ([]float64, []*accuracy.Comparison) {
	byKey := map[accuracy.RowName]*accuracy.Comparison{}
	for c := range r.All() {
		byKey[c.Row()] = c
	}
	errors, found := make([]float64, len(rows)), make([]*accuracy.Comparison, len(rows))
	for i := range rows {
		errors[i] = math.NaN()
		if c := byKey[rows[i].key]; c != nil {
			errors[i], found[i] = math.Log(c.Predicted/c.Measured), c
		}
	}
	return errors, found
}

// rehearsed are the tables of whole runs whose slopes follow from a sample of their steps.
var rehearsed = map[string]bool{
	"closed_loop": true, "silicon": true, "offline_throughput": true, "offline_recent": true,
	"mlperf": true, "whatif": true, "silicon_app": true, "sglang_cookbook": true, "kv_reuse": true,
	"served": true,
}

// isKernelTable reports whether a table is of single kernels.
func isKernelTable(table string) bool {
	q := find(table, "")
	return q != nil && q.On != nil
}

// launched is the time to launch an all-reduce, on which kernels measured apart depend as well as
// an engine that launches each.
var launched = kind{engine, "all_reduce"}

// drawn is the factor on the spread of routers where prompts are random tokens, which all models
// share. Rows of text do not answer to it.
var drawn = kind{routing, "random"}

// launcher is the engine whose kernels measured apart take that time.
const launcher = "eager-2023"

// apart is the engine whose kernels have nothing in common with the other engines', so that it says
// nothing of an accelerator's constants.
const apart = "llama.cpp"

// touches reports whether rows of a table and group may depend on a kind of constant.
func (p *problem) touches(k kind, table string, g *accuracy.Group) bool {
	q := find(table, "")
	switch {
	case q == nil:
		return false
	case q.On != nil:
		return k.scope != engine && q.On.Fit(k.name)
	case k.scope == routing:
		a, err := p.models.Lookup(g.Model)
		return err == nil && a.Experts() != nil
	case k == launched:
		return g.TP > 1
	case k.scope == machine:
		_, known := p.shipped.machines[g.Machine(table)]
		return known
	case !p.concerns(k.name, g):
		return false
	case strings.HasPrefix(k.name, levels):
		return p.levelled(k.name, g)
	case strings.HasPrefix(k.name, "served."+ofExperts+"-"):
		return p.mayRun(k.name, g)
	case k.scope == engine || k.name == "host":
		return g.Engine != ""
	case k.scope == link:
		return g.TP > 1
	}
	return true
}

// levelled reports whether the engine of a group has the level that the name of a constant begins
// with.
func (p *problem) levelled(name string, g *accuracy.Group) bool {
	e := p.shipped.engines[family(g.Engine)]
	i, err := strconv.Atoi(name[len(levels):strings.Index(name, ".")])
	return err == nil && i < len(e.Levels)
}

// mayRun reports whether the engine of a group has the back end of routed experts that the name of
// a constant has, and may take it, or what it reaches, for the group's number format.
func (p *problem) mayRun(name string, g *accuracy.Group) bool {
	list := p.shipped.engines[family(g.Engine)].Served.Backends
	i := slices.IndexFunc(list, func(b steptime.Backend) bool {
		return strings.HasPrefix(name, "served."+backendKey(&b)+".")
	})
	return i >= 0 && (slices.Contains(list[i].Formats, hardware.DType(g.DType)) ||
		!slices.ContainsFunc(list, func(b steptime.Backend) bool {
			return b.Name == list[i].Name &&
				slices.Contains(b.Formats, hardware.DType(g.DType))
		}))
}

// concerns reports whether a constant of that name may matter to the model and the number format of
// a group. What is not in the catalogue may depend on all.
func (p *problem) concerns(name string, g *accuracy.Group) bool {
	a, err := p.models.Lookup(g.Model)
	if err != nil {
		return true
	}
	eight, four := strings.HasSuffix(name, "fp8"), strings.HasSuffix(name, "fp4")
	switch {
	case strings.Contains(name, "expert") && a.Experts() == nil:
		return false
	case eight && !strings.Contains(g.DType, "fp8") && g.DType != string(hardware.MXFP4):
		return false
	case four && !strings.Contains(g.DType, "fp4"):
		return false
	}
	return true
}

// Large tables are thinned out before the fit: about how many rows of a table of kernels are kept
// for each accelerator, and each how manyth row of whole benchmarks, which take long to simulate.
const (
	kernelRows    = 40
	benchmarkStep = 3
	manyRows      = 400
	siliconStep   = 4
	appStep       = 3
	apartStep     = 4
)

// benchmarks are tables of whole benchmarks.
var benchmarks = []string{"offline_throughput", "offline_recent", "ml_energy", "linear_layers"}

// thin leaves out shapes of kernels, and benchmarks, where there are many.
func thin(d *validation.Data, r *accuracy.Report) *validation.Data {
	type source struct{ table, gpu string }
	rows := map[source]int{}
	for c := range r.All() {
		rows[source{c.Table, c.GPU}]++
	}
	seen := map[source]int{}
	return d.Where(func(table string, g accuracy.Group) bool {
		s, every := source{table, g.GPU}, 1
		switch {
		case isKernelTable(table):
			every = max(1, rows[s]/kernelRows)
		case slices.Contains(benchmarks, table) && rows[s] > manyRows:
			every = benchmarkStep
		case table == "silicon":
			every = siliconStep
		case table == "silicon_app":
			every = appStep
		case table == "silicon_apart":
			every = apartStep
		}
		seen[s]++
		return (seen[s]-1)%every == 0
	})
}

// Error is the median absolute relative error of a quantity of a table, in percent, under several
// sets of constants.
type Error struct {
	accuracy.Target
	// N is the number of rows.
	N int `json:"n"`
	// Shipped and Fitted are the errors with the constants that come with the program and with
	// those fitted to all rows.
	Shipped float64 `json:"shipped_pct"`
	Fitted  float64 `json:"fitted_pct"`
	// WithoutModel and WithoutAccelerator are the errors where all rows of the same model, or of
	// the same accelerator, were left out of the fit; nil where that cannot be done.
	WithoutModel       *float64 `json:"without_model_pct"`
	WithoutAccelerator *float64 `json:"without_accelerator_pct"`
	// Ratio is the larger of the errors left out over Fitted; 0 where nothing can be left out. A
	// fit with a constant for each server has any ratio, one that describes machines about 1.
	Ratio float64 `json:"left_out_over_fitted,omitempty"`
}

// mostRatio is the ratio of the errors left out and in the fit that is told as too large.
const mostRatio = 1.3

// ratio returns the larger of the errors left out over the fitted one.
func (e *Error) ratio() float64 {
	worst := 0.0
	for _, without := range []*float64{e.WithoutModel, e.WithoutAccelerator} {
		if without != nil {
			worst = max(worst, *without)
		}
	}
	if e.Fitted == 0 {
		return 0
	}
	return worst / e.Fitted
}

// errorsOf compares the reports. Quantities with a target come first, then the other ones that are
// fitted to.
func errorsOf(shipped, fitted, models, accelerators *accuracy.Report) []Error {
	var list []Error
	before := lines(shipped)
	after, noModel, noAccelerator := byTarget(lines(fitted)), byTarget(lines(models)),
		byTarget(lines(accelerators))
	for _, line := range before {
		e := Error{Target: line.Target, N: line.N, Shipped: line.Median,
			Fitted: after[line.Target].Median}
		if without, ok := noModel[line.Target]; ok && !isKernelTable(line.Table) {
			e.WithoutModel = &without.Median
		}
		if without, ok := noAccelerator[line.Target]; ok {
			e.WithoutAccelerator = &without.Median
		}
		e.Ratio = e.ratio()
		list = append(list, e)
	}
	return list
}

// lines returns the errors of a report by target, and without a target for other quantities that
// are fitted to.
func lines(r *accuracy.Report) []accuracy.TargetResult {
	if r == nil {
		return nil
	}
	summary := r.Summary()
	list := summary.Targets
	aimed := map[[2]string]bool{}
	for _, t := range list {
		aimed[[2]string{t.Table, t.Quantity}] = true
	}
	for _, t := range summary.Tables {
		for _, q := range t.Quantities {
			if find(t.Name, q.Quantity) != nil && !aimed[[2]string{t.Name, q.Quantity}] {
				list = append(list,
					accuracy.TargetResult{
						Target: accuracy.Target{Table: t.Name, Quantity: q.Quantity}, N: q.N,
						Median: q.Median})
			}
		}
	}
	return list
}

func byTarget(list []accuracy.TargetResult) map[accuracy.Target]accuracy.TargetResult {
	m := map[accuracy.Target]accuracy.TargetResult{}
	for _, r := range list {
		m[r.Target] = r
	}
	return m
}
