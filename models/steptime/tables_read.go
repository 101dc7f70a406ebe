package steptime

import (
	"fmt"
	"io/fs"
	"maps"
	"runtime"
	"slices"
	"strings"

	"github.com/llmsim/llmsim/hardware"
	"github.com/llmsim/llmsim/models/measured"
)

// ReadTables reads the wanted kernel tables of a folder (see package measured for its layout).
// Latencies in the files are in milliseconds. Tables of unknown kernels are skipped. An error names
// the file and the row.
func ReadTables(dir fs.FS, wanted measured.Wanted) (*Tables, error) {
	if runtime.GOOS == "js" { // the page for browsers has no files, and is smaller without readers
		return nil, fs.ErrNotExist
	}
	selected, err := measured.Select(dir, wanted)
	if err != nil {
		return nil, err
	}
	t := &Tables{
		products: map[productKey]curve{}, prefill: map[attentionKey]curve{},
		decoding: map[attentionKey][]batchCurve{}, experts: map[expertsKey]curve{},
		allReduce: map[int]curve{}, library: map[int]curve{},
	}
	r := tableReader{t, map[attentionKey]map[int]curve{}, map[expertsKey]string{}}
	var paths []string
	for _, table := range selected {
		paths = append(paths, table.Path)
		read, known := r.readers()[table.Name]
		if !known {
			t.skip(table)
			continue
		}
		if err := table.Each(dir, read); err != nil {
			return nil, err
		}
		t.recordSource(table)
	}
	if len(t.products)+len(t.prefill)+len(r.batches)+len(t.experts)+len(t.allReduce)+
		len(t.library) == 0 {
		return nil, fmt.Errorf("nothing that can be used in %s; want tables such as gemm",
			strings.Join(paths, ", "))
	}
	r.finish()
	return t, nil
}

// skip notes a table of the user's own that is not understood. Published folders have tables of
// kernels for models of all kinds.
func (t *Tables) skip(table measured.Table) {
	if table.Engine == "" {
		t.skipped = append(t.skipped, table.Path)
	}
}

// recordSource notes the engine and version whose kernels a table has.
func (t *Tables) recordSource(table measured.Table) {
	if table.Engine == "" {
		return
	}
	if t.read == nil {
		t.read = map[string][]string{}
	}
	from := table.Engine + " " + table.Version
	t.read[from] = append(t.read[from], table.Name)
	if table.Instead != "" {
		t.notes = append(t.notes, fmt.Sprintf("%s: no table of %s, so that of %s", table.Name,
			table.Instead, from))
	}
}

// tableReader gathers the rows of all tables.
type tableReader struct {
	*Tables
	// batches is decode attention by number of sequences.
	batches map[attentionKey]map[int]curve
	// routing is the distribution of tokens over experts of the rows that were taken.
	routing map[expertsKey]string
}

// readers returns what reads the rows of a table of each name.
func (t *tableReader) readers() map[string]func(*measured.Row) {
	return map[string]func(*measured.Row){
		"gemm":                 t.readProduct,
		"context_attention":    t.readPrefill,
		"context_mla":          t.readPrefill,
		"generation_attention": t.readDecode,
		"generation_mla":       t.readDecode,
		"moe":                  t.readExperts,
		"custom_allreduce":     t.readAllReduce,
		"nccl":                 t.readLibrary,
	}
}

// seconds returns the latency.
func seconds(r *measured.Row) float64 { return r.Number("latency", 1e-9) / 1000 }

// TableFormat returns the number formats of weights and of the arithmetic for a name in published
// tables; false for an unknown name.
func TableFormat(name string) (weights, operand hardware.DType, known bool) {
	switch name {
	case "bfloat16", "float16", "half", "fp16", "bf16":
		return hardware.BF16, hardware.BF16, true
	case "fp8", "fp8_e4m3":
		return hardware.FP8, hardware.FP8, true
	case "fp8_block":
		return hardware.FP8Block, hardware.FP8, true
	case "int8":
		return hardware.INT8, hardware.INT8, true
	case "int4", "int4_wo":
		return hardware.INT4, hardware.BF16, true
	case "fp4", "nvfp4":
		return hardware.FP4, hardware.FP4, true
	case "w4a16_mxfp4":
		return hardware.MXFP4, hardware.BF16, true
	case "w4a8_mxfp4_mxfp8":
		return hardware.MXFP4, hardware.FP8, true
	}
	return "", "", false
}

func (t *tableReader) readProduct(r *measured.Row) {
	weights, _, known := TableFormat(r.Text("gemm_dtype"))
	k := productKey{weights, r.Count("n"), r.Count("k")}
	m, s := r.Count("m"), seconds(r)
	if known && r.Err() == nil {
		t.products[k] = t.products[k].add(float64(m), s)
	}
}

