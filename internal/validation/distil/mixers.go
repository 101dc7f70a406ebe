package distil

import (
	"cmp"
	"fmt"
	"io"
	"io/fs"
	"math"
	"slices"
	"strings"

	"github.com/llmsim/llmsim/hardware"
	"github.com/llmsim/llmsim/models"
	"github.com/llmsim/llmsim/models/measured"
	"github.com/llmsim/llmsim/models/steptime"
	"github.com/llmsim/llmsim/sim"
)

// MixerError is how far predictions are from the kernels of one kind, engine and accelerator.
type MixerError struct {
	// Kind is the mixer, Phase "prefill" or "decode".
	Kind, Phase, Accelerator, Engine string
	// Kernels is the number of measured times.
	Kernels int
	// Error is the median of |predicted/measured − 1|, Ratio the median of predicted/measured.
	Error, Ratio float64
}

// mixerTable says what a table has of a kind of mixer: times of the operators of a layer whose
// names begin with parts. whole reports whether each row is a time of its own; in other tables the
// kernels of a step add up.
type mixerTable struct {
	kind  string
	whole bool
	parts []string
	// step returns the step of a row, and layer a model of one layer that is the row's mixer and as
	// good as nothing else, with what tells it from others of the table; nil leaves a row out.
	step  func(r *measured.Row) *sim.Step
	layer func(r *measured.Row) (a *models.Architecture, shape string)
}

// Parts of a layer, by the beginnings of operators' names.
var (
	attentionOnly = []string{"attention_"}
	wholeModule   = []string{"attention_", "q_a", "q_b", "kv_", "qkv", "index_", "out",
		"elementwise"}
)

// kinds returns the tables that are about mixers, by name.
func kinds() map[string]mixerTable {
	const latentModule, sparseModule, blocksModule = "latent attention, module",
		"sparse latent attention, module", "sparse attention (MiniMax-M3), module"
	return map[string]mixerTable{
		"gdn": {"gated delta net", false, attentionOnly, recurrentStep,
			delta(models.GatedDeltaNet)},
		"kda": {"Kimi delta attention", false, attentionOnly, recurrentStep,
			delta(models.KimiDelta)},
		"mamba2":                {"Mamba-2", false, attentionOnly, recurrentStep, mamba2},
		"context_mla":           {"latent attention", true, attentionOnly, prompts, latent},
		"generation_mla":        {"latent attention", true, attentionOnly, decodes, latent},
		"mla_context_module":    {latentModule, true, wholeModule, prompts, latent},
		"mla_generation_module": {latentModule, true, wholeModule, decodes, latent},
		"dsa_context_module":    {sparseModule, true, wholeModule, prompts, sparseLatent},
		"dsa_generation_module": {sparseModule, true, wholeModule, decodes, sparseLatent},
		"msa_context_module":    {blocksModule, true, wholeModule, prompts, sparseSoftmax},
		"msa_generation_module": {blocksModule, true, wholeModule, decodes, sparseSoftmax},
		"mhc_module": {"hyper-connections", false, []string{"streams", "elementwise"},
			func(r *measured.Row) *sim.Step {
				return &sim.Step{Prefill: []sim.Chunk{{New: r.Count("num_tokens")}}}
			}, streams},
	}
}

// CompareMixers predicts the kernels of the tables of a folder that are about mixers, for all
// accelerators of the catalogue and all engines that were measured.
func CompareMixers(dir fs.FS, catalog hardware.Catalog) ([]MixerError, error) {
	var results []MixerError
	for i := range catalog.Accelerators {
		a := &catalog.Accelerators[i]
		for _, engine := range engines() {
			for _, t := range tablesOf(dir, engine, a) {
				of, known := kinds()[t.Name]
				if !known || t.Engine != engine {
					continue
				}
				list, err := of.compare(dir, a, t)
				if err != nil {
					return nil, err
				}
				results = append(results, list...)
			}
		}
	}
	slices.SortStableFunc(results, func(a, b MixerError) int {
		return cmp.Or(strings.Compare(a.Kind, b.Kind), strings.Compare(a.Phase, b.Phase))
	})
	return results, nil
}

// reading is what was measured of a step of a layer, in seconds, and what predicts it.
type reading struct {
	clock   *steptime.Clock
	step    *sim.Step
	seconds float64
}

