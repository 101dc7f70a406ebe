package validation

import (
	"cmp"
	"fmt"
	"strings"
)

// Servers at a fixed number of clients, aggregated or with prefill and decode apart
// (ai-dynamo/aiconfigurator, silicon_sample.csv). A server has the flags of its row, and otherwise
// the flags of InferenceX's scripts or the engine's defaults; flags in doubt, which begin with "?",
// set nothing. Servers with multi-token prediction are predicted with the acceptance that drafts.go
// takes for random prompts, and nothing is fitted to them. From 64 clients on, 4 requests for each
// client are simulated, and the first wave counts for a tenth. Left out are rows of fleets, rows
// whose experts are spread over another number of GPUs, rows that multi-token prediction must have
// made faster than a similar row, rows whose layout is in doubt (?layout), and others that the
// tables' notes name.
// readSilicon reads aggregated servers. readSiliconApart reads rows with prefill and decode apart.
func readSilicon(c *catalogs, t *table) []*trial {
	drafted := speculativeTwins(t)
	return t.trials(func(r *row) (*trial, string) {
		if drafted[r.line] {
			return nil, "faster than its twin: multi-token prediction was on"
		}
		return c.described(r, siliconClients)
	})
}

func siliconClients(_ *catalogs, r *row, t *trial) string {
	t.spread(r, "attention_dp", "moe_ep")
	if why := otherExperts(r); r.err != nil || why != "" {
		return why
	}
	if strings.HasPrefix(t.Engine.Preset, "vllm") && t.Parallelism.Data > 1 {
		t.joinRanks()
	}
	t.siliconFlags(r)
	t.nightlyVersion(r.text("month"))
	t.closed()
	flags := r.text("script_flags")
	if withMTP(flags) {
		if !t.draft(parseStartFlags(flags).drafted(), acceptanceOf(t.output)) {
			return "multi-token prediction was on, and the drafts of its model are not known"
		}
		t.measuredWithDrafts()
	}
	if t.Parallelism.Data > 1 {
		t.Name += fmt.Sprintf(", attention DP %d", t.Parallelism.Data)
	}
	return ""
}

// joinRanks makes one tensor-parallel group of what the table gives as data-parallel ranks of the
// same number of GPUs each. Each such row of vLLM has a twin with tensor and expert parallelism
// over tp GPUs, whose times it has to 1 %: the column counts the same GPUs again.
func (d *deployment) joinRanks() {
	if d.Parallelism.Data = 0; d.Parallelism.Expert > 1 {
		d.Parallelism.Expert = d.Parallelism.Tensor
	}
}

// spread sets data and expert parallelism from the columns of those names, the latter ending in
// _ep. Absent, and 0, count as 1. Beside data-parallel ranks, experts are split over all of them
// where the column ending in _tp instead says so and there are eight ranks at most: over more,
// engines spread them, whatever degree they are given (SGLang with --moe-a2a-backend deepep).
func (d *deployment) spread(r *row, data, expert string) {
	p := &d.Parallelism
	if p.Data = int(r.number(data + "|=1")); p.Data <= 1 {
		p.Data = 0
	}
	split := p.Data > 1 && p.Data <= 8 && r.number(strings.TrimSuffix(expert, "ep")+"tp|=1") > 1
	if p.Expert = int(r.number(expert + "|=1")); p.Expert <= 1 && !split || d.model == nil ||
		d.model.Experts() == nil {
		p.Expert = 0
	}
	if p.Data > maxBatch || p.Expert > maxBatch {
		r.fail(fmt.Errorf("%s, %s: found %d and %d, want at most %d", data, expert, p.Data,
			p.Expert, maxBatch))
	}
}

