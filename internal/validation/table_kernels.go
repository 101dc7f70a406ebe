package validation

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/llmsim/llmsim/hardware"
	"github.com/llmsim/llmsim/internal/validation/accuracy"
	"github.com/llmsim/llmsim/models"
	"github.com/llmsim/llmsim/sim"
)

// Tables of single kernels are in files GPU__OPERATOR.csv, or have a column gpu, the same in all
// rows. A kernel is predicted as the operator of
// a model of one layer that is made of it, so that the prediction is the one that servers get.

// operator is a kernel of one shape, measured with several loads. One step clock predicts them all.
type operator struct {
	deployment
	allReduce allReduceKind
	// names begin the names of the step's operators that make up the kernel; runs is how many of it
	// a step has, 0 counts as 1.
	names []string
	runs  int
	// shape and variant tell it from others of its GPU; the variant is named in its group.
	shape, variant string
}

// predict returns the times of the kernel in steps.
func (o *operator) predict(p *accuracy.Physics) (func(*part) map[string]float64, error) {
	k, err := o.kernels(p, o.allReduce)
	return func(x *part) map[string]float64 {
		sum := 0.0
		for name, ms := range k.times(x.step) {
			if slices.ContainsFunc(o.names, func(begin string) bool {
				return strings.HasPrefix(name, begin)
			}) {
				sum += ms
			}
		}
		return map[string]float64{"time": sum / float64(max(1, o.runs))}
	}, err
}

// kernelOf says which kernel a row is about, and with which step it runs; nil leaves the row out.
type kernelOf func(r *row) (*operator, *sim.Step)

// operators returns what reads a table of kernels.
func operators(describe kernelOf) func(c *catalogs, t *table) []*trial {
	return func(c *catalogs, t *table) []*trial {
		if len(t.rows) == 0 {
			return nil
		}
		accelerator, err := c.accelerator(t.rows[0].value(t.kind.GPU))
		if err != nil {
			t.skip("%v", err)
			return nil
		}
		scaleUp, network, err := c.links(t.kind.Name, &accelerator)
		if err != nil {
			t.skip("%v", err)
			return nil
		}
		known := map[string]*trial{}
		var list []*trial
		t.each(func(r *row) {
			o, step := describe(r)
			measured := r.figures()
			if r.err == nil && len(measured) == 0 {
				r.fail(fmt.Errorf("latency: found %q, want a time above 0", r.text("latency")))
			}
			if r.err != nil || o == nil {
				return
			}
			o.accelerator, o.scaleUp, o.network = accelerator, scaleUp, network
			o.Parallelism.Tensor = max(1, o.Parallelism.Tensor)
			at := accuracy.Place{Group: accuracy.Group{GPU: accelerator.Name, Model: o.variant,
				TP: o.Parallelism.Tensor}, File: t.file, Line: r.line,
				Name: o.shape + ", " + loadOf(step)}
			x := known[o.shape+"|"+o.variant]
			if x == nil {
				x = &trial{deployment: o.deployment, part: part{place: at}, steps: o.predict}
				known[o.shape+"|"+o.variant] = x
				list = append(list, x)
			}
			x.parts = append(x.parts, part{place: at, measured: measured, step: step})
		})
		return list
	}
}

// oneLayer returns a model of one layer with the given width and heads.
func oneLayer(name string, hidden, heads, kvHeads, headDim int) *models.Architecture {
	attention := &models.Softmax{Heads: heads, KVHeads: kvHeads, HeadDim: headDim}
	return &models.Architecture{Name: name, Hidden: hidden,
		Groups: models.Uniform(1, attention, &models.Dense{Intermediate: heads}), Vocab: heads,
		DType: hardware.BF16}
}

// format reads the column of a number format.
func (r *row) format(column string) hardware.DType {
	d, err := parseDType(r.required(column))
	if err != nil {
		r.fail(err)
	}
	return d
}