// compare predicts the kernels of one table, and returns the errors in prefill and decode.
func (of *mixerTable) compare(dir fs.FS, a *hardware.Accelerator, t measured.Table) (
	results []MixerError, err error) {
	clocks, readings := map[string]*steptime.Clock{}, map[string]*reading{}
	var failed error
	err = t.Each(dir, func(r *measured.Row) {
		step := of.step(r)
		if step == nil {
			return
		}
		weights, kv, computed := formats(r)
		layer, shape := of.layer(r)
		if layer == nil || !computed || r.Err() != nil || failed != nil {
			return
		}
		alike := fmt.Sprint(shape, weights, kv)
		if clocks[alike] == nil {
			clocks[alike], failed = steptime.New(steptime.Config{Model: layer, Accelerator: a,
				Weights: weights, KV: kv, Activations: hardware.BF16,
				Engine: steptime.Engine{Name: "kernels", Kernels: t.Engine, Graph: math.MaxInt}})
		}
		key := fmt.Sprint(alike, step.Decodes, step.Context, step.Prefill, r.Text("model_name"))
		if of.whole {
			key = fmt.Sprint(len(readings))
		}
		if readings[key] == nil {
			readings[key] = &reading{clock: clocks[alike], step: step}
		}
		readings[key].seconds += r.Number("latency", 0) / 1000
	})
	if err != nil || failed != nil {
		if err == nil {
			err = fmt.Errorf("%s: %w", t.Path, failed)
		}
		return nil, err
	}
	ratios := map[string][]float64{}
	for _, r := range readings {
		phase := "prefill"
		if r.step.Decodes > 0 {
			phase = "decode"
		}
		if predicted := of.predict(r); r.seconds > 0 && predicted > 0 {
			ratios[phase] = append(ratios[phase], predicted/r.seconds)
		}
	}
	for _, phase := range []string{"prefill", "decode"} {
		if list := ratios[phase]; len(list) > 0 {
			results = append(results, MixerError{
				Kind: of.kind, Phase: phase, Accelerator: a.Name, Engine: t.Engine,
				Kernels: len(list),
				Error:   medianOf(list, func(x float64) float64 { return math.Abs(x - 1) }),
				Ratio:   medianOf(list, func(x float64) float64 { return x }),
			})
		}
	}
	return results, nil
}

// predict returns the time of the table's parts of a step, in seconds, from a clock whose engine
// adds nothing of its own to the kernels.
func (of *mixerTable) predict(r *reading) (seconds float64) {
	for _, o := range r.clock.Breakdown(r.step) {
		if slices.ContainsFunc(of.parts,
			func(p string) bool { return strings.HasPrefix(o.Name, p) }) {
			seconds += o.Time.Seconds()
		}
	}
	return seconds
}

// medianOf returns the median of f over the list.
func medianOf(list []float64, f func(float64) float64) float64 {
	values := make([]float64, len(list))
	for i, x := range list {
		values[i] = f(x)
	}
	slices.Sort(values)
	n := len(values)
	return (values[(n-1)/2] + values[n/2]) / 2
}

// WriteMixers writes the results as a table.
func WriteMixers(w io.Writer, results []MixerError) error {
	_, err := fmt.Fprintf(w, "\n%-38s %-8s %-14s %-7s %8s %7s %20s\n", "mixer", "phase",
		"accelerator", "engine", "kernels", "error", "predicted/measured")
	for i := range results {
		r := &results[i]
		if err == nil {
			_, err = fmt.Fprintf(w, "%-38s %-8s %-14s %-7s %8d %5.1f %% %20.2f\n", r.Kind, r.Phase,
				r.Accelerator, r.Engine, r.Kernels, 100*r.Error, r.Ratio)
		}
	}
	return err
}

// prompts is a step of prompts of isl tokens after step cached ones.
func prompts(r *measured.Row) *sim.Step {
	return promptsOf(r, r.Count("isl"), int(r.Number("step", 0)))
}

func promptsOf(r *measured.Row, tokens, cached int) *sim.Step {
	s := &sim.Step{}
	for range r.Count("batch_size") {
		s.Prefill = append(s.Prefill, sim.Chunk{New: tokens, Cached: cached, Last: true})
	}
	return s
}

// decodes is a step of sequences that decode over isl+step tokens.
func decodes(r *measured.Row) *sim.Step {
	return decodesOf(r, r.Count("isl")+int(r.Number("step", 0)))
}

func decodesOf(r *measured.Row, context int) *sim.Step {
	n := r.Count("batch_size")
	return &sim.Step{Decodes: n, DecodeTokens: n, Context: int64(n) * int64(context)}
}

// recurrentStep reads the phases of linear attention. Others, such as verification of drafts, are
// left out, and the convolution, which moves activations as other element-wise kernels do.
func recurrentStep(r *measured.Row) *sim.Step {
	phase := r.Text("phase")
	switch {
	case strings.Contains(r.Text("kernel_source"), "conv"):
	case phase == "context":
		return promptsOf(r, r.Count("seq_len"), 0)
	case phase == "generation":
		return decodesOf(r, 1)
	}
	return nil
}