// Accelerators that are no GPU: Gaudi 3 and TPU v7 under vLLM, at a fixed number of clients
// (SemiAnalysisAI/InferenceX-app).
func otherRow(_ *catalogs, r *row, t *trial) string {
	chips, devices := r.count("chips"), r.count("devices")
	data := r.count("dp|=1")
	if r.err != nil {
		return ""
	}
	// A TPU v7 is two devices to its software and one accelerator here.
	t.Parallelism.Tensor, t.least = max(1, t.Parallelism.Tensor*chips/devices), drawnLength
	if data > 1 {
		t.Parallelism.Data, t.Parallelism.Tensor = max(1, data*chips/devices), 1
	}
	t.closed()
	return ""
}

// Nightly runs of InferenceX as its web application has them (SemiAnalysisAI/InferenceX-app): the
// loads of silicon_2026, with medians of every run. Most runs have no mean.
func appRow(_ *catalogs, r *row, t *trial) string {
	t.version = cmp.Or(release.FindString(r.text("image")),
		nightlyRelease(t.Engine.Preset, r.text("date")))
	p := &t.Parallelism
	if p.Expert = r.count("ep|=1"); p.Expert == 1 {
		p.Expert = 0
	}
	if r.err != nil {
		return ""
	}
	if r.text("dp_attention") == "1" {
		p.Data, p.Tensor, p.Expert = p.Tensor, 1, 0
	}
	t.least = drawnLength
	t.publicFlags(r.text("image"), r.text("date")[:min(7, len(r.text("date")))])
	if !t.wideCache(r.text("image"), true) {
		t.narrowCache()
	}
	t.closed()
	if r.text("spec_method") != "none" {
		if !t.draft(nightlyDrafts(t.Engine.Preset, p.Data > 1), acceptanceOf(t.output)) {
			return "multi-token prediction was on, and the drafts of its model are not known"
		}
		// as flags of silicon_2026's servers with drafts have it
		delete(t.Batching.Params, "wait-steps")
		t.measuredWithDrafts()
	}
	return ""
}

// readSiliconApart reads servers with prefill and decode apart, as fleets lists them. A row without
// the number of workers is taken where one configuration fits it, and where that runs without
// multi-token prediction.
func readSiliconApart(c *catalogs, t *table) []*trial {
	survey := surveyApart(t)
	return t.trials(func(r *row) (*trial, string) {
		f, why := survey.fleet(r)
		if why != "" {
			return nil, why
		}
		return c.siliconPools(r, f), ""
	})
}

// siliconPools returns what a row and, unless it is nil, the published fleet describe: clients of
// servers with prefill and decode apart.
func (c *catalogs) siliconPools(r *row, f *fleet) *trial {
	engine := r.engine("backend")
	t := &trial{count: r.batch("concurrency"), prompt: r.count("isl"), output: r.count("osl"),
		least: drawnLength, part: part{measured: r.figures()}}
	s := &disaggregated{prefill: c.siliconPool(r, engine, "prefill"),
		decode: c.siliconPool(r, engine, "decode"), frontends: manyFrontends}
	if r.err != nil {
		return nil
	}
	if f != nil {
		s.prefill.shape(f.prefill())
		s.decode.shape(f.decode())
	}
	s.prefill.tokenBudget = max(16384, t.prompt) * max(1, s.prefill.Parallelism.Data)
	s.decode.maxSequences = t.count
	if f != nil {
		s.decode.maxSequences, s.frontends = f.Batch*f.DecodeData, f.Frontends
		s.prefill.tokenBudget = f.Tokens * f.PrefillData
	}
	s.decode.tokenBudget = max(8192, s.decode.maxSequences)
	if ranks := s.prefill.Parallelism.Data; ranks > 1 { // a rank takes whole prompts only
		s.prefill.maxSequences = ranks * max(1, s.prefill.tokenBudget/ranks/t.prompt)
	}
	s.prefill.gatherTokens()
	t.deployment, t.apart = s.decode.deployment, s
	t.closed()
	t.rehearsable = false
	known := "workers known"
	if !knowsWorkers(r) {
		known = "workers unknown"
	}
	t.Name = fmt.Sprintf("%s, %d prefill, %d decode, %s", known, s.prefill.workers,
		s.decode.workers, t.Name)
	return t
}