func attentionKernel(r *row) *operator {
	heads, kvHeads, headDim := r.count("num_heads"), r.count("num_key_value_heads"),
		r.count("head_dim")
	o := &operator{names: []string{"attention_"}, shape: fmt.Sprintf("%d heads of %d, %d KV heads",
		heads, headDim, kvHeads), variant: "KV " + r.text("kv_cache_dtype")}
	o.kv = r.format("kv_cache_dtype")
	o.model = oneLayer("attention", 1, heads, kvHeads, headDim)
	if window := int(r.number("window_size|=0")); window > 0 {
		o.model.Attends().Window = window
		o.shape += fmt.Sprintf(", window %d", window)
	}
	return o
}

// mlaKernel has the widths of DeepSeek-V3 (arXiv:2412.19437, section 4.2). num_heads is what one of
// tp_size GPUs has.
func mlaKernel(r *row) *operator {
	heads := r.count("num_heads")
	o := &operator{names: []string{"attention_"}, shape: fmt.Sprintf("%d heads", heads),
		variant: "KV " + r.text("kv_cache_dtype")}
	o.kv = r.format("kv_cache_dtype")
	o.model = oneLayer("mla", 7168, heads, heads, 192)
	o.model.Groups[0].Mixer = &models.MLA{Heads: heads, QueryRank: 1536, KVRank: 512, RopeDim: 64,
		NopeDim: 128, ValueDim: 128}
	return o
}

// prompting is a kernel in a step of prompts of isl tokens after step cached ones.
func prompting(kernel func(*row) *operator) kernelOf {
	return func(r *row) (*operator, *sim.Step) {
		return kernel(r), prefill(r.batch("batch_size"), r.count("isl"), r.whole("step", 0))
	}
}

// decoding is a kernel in a step that decodes one token each over isl + step cached ones.
func decoding(kernel func(*row) *operator) kernelOf {
	return func(r *row) (*operator, *sim.Step) {
		return kernel(r), decode(r.batch("batch_size"), r.count("isl")+r.whole("step", 0))
	}
}

// gemmKernel reads matrix products: the output projection of a layer n wide whose head is k wide.
func gemmKernel(r *row) (*operator, *sim.Step) {
	m, n, k := r.count("m"), r.count("n"), r.count("k")
	o := &operator{names: []string{"out"}, shape: fmt.Sprintf("%d × %d", n, k),
		variant: r.text("gemm_dtype")}
	o.weights = r.format("gemm_dtype")
	o.model = oneLayer("gemm", n, 1, 1, k)
	return o, prefill(1, m, 0)
}

// moeKernel reads the fused kernels of routed experts on one GPU, whose share of them follows from
// the two ways to spread them.
func moeKernel(r *row) (*operator, *sim.Step) {
	return expertKernel(r, &models.MoE{Experts: r.count("num_experts"),
		Active: r.count("topk"), Intermediate: r.count("inter_size")}, r.batch("moe_tp_size"),
		r.batch("moe_ep_size"), r.text("moe_dtype"), r.value("distribution|=balanced"),
		r.count("num_tokens"))
}

// backendKernel reads the same of several back ends, which split each expert over the GPUs and have
// weights in FP8 by block (vllm-project/vllm, pull request 13932: DeepGEMM beside Triton). A
// slice has both projections into the intermediate width beside each other.
func backendKernel(r *row) (*operator, *sim.Step) {
	tensor := r.batch("tensor")
	return expertKernel(r, &models.MoE{Experts: r.count("experts"), Active: r.count("topk"),
		Intermediate: r.count("shard_intermediate_n") / 2 * tensor}, tensor, 1, "fp8_block",
		r.required("backend"), r.count("batch_tokens"))
}

// expertKernel is the kernel of routed experts, each split over tp ranks and spread over ep, with a
// step of the given tokens. Its kind distinguishes it from others of its format.
func expertKernel(r *row, experts *models.MoE, tp, ep int, format, kind string,
	tokens int) (*operator, *sim.Step) {
	hidden := r.count("hidden_size|hidden")
	o := &operator{
		names: []string{"expert_"},
		shape: fmt.Sprintf("%d of %d experts of %d × %d, TP %d, EP %d", experts.Active,
			experts.Experts, hidden, experts.Intermediate, tp, ep),
		variant: format + " " + kind,
	}
	var err error
	if o.weights, err = parseDType(format); err != nil {
		r.fail(err)
	}
	o.Parallelism.Tensor, o.Parallelism.Expert = tp*ep, ep
	o.model = oneLayer("experts", hidden, tp*ep, tp*ep, 1)
	experts.Gated = true
	o.model.Groups[0].MLP = experts
	return o, prefill(1, tokens, 0)
}

