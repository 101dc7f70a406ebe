package validation

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/llmsim/llmsim/hardware"
	"github.com/llmsim/llmsim/internal/validation/accuracy"
	"github.com/llmsim/llmsim/models"
	"github.com/llmsim/llmsim/models/engines"
	"github.com/llmsim/llmsim/models/steptime"
	"github.com/llmsim/llmsim/sim"
)

// Every step of a vLLM server (ai-dynamo/aiconfigurator, fpm_golden_runs). The file's name states
// model and parallelism: MODEL__tpN_dpN_epN.csv. The tables do not name the GPU: likely a B300.
const (
	stepVersion = "0.20"
	// sampledSteps is the number of steps of each kind that are compared, evenly over the run by
	// their measured times.
	sampledSteps = 40
)

// timedStep is one row.
type timedStep struct {
	line int
	step *sim.Step
	ms   float64
}

func readSteps(c *catalogs, t *table) []*trial {
	spread, ok := parseDegrees(nameParts(t.file)[1])
	if !ok {
		t.skip("the name of the file does not say how the model is spread")
		return nil
	}
	r := t.whole()
	x := c.trial(r)
	switch {
	case r.err != nil:
		t.skip("%v", r.err)
		return nil
	case spread.data > 1:
		t.skip("only one of the data-parallel ranks is logged, which waits for the others")
		return nil
	}
	x.version, x.Parallelism.Tensor = stepVersion, spread.tensor
	spread.apply(&x.deployment)
	x.machine = accuracy.Machine("vllm_steps", x.accelerator.Name)
	x.place = accuracy.Place{Group: x.group(), File: t.file, Line: 2, Name: "steps of a run"}
	var list []timedStep
	t.each(func(r *row) {
		if step := r.step(); step != nil && r.err == nil {
			list = append(list, timedStep{r.line, step, r.number("step_ms")})
		}
	})
	x.timed(apart(list))
	return []*trial{x}
}

// timed makes steps of a run the parts of the trial: the time of all, and some steps of each kind.
func (t *trial) timed(list []timedStep) {
	const run, prompts, decodes = "time of steps", "prompt step", "decode step"
	all, kinds := 0.0, map[string][]timedStep{}
	for _, x := range list {
		name := decodes
		if len(x.step.Prefill) > 0 {
			name = prompts
		}
		kinds[name] = append(kinds[name], x)
		all += x.ms
	}
	t.steps = func(p *accuracy.Physics) (func(*part) map[string]float64, error) {
		clock, err := t.clock(p)
		return func(of *part) map[string]float64 {
			if of.place.Name != t.place.Name {
				took := clock.Duration(of.step).Milliseconds()
				return map[string]float64{prompts: took, decodes: took}
			}
			sum := 0.0
			for _, x := range list {
				sum += clock.Duration(x.step).Milliseconds()
			}
			return map[string]float64{run: sum}
		}, err
	}
	if all == 0 {
		return
	}
	ms := func(name string, value float64) []accuracy.Measurement {
		return []accuracy.Measurement{{Quantity: name, Unit: "ms", Value: value}}
	}
	t.parts = []part{{place: t.place, step: list[0].step, measured: ms(run, all)}}
	for _, name := range []string{prompts, decodes} {
		of := kinds[name]
		slices.SortStableFunc(of, func(a, b timedStep) int { return cmp.Compare(a.ms, b.ms) })
		sampled, n := 0, min(sampledSteps, len(of))
		for i, x := range of {
			one := part{place: t.place, step: x.step}
			one.place.Line, one.place.Name = x.line, describeStep(x.step)
			if sampled < n && i == sampled*len(of)/n {
				one.measured = ms(name, x.ms)
				sampled++
			}
			t.parts = append(t.parts, one)
		}
	}
}

// apart leaves out pairs of steps whose outputs were handled together, so that the first has the
// time of both: the second has prompts, and takes less than any step that only decodes.
func apart(list []timedStep) []timedStep {
	fastest := math.Inf(1)
	for _, x := range list {
		if len(x.step.Prefill) == 0 {
			fastest = min(fastest, x.ms)
		}
	}
	var alone []timedStep
	for _, x := range list {
		switch {
		case len(x.step.Prefill) == 0 || x.ms >= fastest:
			alone = append(alone, x)
		case len(alone) > 0 && alone[len(alone)-1].line == x.line-1:
			alone = alone[:len(alone)-1]
		}
	}
	return alone
}