// attentionOf returns what one accelerator holds of the layer, and whether the row is about full
// attention in a known format. Latent attention has neither KV heads nor a head dimension.
func attentionOf(r *measured.Row) (attentionKey, bool) {
	kv, _, known := TableFormat(r.Text("kv_cache_dtype"))
	k := attentionKey{heads: r.Count("num_heads"), kv: kv}
	if r.Text("mla_dtype") == "" {
		k.kvHeads, k.headDim = r.Count("num_key_value_heads"), r.Count("head_dim")
	}
	window := r.Text("window_size")
	return k, known && r.Err() == nil && (window == "" || window == "0")
}

func (t *tableReader) readPrefill(r *measured.Row) {
	k, ok := attentionOf(r)
	batch, n, cached, s := r.Count("batch_size"), r.Count("isl"), r.Number("step", 0), seconds(r)
	if ok && r.Err() == nil && batch == 1 && cached == 0 {
		t.prefill[k] = t.prefill[k].add(float64(n), s)
	}
}

func (t *tableReader) readDecode(r *measured.Row) {
	k, ok := attentionOf(r)
	batch, context, s := r.Count("batch_size"), r.Number("isl", 0)+r.Number("step", 0), seconds(r)
	if !ok || r.Err() != nil {
		return
	}
	if t.batches[k] == nil {
		t.batches[k] = map[int]curve{}
	}
	t.batches[k][batch] = t.batches[k][batch].add(context, s)
}

// readExperts takes the rows whose tokens are spread most evenly over the experts, as predictions
// have it.
func (t *tableReader) readExperts(r *measured.Row) {
	weights, operand, known := TableFormat(r.Text("moe_dtype"))
	k := expertsKey{
		dtype: weights, operand: operand, hidden: r.Count("hidden_size"),
		intermediate: r.Count("inter_size"),
		active:       r.Count("topk"), experts: r.Count("num_experts"),
		tensor: r.Count("moe_tp_size"), expert: r.Count("moe_ep_size"),
	}
	tokens, s := r.Count("num_tokens"), seconds(r)
	if !known || r.Err() != nil {
		return
	}
	routing := r.Text("distribution")
	switch now, taken := t.routing[k]; {
	case taken && routing > now: // "balanced" before "power_law_1.01" before "power_law_1.2"
		return
	case !taken || routing < now:
		t.routing[k] = routing
		t.experts[k] = nil
	}
	t.experts[k] = t.experts[k].add(float64(tokens), s)
}

// readAllReduce takes the kernels of captured graphs, or the kernels of engines that do not tell
// them apart. message_size counts elements of 2 bytes.
func (t *tableReader) readAllReduce(r *measured.Row) {
	ranks, bytes, s := r.Count("num_gpus"), 2*r.Number("message_size", 1), seconds(r)
	if r.Err() == nil && !strings.HasSuffix(r.Text("kernel_source"), "eager") {
		t.allReduce[ranks] = t.allReduce[ranks].add(bytes, s)
	}
}

// readLibrary takes the all-reduces of the collective library. Where tables do not name the
// collective, the slowest of a size is the all-reduce, which sends twice what a reduce-scatter or
// an all-gather does.
func (t *tableReader) readLibrary(r *measured.Row) {
	ranks, bytes, s := r.Count("num_gpus"), 2*r.Number("message_size", 1), seconds(r)
	name := r.Text("op_name")
	if r.Err() == nil && (name == "" || name == "all_reduce") && r.Text("nccl_dtype") != "int8" {
		t.library[ranks] = t.library[ranks].add(bytes, s)
	}
}

// finish orders what was read.
func (t *tableReader) finish() {
	finishAll(t.products)
	finishAll(t.prefill)
	finishAll(t.experts)
	finishAll(t.allReduce)
	for ranks, c := range t.library {
		t.library[ranks] = c.slowest()
	}
	for k, byBatch := range t.batches {
		for _, n := range slices.Sorted(maps.Keys(byBatch)) {
			t.decoding[k] = append(t.decoding[k], batchCurve{n, byBatch[n].finish()})
		}
	}
	t.sizes = map[hardware.DType]sizes{}
	for k := range t.products {
		s := t.sizes[k.dtype]
		t.sizes[k.dtype] = sizes{append(s.n, k.n), append(s.k, k.k)}
	}
	for d, s := range t.sizes {
		slices.Sort(s.n)
		slices.Sort(s.k)
		t.sizes[d] = sizes{slices.Compact(s.n), slices.Compact(s.k)}
	}
}

func finishAll[K comparable](curves map[K]curve) {
	for k, c := range curves {
		curves[k] = c.finish()
	}
}