// Linear layers and the all-reduces of an iteration, by the network that joins the GPUs.
func linearAllReduceRow(c *catalogs, r *row, t *trial) string {
	step := prefill(1, r.count("num_tokens"), 0)
	if strings.Contains(r.required("network"), "pairwise") && r.err == nil {
		r.fail(t.joinPairs(c))
	}
	t.inKernels(launchedAllReduce, step, false)
	return ""
}

// joinPairs lets a bridge join the GPUs in pairs, and the host's PCIe the pairs.
func (d *deployment) joinPairs(c *catalogs) error {
	pcie, err := c.hardware.Link(d.accelerator.HostLink)
	if err != nil {
		return err
	}
	d.accelerator.PerNode, d.network = 2, &pcie
	return nil
}

// The kernels of one layer, measured apart with random data; iter_linear_ms is their sum over all
// layers.
func linearLayerRow(_ *catalogs, r *row, t *trial) string {
	t.inKernels(libraryAllReduce, prefill(1, r.count("num_tokens"), 0), false)
	return ""
}

// message_size is in elements of 2 bytes.
// customAllReduce reads vLLM's own all-reduce. Rows without a captured graph measure how fast
// the host launches it, and are left out.
func customAllReduce(r *row) (*operator, *sim.Step) {
	if why := r.ruled("refuse"); why != "" {
		r.table.leave(r, why)
		return nil, nil
	}
	return allReduceOf(r, engineAllReduce), decode(1, 1)
}

// readNCCL reads the all-reduce of NCCL. Such tables may have several rows for a size, of
// collectives that they do not name: the slowest is the all-reduce, which sends twice what a
// reduce-scatter or an all-gather does.
func readNCCL(c *catalogs, t *table) []*trial {
	list := operators(func(r *row) (*operator, *sim.Step) {
		return allReduceOf(r, libraryAllReduce), decode(1, 1)
	})(c, t)
	for _, x := range list {
		slowest := slices.MaxFunc(x.parts,
			func(a, b part) int { return cmp.Compare(a.measured[0].Value, b.measured[0].Value) })
		for range x.parts[1:] {
			t.skip("another collective of the same size, faster than the all-reduce")
		}
		x.place, x.parts = slowest.place, []part{slowest}
	}
	return list
}

// allReduceOf describes an all-reduce as part of a step of one token, whose hidden vector is the
// message.
func allReduceOf(r *row, kind allReduceKind) *operator {
	gpus, elements := r.batch("num_gpus"), r.count("message_size")
	if r.err == nil && gpus < 2 {
		r.fail(fmt.Errorf("num_gpus: found %d, want 2 or more", gpus))
	}
	o := &operator{names: []string{"all_reduce"}, allReduce: kind,
		shape: fmt.Sprintf("%d GPUs, %d elements", gpus, elements), variant: "all-reduce"}
	o.Parallelism.Tensor = gpus
	o.model = oneLayer("all-reduce", elements, gpus, gpus, 1)
	o.model.Groups[0].Parallel = true
	o.runs = o.model.AllReduces()
	return o
}

// Whole iterations without output head, sampling and host: kernels measured apart and summed.
func iterationRow(_ *catalogs, r *row, t *trial) string {
	phase, batch, tokens, kv := r.required("phase"), r.batch("batch"), r.count("tokens"),
		r.whole("kv", 0)
	var step *sim.Step
	switch phase {
	case "decode":
		step = decode(batch, kv)
	case "prefill":
		step = prefill(batch, max(1, tokens/max(1, batch)), kv)
	default:
		r.fail(fmt.Errorf("phase: found %q, want decode or prefill", phase))
	}
	t.inKernels(launchedAllReduce, step, true)
	t.Name = fmt.Sprintf("%s batch %d, %d tokens, %d cached", phase, batch, tokens, kv)
	return ""
}