// step returns the step of a row, nil for outliers.
func (r *row) step() *sim.Step {
	prompts, tokens := r.whole("prefill_requests", 0), r.whole("prefill_tokens", 0)
	cached, decodes := r.whole("prefill_kv_tokens", 0), r.whole("decode_requests", 0)
	context := r.whole("decode_kv_tokens", 0)
	if prompts > maxBatch || decodes > maxBatch || prompts > tokens {
		r.fail(fmt.Errorf("found %d prompts of %d tokens and %d sequences, want at most %d and a "+
			"token each", prompts, tokens, decodes, maxBatch))
	}
	outlier := r.text("outlier") == "1"
	if r.err != nil || outlier || prompts+decodes == 0 || r.number("step_ms") <= 0 {
		return nil
	}
	s := &sim.Step{Decodes: decodes, DecodeTokens: decodes, Context: int64(context)}
	for i := range prompts { // the rows have sums: all prompts are taken to be equal
		s.Prefill = append(s.Prefill, sim.Chunk{New: (tokens + i) / prompts,
			Cached: (cached + i) / prompts, Last: true})
	}
	return s
}

// Times of single steps inside an engine: prompts that are computed together, and sequences that
// decode at a context. TensorRT-LLM 0.5 and FasterTransformer were measured without a server.
func firstTokenRow(_ *catalogs, _ *row, t *trial) string {
	t.session = t.Engine.Preset == "trtllm-tensorrt"
	t.inSteps(map[string]*sim.Step{"first token": prefill(t.count, t.prompt, 0)})
	return ""
}

func tokenTimeRow(_ *catalogs, _ *row, t *trial) string {
	t.session = t.Engine.Preset == "trtllm-tensorrt"
	t.inSteps(map[string]*sim.Step{"token": decode(t.count, t.prompt)})
	return ""
}

// An engine of 2023 without captured graphs: prompts of a batch are computed in one step, then all
// decode together.
func eagerRow(_ *catalogs, r *row, t *trial) string {
	// Answers that ended early have fewer tokens, as the ratio of end-to-end times shows.
	t.output = max(1, int(float64(t.output)*min(1, r.number("e2e_ratio|=1"))))
	t.inSteps(map[string]*sim.Step{"prompt": prefill(t.count, t.prompt, 0),
		"token": decode(t.count, t.prompt+(t.output+1)/2)})
	t.Name = fmt.Sprintf("batch %d, %d in, %d out", t.count, t.prompt, t.output)
	return ""
}

// One user of llama.cpp: tokens a second of decoding from an empty context, and of reading a
// prompt.
// A prompt is computed in batches of promptBatch tokens (-ub). Up to batchesAhead of them (-b 2048)
// follow each other through several devices, which each have some of the layers.
const (
	promptBatch  = 512
	batchesAhead = 4
)

func llamaCppRow(_ *catalogs, r *row, t *trial) string {
	devices, quantity := r.batch("count"), "decode rate"
	t.count, t.prompt = 1, r.count("tokens|=512")
	switch phase := r.required("phase"); phase {
	case "decode":
	case "prefill":
		quantity = "prefill rate"
	default:
		r.fail(fmt.Errorf("phase: found %q, want decode or prefill", phase))
	}
	r.atMost("tokens", t.prompt, maxRequests)
	t.measured = r.measured([]figure{{Column: "tokens_per_s", Quantity: quantity,
		Unit: "tokens/s", Scale: 1}})
	t.clocked(func(clock *steptime.Clock) map[string]float64 {
		if quantity == "decode rate" { // a token passes all devices in turn
			token := clock.Duration(decode(1, max(1, t.prompt/2))).Seconds()
			return map[string]float64{quantity: 1 / token}
		}
		var all sim.Time
		for done := 0; done < t.prompt; done += promptBatch {
			all += clock.Duration(prefill(1, min(promptBatch, t.prompt-done), done))
		}
		return map[string]float64{
			quantity: float64(t.prompt) * t.overlap(devices) / all.Seconds()}
	})
	t.Name = fmt.Sprintf("%d × %s, %d tokens", devices, r.text("device"), t.prompt)
	return ""
}