// gatherTokens has SGLang's ranks of a node compute prompts as if experts were split over them.
// Without DeepEP, which InferenceX' prefill workers go without, each gets the tokens of all, and
// its kernels take as long for whole experts as for slices of all: 1.1 to 1.2 times as long over
// four B200 in 4 bits, twice as long over eight in 8 bits (ai-dynamo/aiconfigurator, SGLang 0.5.14,
// DeepSeek-V3, tokens spread by power laws).
func (p *pool) gatherTokens() {
	if p.Engine.Preset == "sglang" && p.Parallelism.Data > 1 && p.Parallelism.Data <= 8 {
		p.Parallelism.Expert = 1
	}
}

// siliconPool returns the workers at an end of a row, prefill or decode.
func (c *catalogs) siliconPool(r *row, engine, end string) pool {
	d := c.deploy(r, r.required("model"), r.required("gpu"), r.required("precision"),
		r.count(end+"_tp"))
	d.spread(r, end+"_dp", end+"_moe_ep")
	p := pool{deployment: d, workers: r.count(end + "_workers|=1")}
	if r.atMost(end+"_workers", p.workers, maxBatch) && r.err == nil {
		p.Engine.Preset = engine
		p.nightlyVersion(r.text("month"))
		p.narrowCache()
	}
	return p
}

// shape sets the number of workers and how attention is spread over their accelerators.
func (p *pool) shape(w workers) {
	p.workers, p.Parallelism.Tensor, p.Parallelism.Data = w.count, w.tensor, w.data
	switch {
	case p.Parallelism.Data == 1:
		p.Parallelism.Data = 0
	case w.split:
		p.Parallelism.Expert = 1
	default:
		p.Parallelism.Expert = 0
	}
}

// Fleets of TensorRT-LLM workers behind Dynamo with which InferenceX measured DeepSeek-R1, February
// to March 2026, as its file .github/configs/nvidia-master.yaml and the recipes that it names have
// them. decode_batch is --max_batch_size of a decode worker, of each rank where attention is
// data-parallel; drafted is the number of tokens of multi-token prediction. Frontends are ten
// behind nginx where the recipe does not turn them off (srt-slurm, enable_multiple_frontends).
var fleets = shipped[fleet]("fleets.csv")

// fleet is one of them: a row of fleets.csv.
type fleet struct {
	Engine      string `csv:"engine"`
	GPU         string `csv:"gpu"`
	DType       string `csv:"dtype"`
	Prompt      string `csv:"isl"`
	Output      string `csv:"osl"`
	Concurrency string `csv:"concurrency"`
	// Prefill and Decode are the numbers of workers, and degrees of each of them.
	Prefill       int `csv:"prefill_workers"`
	PrefillTensor int `csv:"prefill_tp"`
	PrefillData   int `csv:"prefill_dp"`
	PrefillExpert int `csv:"prefill_ep"`
	Decode        int `csv:"decode_workers"`
	DecodeTensor  int `csv:"decode_tp"`
	DecodeData    int `csv:"decode_dp"`
	// Tokens are the tokens of a step that a rank of a prefill worker takes (--max_num_tokens),
	// Batch the sequences that a rank of a decode worker takes.
	Tokens int `csv:"prefill_tokens"`
	Batch  int `csv:"decode_batch"`
	// Drafted is the number of tokens of multi-token prediction, Frontends of routers before the
	// workers.
	Drafted   int `csv:"drafted"`
	Frontends int `csv:"frontends"`
}

// workers are servers alike, each of tensor × data accelerators. Where there are data-parallel
// ranks, split says that each expert is split over all of them, rather than experts spread.
type workers struct {
	count, tensor, data int
	split               bool
}

func (f *fleet) prefill() workers {
	return workers{f.Prefill, f.PrefillTensor, f.PrefillData,
		f.PrefillData > 1 && f.PrefillExpert == 1}
}

func (f *fleet) decode() workers { return workers{f.Decode, f.DecodeTensor, f.DecodeData, false} }

