package validation

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/llmsim/llmsim/hardware"
	"github.com/llmsim/llmsim/internal/validation/accuracy"
	servers "github.com/llmsim/llmsim/scenarios/deployment"
	"github.com/llmsim/llmsim/scenarios/evidence"
)

// Data is the measurements of a folder, read and ready to be predicted.
type Data struct {
	tables []readKind
	// Ignored says of each file that was not read why; kernels in the format of hardware.operators
	// are counted by folder.
	Ignored []string
}

// readKind is all files of one kind.
type readKind struct {
	name        string
	files       []string
	experiments []*trial
	skipped     map[string]int
	problems    []string
	sources     []string
	left        map[string]string // why rows are left out, by file:line
}

// Read reads every table that it knows in the folders and below. Files that it does not know are
// named in Ignored, malformed rows in the report; only a folder that cannot be read is an error.
// The name of a file is relative to its folder.
func Read(folders ...fs.FS) (*Data, error) {
	c, err := loadCatalogs()
	if err != nil {
		return nil, err
	}
	data := &Data{}
	for _, k := range kinds() {
		data.tables = append(data.tables, readKind{name: k.Name, skipped: map[string]int{},
			left: map[string]string{}})
	}
	for _, folder := range folders {
		if err := data.readFolder(c, folder); err != nil {
			return data, err
		}
	}
	return data, nil
}

