// Package published reads tables of published training runs, as ../shared/anchors/training has
// them, and holds what training computes against them.
package published

import (
	"fmt"
	"io/fs"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/llmsim/llmsim/hardware"
	"github.com/llmsim/llmsim/internal/files"
	"github.com/llmsim/llmsim/internal/training"
	"github.com/llmsim/llmsim/models"
)

// Row is a published run beside the job that computes it.
type Row struct {
	// Publication names the source of the row. The rows of one publication are alike.
	Publication string
	// Label distinguishes the row from others of its publication.
	Label string
	Job   training.Job
	// Step is the published seconds of a step, and Memory the bytes on one accelerator; 0 where
	// the row does not say.
	Step, Memory float64
	// Allocated reports whether Memory counts only PyTorch's allocations.
	Allocated bool
}

// Left is a row of a table that is not compared, and why.
type Left struct{ Table, Label, Why string }

// Data is the rows of all tables.
type Data struct {
	Rows []Row
	Left []Left
}

// record is a row of a CSV table by the names of its columns.
type record map[string]string

// number returns the number of the first of the columns that has one; 0 where they are absent,
// empty or no numbers.
func (r record) number(columns ...string) float64 {
	for _, column := range columns {
		v, err := strconv.ParseFloat(strings.TrimSpace(r[column]), 64)
		if err == nil && !math.IsNaN(v) && !math.IsInf(v, 0) {
			return v
		}
	}
	return 0
}

// word returns the first word of a column; "" where it is empty.
func (r record) word(column string) string {
	word, _, _ := strings.Cut(strings.TrimSpace(r[column]), " ")
	return word
}

// count returns the whole number of the first of the columns that has one, as number does.
func (r record) count(columns ...string) int {
	v := r.number(columns...)
	if v < 0 || v > 1e9 {
		return 0
	}
	return int(v)
}

// job returns the job of a row as far as the columns that tables share say: pretraining in BF16,
// with one rank of each dimension that the table does not state, and all others for data.
func (r record) job(model *models.Architecture, m training.Machine, optimizer string,
	attention training.Attention) training.Job {
	known, _ := training.FindOptimizer(optimizer)
	stated := func(columns ...string) int { return max(1, r.count(columns...)) }
	j := training.Job{Model: model, Machine: m, GPUs: r.count("gpus", "n_accel"),
		Batch: r.count("gbs_seqs", "global_batch_seqs"), Seq: r.count("seq_len_tok"),
		Precision: hardware.BF16, Optimizer: known, Method: training.Pretrain, Attention: attention}
	j.Layout = training.Layout{Tensor: stated("tp"), Pipeline: stated("pp"),
		Context: stated("cp"), Expert: stated("ep"), Virtual: stated("vp"),
		Micro: stated("mbs_seqs", "micro_batch_seqs", "micro_bs"), Recompute: training.NoRecompute}
	j.Layout.Data = j.GPUs / (j.Layout.Tensor * j.Layout.Pipeline * j.Layout.Context)
	return j
}

// rated returns the row of a job whose step follows from the rate of one accelerator in tokens a
// second.
func (r record) rated(row Row, j training.Job) (Row, string) {
	rate := r.number("tok_per_s_per_gpu", "throughput_tok_per_s_per_gpu", "tok_per_s_per_accel")
	if rate <= 0 {
		return row, "its rate is not stated"
	}
	row.Job, row.Step = j, float64(j.Batch*j.Seq)/(rate*float64(j.GPUs))
	return row, ""
}

// mostTable bounds a table, in bytes.
const mostTable = 16 << 20

// records reads a table, and returns the line of each record.
func records(fsys fs.FS, name string) (list []record, lines []int, err error) {
	data, err := files.Read(fsys, name, mostTable)
	if err != nil {
		return nil, nil, err
	}
	rows, err := files.Rows(name, data, nil)
	if err != nil {
		return nil, nil, err
	}
	for _, row := range rows[1:] {
		r := record{}
		for i, column := range rows[0].Cells {
			r[column] = row.Cells[i]
		}
		list, lines = append(list, r), append(lines, row.Line)
	}
	return list, lines, nil
}

// tables names the tables that are read, with what reads a row of each.
func tables() map[string]func(record) (Row, string) {
	return map[string]func(record) (Row, string){
		"llmfoundry_mpt_a100.csv": foundryRow, "llmfoundry_mpt_h100.csv": foundryRow,
		"megatron_papers.csv": megatronRow, "bloom_a100_sweep.csv": bloomRow,
		"megatron_bridge_2602_2604.csv": bridgeRow, "megatron_bridge_2604p1_2608.csv": bridgeRow,
		"fsdp_tpu_misc.csv": miscRow, "memory_reports.csv": memoryRow,
		"pretrain_runs.csv": pretrainRow,
	}
}

// Read reads the tables that a folder has.
func Read(fsys fs.FS) (*Data, error) {
	d := &Data{}
	for _, name := range slices.Sorted(maps.Keys(tables())) {
		if !files.Exists(fsys, name) {
			continue
		}
		list, lines, err := records(fsys, name)
		if err != nil {
			return nil, err
		}
		for i, r := range list {
			d.add(name, lines[i], r)
		}
	}
	return d, nil
}

// add adds a row of a table, to the compared rows or to the rows that are left out.
func (d *Data) add(table string, line int, r record) {
	row, why := tables()[table](r)
	if why == "" {
		if problem := row.Job.Check(); problem != nil {
			why = problem.Error()
		}
	}
	if row.Label == "" {
		row.Label = fmt.Sprintf("line %d", line)
	}
	if why != "" {
		d.Left = append(d.Left, Left{table, row.Label, why})
		return
	}
	d.Rows = append(d.Rows, row)
}

// memoryRow reads a row of torchtune's ladder of measures that save memory, as far as training
// computes them.
func memoryRow(r record) (Row, string) {
	row := Row{Publication: r["suite"], Label: r["model"] + " " + r["config"], Allocated: true}
	if r["suite"] != "torchtune ladder" || !strings.HasPrefix(r["method"], "full") {
		return row, "its settings are not stated, or not computed"
	}
	model := catalogued(r["model"])
	m, ok := machine("a100-80gb-sxm", 0)
	if model == nil || !ok {
		return row, "the catalogue has no such model"
	}
	j := r.job(model, m, "adamw-pure-16bit", training.Flash2)
	j.Method, j.GPUs, j.Layout.Data, j.Batch = training.SFT, 1, 1, j.Layout.Micro
	config, _, _ := strings.Cut(r["config"], " (")
	switch config {
	case "+compile":
	case "+chunked cross-entropy":
		j.ChunkedLoss = true
	case "+activation checkpointing":
		j.ChunkedLoss, j.Layout.Recompute = true, training.Full
	default:
		return row, "its settings are not stated, or not computed"
	}
	row.Job, row.Memory = j, r.number("mem_value")*(1<<30)
	return row, ""
}