func (w workers) accelerators() int { return w.tensor * w.data }

// accelerators returns the accelerators of a worker at an end that the row names, prefill or
// decode.
func (r *row) accelerators(end string) int {
	return int(max(1, r.number(end+"_tp|=1")) * max(1, r.number(end+"_dp|=1")))
}

// published returns the fleets that may be the one of the row, without multi-token prediction and
// with it. Workers must have the number that the row says, if it does, and the size.
func published(r *row) (plain, drafting []fleet) {
	for _, f := range fleets() {
		same := f.Engine == r.text("backend") && strings.HasPrefix(r.text("gpu"), f.GPU) &&
			f.DType == r.text("precision") &&
			strings.Contains(strings.ToLower(r.text("model")), "deepseek") &&
			f.Prompt == r.text("isl") && f.Output == r.text("osl") &&
			f.Concurrency == r.text("concurrency") &&
			f.prefill().fits(r, "prefill") && f.decode().fits(r, "decode")
		switch {
		case same && f.Drafted == 0:
			plain = append(plain, f)
		case same:
			drafting = append(drafting, f)
		}
	}
	return plain, drafting
}

func (w workers) fits(r *row, end string) bool {
	return w.accelerators() == r.accelerators(end) &&
		w.count == r.count(fmt.Sprint(end, "_workers|=", w.count))
}

// apartSurvey is what the rows of a table say of each other.
type apartSurvey struct {
	// slowest and fastest are the times per output token of rows alike in all that distinguishes
	// loads apart.
	slowest, fastest map[string]float64
	// complete holds measurements of rows that have the number of workers.
	complete map[string]bool
}

func surveyApart(t *table) *apartSurvey {
	s := &apartSurvey{map[string]float64{}, map[string]float64{}, map[string]bool{}}
	for i := range t.rows {
		r := &t.rows[i]
		if !r.holds(t.kind.Rows) {
			continue
		}
		load, token := apartLoad(r), r.figure("tpot_ms")
		s.slowest[load] = max(s.slowest[load], token)
		if least, ok := s.fastest[load]; !ok || token < least {
			s.fastest[load] = token
		}
		if knowsWorkers(r) {
			s.complete[apartMeasurement(r)] = true
		}
	}
	return s
}

func knowsWorkers(r *row) bool {
	return r.text("prefill_workers") != "" && r.text("decode_workers") != ""
}

// apartLoad names the load and the size of workers. DeepSeek-R1 and V3, which are one architecture,
// count as one.
func apartLoad(r *row) string {
	fields := []string{fmt.Sprint(r.accelerators("prefill")), fmt.Sprint(r.accelerators("decode"))}
	for _, column := range []string{"backend", "gpu", "precision", "isl", "osl", "concurrency"} {
		fields = append(fields, r.text(column))
	}
	return strings.Join(fields, ",")
}

func apartMeasurement(r *row) string {
	return strings.Join([]string{apartLoad(r), r.text("ttft_ms"), r.text("tpot_ms")}, ",")
}

// fleet returns the published fleet of a row, nil where it is not published but the row itself says
// enough, or why the row is left out.
func (s *apartSurvey) fleet(r *row) (f *fleet, why string) {
	plain, drafted := published(r)
	load, known := apartLoad(r), knowsWorkers(r)
	alone := s.fastest[load] >= drafting*s.slowest[load]
	switch {
	case !known && s.complete[apartMeasurement(r)]:
		return nil, "is in the table again, with the number of workers"
	case len(drafted) > 0 && (len(plain) == 0 || r.figure("tpot_ms") < drafting*s.slowest[load]):
		return nil, "multi-token prediction was on"
	case len(plain) == 1 && (known || len(drafted) == 0 || !alone):
		return &plain[0], ""
	case known:
		return nil, ""
	case len(plain) == 0:
		return nil, "the number of workers is not known, and no configuration published fits"
	}
	return nil, "several configurations published fit"
}