// overlap returns how many devices compute a prompt at the same time, on average: devices wait
// while they have no batch yet or no more. With 4-bit weights they do not: two devices and four
// read prompts equally fast.
func (t *trial) overlap(devices int) float64 {
	if t.weights != hardware.FP16 {
		return 1
	}
	batches := min(batchesAhead, (t.prompt+promptBatch-1)/promptBatch)
	return float64(batches*devices) / float64(batches+devices-1)
}

// llama.cpp on a DGX Spark: sequences that are read one after another and then decode together, and
// one sequence behind a context (ggml-org/llama.cpp, benches/dgx-spark.md).
// microBatch is the number of tokens of a prompt that are computed together (-ub).
const microBatch = 2048

func batchedRow(_ *catalogs, r *row, t *trial) string {
	depth, generated := r.whole("depth", 0), r.count("generated")
	if t.prompt > maxRequests || depth > maxRequests {
		r.fail(fmt.Errorf("prompt, depth: found %d and %d, want at most %d", t.prompt, depth,
			maxRequests))
	}
	if r.err != nil {
		return ""
	}
	t.clocked(func(clock *steptime.Clock) map[string]float64 {
		var read sim.Time
		together := max(1, min(t.count, microBatch/t.prompt)) // sequences of a micro-batch
		for done := 0; done < t.prompt; done += microBatch {
			read += clock.Duration(prefill(together, min(microBatch, t.prompt-done),
				depth+done))
		}
		context := t.prompt + generated/2
		if r.text("test") == "single" {
			context = depth + generated/2
		}
		token := clock.Duration(decode(t.count, context))
		return map[string]float64{"prefill rate": float64(together*t.prompt) / read.Seconds(),
			"decode rate": float64(t.count) / token.Seconds()}
	})
	return ""
}

// DeepSeek-V3 on many nodes, tokens a second a node of eight: production figures and a blog.
// What the pages say of the load and the tables do not: sequences an accelerator while decoding,
// tokens an accelerator in a prefill step, and the mean context. SGLang's blog (LMSYS, May 2025):
// batches of 256 and inputs of 2,000 tokens, 16,384 prompt tokens an accelerator. DeepSeek's
// (open-infra-index, day 6): 20-22 tokens/s a user, contexts of 4,989 tokens on average.
const (
	wideBatch, wideChunk = 256, 16384
	productionContext    = 4989
	productionSpeed      = 21.0 // tokens/s a user
	productionCached     = 0.563
)

func wideEPRow(_ *catalogs, r *row, t *trial) string {
	if _, err := fmt.Sscanf(r.required("parallel"), "EP%d", &t.Parallelism.Data); err != nil ||
		t.Parallelism.Data < 2 || t.Parallelism.Data > 1024 {
		r.fail(fmt.Errorf("parallel: found %q, want EP and a number from 2 to 1024",
			r.text("parallel")))
	}
	prompts := strings.HasPrefix(r.required("phase"), "prefill")
	production := r.text("input_len") == ""
	t.prompt = r.count(fmt.Sprint("input_len|=", productionContext))
	if r.err != nil {
		return ""
	}
	t.kv = hardware.BF16
	t.clocked(func(clock *steptime.Clock) map[string]float64 {
		rate := t.wideRate(clock, prompts, production)
		return map[string]float64{"tokens a node": 8 * rate / float64(t.Parallelism.Data)}
	})
	return ""
}

// wideRate returns the tokens a second of all ranks, of one step.
func (t *trial) wideRate(clock *steptime.Clock, prompts, production bool) float64 {
	if prompts {
		chunks := max(1, wideChunk/t.prompt) * t.Parallelism.Data
		step := clock.Duration(prefill(chunks, t.prompt, 0)).Seconds()
		rate := float64(chunks*t.prompt) / step
		if production { // tokens found in the cache are counted
			rate /= 1 - productionCached
		}
		return rate
	}
	batch := wideBatch
	step := func(n int) float64 {
		return clock.Duration(decode(n*t.Parallelism.Data, t.prompt)).Seconds()
	}
	if production { // the number that keeps the speed of a user
		for batch = 1; batch < maxBatch && step(batch+1)*productionSpeed < 1; batch++ {
		}
	}
	return float64(batch*t.Parallelism.Data) / step(batch)
}

// planned predicts figures from how the memory of the server is divided.
func (t *trial) planned(figures func(*steptime.MemoryPlan) map[string]float64) {
	t.shown = "The row's figures are sizes of this server's KV cache: llmsim memory FILE"
	t.steps = func(p *accuracy.Physics) (func(*part) map[string]float64, error) {
		made, err := t.served()
		if err != nil {
			return nil, err
		}
		server, err := made.fitting(p)
		return func(*part) map[string]float64 { return figures(&server.Plan) }, err
	}
}