// readFolder adds the measurements of a folder.
func (d *Data) readFolder(c *catalogs, folder fs.FS) error {
	kernels := map[string]int{}
	err := fs.WalkDir(folder, ".", func(file string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if strings.HasPrefix(entry.Name(), ".") && file != "." {
			if entry.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		switch {
		case entry.IsDir(), path.Base(file) == descriptions:
		case strings.HasSuffix(file, "_perf.parquet"), strings.HasSuffix(file, "_perf.csv"):
			top, _, _ := strings.Cut(file, "/")
			kernels[top]++
		default:
			if why := d.readFile(c, folder, file); why != "" {
				d.Ignored = append(d.Ignored, file+": "+why)
			}
		}
		return nil
	})
	for _, top := range slices.Sorted(maps.Keys(kernels)) {
		d.Ignored = append(d.Ignored,
			fmt.Sprintf("%s: %d tables of measured kernels, which hardware.operators reads as CSV",
				top, kernels[top]))
	}
	return err
}

// readFile adds the measurements of a file, or says why it has no measurements.
func (d *Data) readFile(c *catalogs, folder fs.FS, file string) (why string) {
	if strings.ToLower(path.Ext(file)) != ".csv" {
		return "not a table (.csv)"
	}
	of := kindsOf(file)
	if len(of) == 0 {
		return "no table of that name is known"
	}
	f, err := folder.Open(file)
	if err != nil {
		return err.Error()
	}
	defer f.Close()
	t, err := readTable(file, f)
	if err != nil {
		return err.Error()
	}
	if t.server, err = describedBeside(folder, file); err != nil {
		return err.Error()
	}
	fits := 0
	for i := range of {
		if described := of[i].Name == "requests"; described != (t.server != nil) &&
			(described || of[i].Name == "vllm_requests") {
			continue
		}
		if missing := t.missing(strings.Fields(of[i].Needs)); len(missing) > 0 {
			why = cmp.Or(why, fmt.Sprintf("looks like %s, but lacks %s; it has %s", of[i].Name,
				strings.Join(missing, ", "), strings.Join(t.header, ", ")))
			continue
		}
		d.add(c, &of[i], t.again(&of[i]))
		fits++
	}
	if fits > 0 {
		return ""
	}
	return why
}

// add adds the measurements of one kind in a table.
func (d *Data) add(c *catalogs, k *kind, t *table) {
	i := slices.IndexFunc(d.tables, func(r readKind) bool { return r.name == k.Name })
	into := &d.tables[i]
	into.files = append(into.files, t.file)
	into.experiments = append(into.experiments, readers()[k.Name](c, t)...)
	into.problems = append(into.problems, t.problems...)
	into.sources = append(into.sources, t.sources()...)
	for line, why := range t.left {
		into.left[rowName(t.file, line)] = why
	}
	for reason, n := range t.skipped {
		into.skipped[reason] += n
	}
}

// Compare predicts all rows under p. It uses all processors, and the order of the result does not
// depend on their number. Rows that cannot be predicted, for example because the model does not
// fit, are counted as skipped.
func (d *Data) Compare(ctx context.Context, p accuracy.Physics) (*accuracy.Report, error) {
	report := &accuracy.Report{Ignored: d.Ignored}
	for i := range d.tables {
		if k := &d.tables[i]; len(k.files) > 0 {
			table, err := k.compare(ctx, &p)
			if err != nil {
				return nil, err
			}
			report.Tables = append(report.Tables, table)
		}
	}
	return report, nil
}

func (k *readKind) compare(ctx context.Context, p *accuracy.Physics) (accuracy.Table, error) {
	results := make([][]accuracy.Comparison, len(k.experiments))
	failures := make([]error, len(k.experiments))
	if err := InParallel(ctx, len(results), func(i int) {
		results[i], failures[i] = k.experiments[i].compare(ctx, p)
		if p.Shipped() && failures[i] == nil {
			failures[i] = paced(ctx, k.experiments[i], results[i])
		}
	}); err != nil {
		return accuracy.Table{}, err
	}
	t := accuracy.Table{Name: k.name, Files: k.files, Problems: k.problems, Sources: k.sources,
		Skipped: maps.Clone(k.skipped)}
	for i, list := range results {
		if failures[i] != nil {
			t.Skipped[failures[i].Error()]++
		}
		var key servers.Key
		for j := range list {
			if list[j].Table = k.name; list[j].Key == (servers.Key{}) {
				if j == 0 {
					key = k.experiments[i].key()
				}
				list[j].Key = key
			}
		}
		t.Rows = append(t.Rows, list...)
	}
	return t, nil
}

// InParallel calls f for 0 to n−1 on all processors.
func InParallel(ctx context.Context, n int, f func(i int)) error {
	var wait sync.WaitGroup
	var next atomic.Int64
	for range runtime.GOMAXPROCS(0) {
		wait.Go(func() {
			for i := next.Add(1) - 1; i < int64(n) && ctx.Err() == nil; i = next.Add(1) - 1 {
				f(int(i))
			}
		})
	}
	wait.Wait()
	return context.Cause(ctx)
}

// paced predicts the figures of requests that arrive at a rate again, with steps as fast and as
// slow as in one case of ten each: near capacity, latencies grow by many times as much.
func paced(ctx context.Context, t *trial, list []accuracy.Comparison) error {
	if !t.open() || len(list) == 0 || list[0].Key.Engine == "" {
		return nil
	}
	spread := evidence.Of(list[0].Key, true).Spread
	fast, slow := spread.Range()
	for _, pace := range []struct {
		factor float64
		into   func(*accuracy.Comparison) *float64
	}{{fast, func(c *accuracy.Comparison) *float64 { return &c.Fast }},
		{slow, func(c *accuracy.Comparison) *float64 { return &c.Slow }}} {
		again, err := t.compare(ctx, &accuracy.Physics{Slowdown: pace.factor})
		if err != nil || len(again) != len(list) {
			return err
		}
		for i := range list {
			*pace.into(&list[i]) = again[i].Predicted
		}
	}
	return nil
}

// open reports whether requests arrive at a rate.
func (t *trial) open() bool {
	return t.apart == nil && (t.sent != nil || t.Workload.Arrivals.Process == "poisson")
}

// Where returns the measurements of the tables and groups that keep accepts. What was measured
// together stays together: keep is asked once for the rows of a run, or for the loads of a kernel,
// in the order of the tables.
func (d *Data) Where(keep func(table string, g accuracy.Group) bool) *Data {
	return d.where(func(table string, t *trial) bool { return keep(table, t.place.Group) })
}

func (d *Data) where(keep func(table string, t *trial) bool) *Data {
	chosen := &Data{}
	for _, k := range d.tables {
		k.experiments = slices.DeleteFunc(slices.Clone(k.experiments),
			func(t *trial) bool { return !keep(k.name, t) })
		if len(k.experiments) > 0 {
			chosen.tables = append(chosen.tables, k)
		}
	}
	return chosen
}

// Mark notes of each row of a report whether it is among the measurements in d, and of a quantity
// that counts in the fit.
func (d *Data) Mark(r *accuracy.Report, counts func(table, quantity string) bool) {
	type row struct {
		file string
		line int
	}
	in := map[row]bool{}
	for i := range d.tables {
		for _, e := range d.tables[i].experiments {
			in[row{e.place.File, e.place.Line}] = true
		}
	}
	for c := range r.All() {
		if c.Fit = accuracy.LeftOut; in[row{c.File, c.Line}] && counts(c.Table, c.Quantity) {
			c.Fit = accuracy.InFit
		}
	}
}

func rowName(file string, line int) string { return fmt.Sprintf("%s:%d", file, line) }

// Row returns the row that stands in a line of a file, FILE:LINE, and what was measured with it.
func (d *Data) Row(name string) (*Data, error) {
	chosen := d.where(func(_ string, t *trial) bool { return lineOf(t, name) > 0 })
	for i := range chosen.tables {
		chosen.tables[i].skipped, chosen.tables[i].problems = map[string]int{}, nil
	}
	if len(chosen.tables) > 0 {
		return chosen, nil
	}
	for i := range d.tables {
		if why := d.tables[i].left[name]; why != "" {
			return nil, fmt.Errorf("%s: the row is left out: %s", name, why)
		}
	}
	return nil, fmt.Errorf("%s: found no row of measurements; want FILE:LINE, with FILE as the "+
		"report names it and LINE counted from 1, the header's", name)
}

// lineOf returns the line by which a row's name, FILE:LINE, is in a trial; 0 elsewhere.
func lineOf(t *trial, name string) int {
	for _, p := range t.rows() {
		if rowName(p.File, p.Line) == name {
			return p.Line
		}
	}
	return 0
}

// Scenario returns the scenario by which a row, FILE:LINE, is predicted.
func (d *Data) Scenario(ctx context.Context, name string) (*Emitted, error) {
	chosen, err := d.Row(name)
	if err != nil {
		return nil, err
	}
	k := &chosen.tables[0]
	row := k.experiments[0]
	by := row.emit(lineOf(row, name))
	if by.server == nil {
		return nil, fmt.Errorf("%s: %s has kernels that were measured alone, and a scenario is of "+
			"a server: --row without --emit shows predicted and measured, and llmsim roofline the "+
			"kernels of a server's steps", name, k.name)
	}
	if row.waved {
		// A row that cannot be predicted is a scenario still, which says why.
		if by.figures, err = row.showWaves(ctx); ctx.Err() != nil {
			return nil, err
		}
	}
	return by.emitted()
}

// readers returns what makes trials of the rows of each kind of table. What it cannot use it
// notes in the table.
func readers() map[string]func(c *catalogs, t *table) []*trial {
	return map[string]func(c *catalogs, t *table) []*trial{
		"vllm_runs":            readVLLMRuns,
		"kv_blocks":            trials(kvBlockRow),
		"kv_capacity":          trials(kvCapacityRow),
		"closed_loop":          trials(closedLoopRow),
		"vllm_requests":        readRequests,
		"requests":             readDescribedRequests,
		"static_batch":         trials(staticBatchRow),
		"offline_throughput":   trials(offlineRow),
		"offline_recent":       trials(offlineRow),
		"silicon":              readSilicon,
		"silicon_app":          trials(appRow),
		"served":               trials(serverRow),
		"sglang_cookbook":      trials(cookbookRow),
		"accelerators_other":   trials(otherRow),
		"kv_reuse":             trials(reuseRow),
		"llama_cpp_batched":    trials(batchedRow),
		"vllm_unique":          trials(uniqueRow),
		"vllm_steps":           readSteps,
		"silicon_apart":        readSiliconApart,
		"pool_replicas":        trials(poolRow),
		"pools":                trials(poolRow),
		"ml_energy":            trials(mlEnergyRow),
		"mlperf":               readMLPerf,
		"vllm_offline":         trials(vllmOfflineRow),
		"whatif":               readWhatIf,
		"llama_cpp":            trials(llamaCppRow),
		"wide_ep":              trials(wideEPRow),
		"first_token_latency":  trials(firstTokenRow),
		"token_time":           trials(tokenTimeRow),
		"eager_engine":         trials(eagerRow),
		"iteration":            trials(iterationRow),
		"linear_layers":        trials(linearLayerRow),
		"linear_and_allreduce": trials(linearAllReduceRow),
		"gemm":                 operators(gemmKernel),
		"context_attention":    operators(prompting(attentionKernel)),
		"generation_attention": operators(decoding(attentionKernel)),
		"context_mla":          operators(prompting(mlaKernel)),
		"generation_mla":       operators(decoding(mlaKernel)),
		"moe":                  operators(moeKernel),
		"moe_backends":         operators(backendKernel),
		"custom_allreduce":     operators(customAllReduce),
		"nccl":                 readNCCL,
	}
}

// Draw is what an accelerator of a measured server drew.
type Draw struct {
	accuracy.Group
	Accelerator *hardware.Accelerator
	// Usage is what steps ask of the accelerator if they take as long as they were measured to.
	Usage hardware.Usage
	Watts float64
}

// Draws returns what was measured of the power of accelerators, with the work of steps as p
// predicts it.
func (d *Data) Draws(p accuracy.Physics) []Draw {
	var list []Draw
	for i := range d.tables {
		for _, e := range d.tables[i].experiments {
			if e.full != nil {
				if draw, ok := e.draw(&p); ok {
					list = append(list, draw)
				}
			}
		}
	}
	return list
}

// draw reports false where the row lacks rate or power, or its steps cannot be predicted.
func (t *trial) draw(p *accuracy.Physics) (Draw, bool) {
	mean, usage, err := t.full(p)
	found := map[string]float64{}
	for _, m := range t.measured {
		found[m.Quantity] = m.Value
	}
	rate, power := found["output rate"], found["power"]
	if err != nil || rate <= 0 || power <= 0 {
		return Draw{}, false
	}
	time := mean * rate / float64(t.count) // predicted over measured
	return Draw{t.place.Group, &t.accelerator, usage.Mixed(time, hardware.Usage{}),
		power / float64(t.Parallelism.Accelerators())}, true
}