// formats reads the number formats of products and cache, 16 bits where a table has no such column;
// what is computed in others is left out.
func formats(r *measured.Row) (weights, kv hardware.DType, ok bool) {
	weights, ok = map[string]hardware.DType{"": hardware.BF16, "bfloat16": hardware.BF16,
		"fp8_block": hardware.FP8Block}[r.Text("gemm_type")]
	kv, known := map[string]hardware.DType{"": hardware.BF16, "bfloat16": hardware.BF16,
		"float16": hardware.BF16, "fp8": hardware.FP8}[r.Text("kv_cache_dtype")]
	return weights, kv, ok && known
}

// oneLayer returns a model of one layer.
func oneLayer(hidden int, mixer models.Mixer) *models.Architecture {
	return &models.Architecture{Name: "a layer", Hidden: hidden, Vocab: 8, MaxContext: 1 << 24,
		DType: hardware.BF16, Groups: []models.Group{{Count: 1, Mixer: mixer, Norms: 1}}}
}

// delta reads linear attention with the delta rule.
func delta(kind models.RecurrentKind) func(r *measured.Row) (*models.Architecture, string) {
	return func(r *measured.Row) (*models.Architecture, string) {
		m := deltaMixer(kind, r)
		return oneLayer(r.Count("d_model"), m), fmt.Sprint(*m)
	}
}

// deltaMixer reads a mixer with the delta rule, whose states are in 32 bits.
func deltaMixer(kind models.RecurrentKind, r *measured.Row) *models.Recurrent {
	return &models.Recurrent{Kind: kind, Heads: r.Count("num_v_heads"),
		KeyHeads: r.Count("num_k_heads"), KeyDim: r.Count("head_k_dim"),
		ValueDim: r.Count("head_v_dim"), Conv: r.Count("d_conv"), GateRank: 128,
		StateType: hardware.FP32}
}

func mamba2(r *measured.Row) (*models.Architecture, string) {
	m := &models.Recurrent{Kind: models.Mamba2, Heads: r.Count("nheads"),
		KeyHeads: r.Count("n_groups"), KeyDim: r.Count("d_state"), ValueDim: r.Count("head_dim"),
		Conv: r.Count("d_conv"), StateType: hardware.FP32}
	return oneLayer(r.Count("d_model"), m), fmt.Sprint(*m)
}

// latent reads multi-head latent attention with the widths of DeepSeek-V3 (arXiv:2412.19437,
// section 4.2).
func latent(r *measured.Row) (*models.Architecture, string) {
	m := &models.MLA{Heads: r.Count("num_heads"), QueryRank: 1536, KVRank: 512, RopeDim: 64,
		NopeDim: 128, ValueDim: 128}
	return oneLayer(7168, m), fmt.Sprint(m.Heads)
}

// sparseLatent reads latent attention with an indexer, with the widths of DeepSeek-V3.2 or GLM-5
// (their config.json).
func sparseLatent(r *measured.Row) (*models.Architecture, string) {
	a, _ := latent(r)
	m := a.Groups[0].Mixer.(*models.MLA)
	m.Indexer = &models.Indexer{Heads: 64, Dim: 128, TopK: 2048}
	if r.Text("architecture") == "GlmMoeDsaForCausalLM" {
		a.Hidden = 6144
		m.QueryRank, m.NopeDim, m.ValueDim, m.Indexer.Heads = 2048, 192, 256, 32
	}
	return a, fmt.Sprint(m.Heads, a.Hidden)
}

// sparseSoftmax reads attention to chosen blocks, with the widths of MiniMax-M3 (its config.json),
// whose 64 heads share 4 KV heads.
func sparseSoftmax(r *measured.Row) (*models.Architecture, string) {
	heads := r.Count("num_heads")
	if heads > 64 {
		return nil, ""
	}
	return oneLayer(6144, &models.Softmax{
		Heads: heads, KVHeads: max(1, heads/16), HeadDim: 128, QKNorm: true,
		Indexer: &models.Indexer{Heads: 4, Dim: 128, TopK: 16 * 128, FromInput: true,
			Unweighted: true},
	}), fmt.Sprint(heads)
}

// streams reads the mixtures of streams before and after the mixer and the MLP of a layer, which
// add up.
func streams(r *measured.Row) (*models.Architecture, string) {
	a := oneLayer(r.Count("hidden_size"), &models.Softmax{Heads: 1, KVHeads: 1, HeadDim: 8,
		NoRotary: true})
	a.Streams, a.NoFinalNorm = r.Count("hc_mult"), true
	a.Groups[0].Norms, a.Groups[0].MLP = 0, &models.Dense{Intermediate: 1}
	return a, fmt.Sprint(a.Streams, a.Hidden)
}