// The blocks were resolved by vLLM servers with the limits and the version of the vLLM runs.
func kvBlockRow(_ *catalogs, r *row, t *trial) string {
	r.required("gpu_memory_utilization")
	t.planned(func(plan *steptime.MemoryPlan) map[string]float64 {
		return map[string]float64{"KV blocks": float64(plan.Blocks)}
	})
	t.Name = fmt.Sprintf("utilisation %g", t.Memory.Utilization)
	return ""
}

// lastPagedTokens is the last release known to log the pages of one group as its tokens (a start of
// v0.20.0 does, one of v0.25.1 does not).
const lastPagedTokens = "0.20.0"

// What servers logged of their caches when they started. An empty cell is the engine's default.
// The bytes are of the first rank, and the tokens of the rank with the least room: the last stage
// of a pipeline. Where layers of several kinds share pages, vLLM logged the pages of one group of
// layers as tokens, and later the longest contexts times how many of them it expects to run.
func kvCapacityRow(c *catalogs, r *row, t *trial) string {
	used, before := r.figure("weights_gib")+r.figure("kv_gib"), 0.0
	_, err := fmt.Sscanf(r.text("note"), "avail before/after weights %f/", &before)
	switch {
	case err == nil && before < t.accelerator.Memory/(2<<30):
		return "other programs had most of the memory"
	case r.text("gpu") == "A100" && used < 40:
		t.accelerator, err = c.accelerator("A100 40GB")
		if err != nil {
			r.fail(err)
		}
	}
	form, named := models.ReadRelease(r.text("model"))
	switch {
	case r.text("weights_format") != "":
	case named && form.Weights != "":
		t.weights = form.Weights
	case t.model.DType != "":
		t.weights = t.model.DType
	}
	logged, said := r.figure("weights_gib"), float64(t.model.WeightBytesPerGPU(t.weights,
		t.Parallelism.Tensor, 1))/(1<<30)
	if (t.weights == hardware.INT4 || t.weights == hardware.FP4) && logged > 1.25*said {
		return "more of the checkpoint is in 16 bits than its name says"
	}
	share := r.figure("--swa_full_tokens_ratio")
	switch k := t.model.SequenceState(1, t.kv); {
	case share > 0 && t.Engine.Preset == "sglang":
		t.Memory.WindowShare, t.Memory.Policy = share, "radix"
	case engines.Of(t.Engine.Preset) == "vllm" && k.Windowed+k.Fixed > 0:
		t.Memory.Policy = "hybrid"
	}
	// vLLM counts how many contexts run while a step computes so many tokens of each.
	step, contexts := int(r.figure("max_num_batched_tokens")), 0.0
	_, note, _ := strings.Cut(r.text("note"), "max concurrency ")
	if _, err := fmt.Sscanf(note, "%fx", &contexts); err == nil && step > 0 {
		t.measured = append(t.measured, accuracy.Measurement{Quantity: "KV contexts",
			Unit: "sequences", Value: contexts})
	}
	version, _ := engines.ParseVersion(r.text("version"))
	last, _ := engines.ParseVersion(lastPagedTokens)
	t.planned(func(plan *steptime.MemoryPlan) map[string]float64 {
		figures := map[string]float64{}
		k := t.model.SequenceState(1, t.kv)
		pages := models.SharePages(t.model.States(t.Parallelism.Tensor, t.kv), 16)
		switch {
		case k.Windowed == 0 && k.Fixed == 0 || t.Engine.Preset == "sglang":
			figures["KV tokens"] = float64(plan.Tokens)
			figures["KV contexts"] = float64(plan.Tokens) / float64(plan.ContextTokens)
		case pages.Bytes > 0 && version.Compare(last) <= 0:
			figures["KV tokens"] = float64(pages.Logged(plan.KV))
			fallthrough
		case pages.Bytes > 0:
			figures["KV contexts"] = plan.KV / pages.Bytes /
				float64(pages.Of(plan.ContextTokens, step))
		}
		if t.Parallelism.Pipeline == 1 {
			figures["KV memory"] = plan.KV / (1 << 30)
		}
		return figures
	})
	t.Name = r.text("id")
	return ""
}
