package validation

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/llmsim/llmsim/hardware"
	"github.com/llmsim/llmsim/internal/validation/accuracy"
)

// MLPerf Inference, closed division, data centre: tokens a second of whole systems. All samples
// come at once. Models of more than half the memory have two pipeline stages, as in the
// configurations that submitters publish.
// benchmark is a workload of MLPerf Inference v5.1: the model, the samples of the data set, and
// mean lengths (mlcommons/inference, language/*/README.md and user.conf; the output lengths are
// TOKENS_PER_SAMPLE of the submission checker). The prompts of Llama-2-70B come from 1,056 of the
// 24,576 samples, taken from each of the four parts of OpenOrca: 221 tokens on average, ± 4
// (openshift-psap/performance-dashboard, mlperf-data/summaries/llama2-70b-99.csv).
type benchmark struct {
	architecture            string
	samples, prompt, output int
}

var benchmarks = map[string]benchmark{
	"llama2-70b-99": {"llama-2-70b", 24576, 221, 294},
	"llama3.1-8b":   {"llama-3.1-8b", 13368, 778, 128},
	"llama3.1-405b": {"llama-3.1-405b", 8313, 9428, 685},
	"mixtral-8x7b":  {"mixtral-8x7b", 15000, 430, 145},
	"deepseek-r1":   {"deepseek-v3", 4388, 800, 3886},
}

// system is what distinguishes one measured system from another.
type mlperfSystem struct{ model, checkpoint, accelerator, weights, nodes string }

// readMLPerf reads the best submission of each system: submitters tune, and the best shows what the
// hardware does.
func readMLPerf(c *catalogs, t *table) []*trial {
	best := map[mlperfSystem]*row{}
	t.each(func(r *row) {
		if why := r.ruled("refuse"); why != "" {
			t.leave(r, why)
			return
		}
		result := r.number("result")
		s := mlperfSystem{r.text("model"), r.text("used_model"), r.text("accelerator"),
			r.text("weights"), r.text("nodes")}
		if r.err != nil {
			return
		}
		if best[s] == nil {
			best[s] = r
			return
		}
		t.skip("another submission of the same system did better")
		if result > best[s].figure("result") {
			best[s] = r
		}
	})
	return t.trials(func(r *row) (*trial, string) {
		if !slices.Contains(slices.Collect(maps.Values(best)), r) {
			return nil, ""
		}
		return c.mlperf(r), ""
	})
}

func (c *catalogs) mlperf(r *row) *trial {
	name := strings.TrimSuffix(r.text("model"), ".9")
	b, ok := benchmarks[name]
	if !ok {
		r.fail(&unknownName{"benchmark", name})
		return nil
	}
	m := &trial{part: part{measured: r.figures()}}
	b.output = r.count(fmt.Sprint("tokens_per_sample|=", b.output))
	gpus := r.batch("gpus_per_node") * r.batch("nodes")
	if x := someOf.FindStringSubmatch(r.text("accelerator")); x != nil {
		n, _ := strconv.Atoi(x[1])
		gpus = min(gpus, max(1, n))
	}
	architecture, weights := b.checkpoint(r)
	m.deployment = c.deploy(r, architecture, strings.ReplaceAll(r.required("accelerator"),
		" Instinct", ""), weights, 1)
	if r.err != nil {
		return nil
	}
	m.Engine.Preset, m.version = r.ruled("engine"), r.ruled("version")
	if found := vllmRelease.FindStringSubmatch(r.text("software")); found != nil {
		m.version = found[1]
	}
	m.find()
	if !strings.HasSuffix(r.text("used_model"), "_dyn") { // scales found at run time
		m.narrowCache()
	}
	if strings.HasPrefix(m.Engine.Preset, "trtllm") {
		m.param("chunked-context", true) // enable_chunked_context
	}
	m.divide(min(gpus, max(1, m.accelerator.PerNode)))
	// The samples are shared out evenly, and one replica is simulated.
	replicas := max(1, gpus/m.Parallelism.Accelerators())
	m.sent = r.varied(max(1, b.drawn(m.measured[0].Value)/replicas), 0, b.prompt, b.output)
	m.figures = func(all *outcome) map[string]float64 {
		return map[string]float64{"output rate": float64(replicas) * all.outputRate()}
	}
	m.rehearsable = true
	m.Name = fmt.Sprintf("%s, %d × %s, best of all submitters",
		strings.TrimPrefix(round.FindString(r.table.file), "_"), gpus, m.accelerator.Name)
	if replicas > 1 {
		m.Name += fmt.Sprintf(", one of %d replicas", replicas)
	}
	return m
}

// someOf finds how many accelerators of the nodes ran, where it was not all: MI355X (x87).
var someOf = regexp.MustCompile(`\(x(\d+)\)`)

// round finds the round of MLPerf in the name of a file.
var round = regexp.MustCompile(`_v\d+(\.\d+)?`)

// checkpoint returns the model that a submission ran and the format of its weights. Where
// used_model names another model than the benchmark's, it names its format too
// (llama3_1-70b-fp8_dyn), and weights is the format of the model that it was made from.
func (b *benchmark) checkpoint(r *row) (model, weights string) {
	used := strings.Replace(r.text("used_model"), "_", ".", 1) // llama3_1
	if _, ok := benchmarks[strings.TrimSuffix(used, ".9")]; ok || used == "" {
		return b.architecture, r.required("weights")
	}
	cut := max(0, strings.LastIndex(used, "-"))
	weights, _, _ = strings.Cut(strings.TrimPrefix(used[cut:], "-"), "_")
	return used[:cut], weights
}

// vllmRelease finds the release of vLLM in the software of a submission.
var vllmRelease = regexp.MustCompile(`vLLM v?(\d+\.\d+\.\d+)`)

// stageTokens is the number of tokens, and of sequences, of a step on two H100.
const stageTokens = 1024

// divide spreads the model over as few accelerators as leave at least half of their memory to the
// cache: experts and data-parallel attention over all, other models in two stages, each by tensor
// parallelism, as submitters did with Llama-2-70B on H100 and Llama-3.1-405B on H200 and B200
// (mlcommons/inference_results_v5.0, closed/NVIDIA/configs). The step of a stage is kept as small
// as theirs (max_num_tokens), so that one does not wait for the other.
func (m *deployment) divide(gpus int) {
	weights, p := float64(m.model.WeightBytes(m.weights)), &m.Parallelism
	for p.Tensor < gpus && weights/float64(p.Tensor) > m.accelerator.Memory/2 {
		p.Tensor *= 2
	}
	switch {
	case p.Tensor == 1:
	case m.model.Experts() != nil:
		p.Data, p.Tensor = gpus, 1
	default:
		p.Pipeline, p.Tensor = 2, p.Tensor/2
		m.maxSequences, m.tokenBudget = stageTokens, stageTokens
	}
}

// shortestRun is how many seconds a run takes at least, in samples at the rate that the submitter
// aims for: 600, and a tenth more to be sure (mlcommons/inference, loadgen: min_duration of
// user.conf, and the slack of the number of samples). Samples are drawn again for that.
const shortestRun = 660

// drawn returns the number of samples of a run at a rate in tokens/s. Submitters aim for what they
// then reach.
func (b *benchmark) drawn(rate float64) int {
	return max(b.samples, int(shortestRun*rate)/b.output)
}

// ML.ENERGY's leaderboard: vLLM with a queue that is always full, so that max_num_seqs sequences
// run all the time. The shares of steps with and without a prompt are such that the batch stays
// full. Tokens are sampled from the most likely ones, so logits are sorted.
// taskPrompts are the mean lengths of the prompts of a task, which are not published: estimates
// from the data sets. The share for chats is what makes steps with a prompt longer than others by
// the factor that is measured for dense models on H100 in small batches: 7 ms for Llama-3.1-8B, 20
// ms for Gemma-3-27B.
var taskPrompts = map[string]int{"lm-arena-chat": 230, "gpqa": 280, "sourcegraph-fim": 900,
	"image-chat": 1000, "video-chat": 3000}

func mlEnergyRow(_ *catalogs, r *row, t *trial) string {
	f := &fullBatch{trial: t, gpus: r.count("gpus"), question: 300,
		answer: r.number("avg_output_len")}
	f.spreadExperts(r)
	f.batch = r.batch("avg_batch")
	if prompt, ok := taskPrompts[r.text("task")]; ok {
		f.question = float64(prompt)
	}
	switch {
	case r.err != nil:
		return ""
	case f.answer < 1 || f.answer > maxRequests:
		r.fail(fmt.Errorf("avg_output_len: found %g, want 1 to %d", f.answer, maxRequests))
		return ""
	case f.gpus != f.Parallelism.Tensor*max(1, f.Parallelism.Data):
		return "tp and dp are not the number of GPUs"
	case f.gpus == 1 && f.accelerator.Name == "b200-sxm" && f.answer > 4000:
		return slowMachine
	}
	f.machine = accuracy.Machine("ml_energy", f.accelerator.Name)
	if f.gpus == 1 {
		// Servers of one accelerator share their host with seven others.
		f.server = "ml_energy_one:"
		f.machine = accuracy.Machine("ml_energy_one", f.accelerator.Name)
	}
	t.count, t.prompt, t.output = f.batch, int(f.question), int(f.answer)
	t.steps = f.predict
	t.shown = "The row's figures are means over the steps of a batch that is always full, " +
		"with lengths that vary; llmsim roofline FILE shows any step"
	t.full = func(p *accuracy.Physics) (float64, hardware.Usage, error) {
		s, err := f.each(p)
		return s.mean, s.usage, err
	}
	t.Name = strings.TrimSpace(fmt.Sprintf("%s, batch %d, %.0f out", r.text("task"), f.batch,
		f.answer))
	return ""
}

// slowMachine is why rows of a machine are left out that waits for something else than the model:
// on single B200 steps of 8 sequences of Qwen3-8B, 14B and 30B-A3B that think take 32 to 35 ms, all
// alike, and 5 to 7 ms in other tasks of the same servers; Nemotron-Nano-12B is alike.
const slowMachine = "on single B200 long answers take 32 ms a token whatever the model"

// fullBatch is a server whose batch is always full.
type fullBatch struct {
	*trial
	gpus, batch int
	// tokens of a prompt and of an answer, on average
	question, answer float64
}

// spreadExperts sets parallelism. With experts in parallel tp is 1, and dp reports whether
// attention is spread by sequences or by heads.
func (f *fullBatch) spreadExperts(r *row) {
	f.spread(r, "dp", "ep")
	if f.Parallelism.Expert == f.gpus && f.Parallelism.Tensor == 1 && f.Parallelism.Data == 0 {
		f.Parallelism.Tensor = f.gpus
	}
	if f.Parallelism.Expert == f.gpus && f.Parallelism.Data > 0 {
		f.Parallelism.Expert = 0
	}
}

// predict returns what is predicted.
func (f *fullBatch) predict(p *accuracy.Physics) (func(*part) map[string]float64, error) {
	steps, err := f.each(p)
	if err != nil {
		return nil, err
	}
	power := float64(f.gpus) * p.PowerLaw(&f.accelerator).Watts(&f.accelerator, steps.usage)
	return func(*part) map[string]float64 {
		return map[string]float64{"output rate": float64(f.batch) / steps.mean,
			"token p50": 1000 * steps.median, "power": power,
			"energy a token": power * steps.mean / float64(f.batch)}
	}, nil
}

// fullSteps is what the steps of a full batch take, in seconds, and ask of an accelerator.
type fullSteps struct {
	mean, median float64
	usage        hardware.Usage
}

// each looks at the steps of the server. While f.batch sequences run, one in f.answer of them
// begins anew each step: a share of the steps has a prompt to compute, the others have no prompt.
// Contexts belong to sequences that are met at a random time, with lengths that vary by
// lengthSpread: long ones are met more often.
func (f *fullBatch) each(p *accuracy.Physics) (s fullSteps, err error) {
	clock, err := f.clock(p)
	if err != nil {
		return s, err
	}
	middle := int(f.question + f.answer/2*(1+lengthSpread*lengthSpread))
	plain, mixed := decode(f.batch, middle), decode(f.batch, middle)
	prompts := float64(f.batch) / f.answer // that begin in a step, on average
	share := min(1, prompts)
	mixed.Prefill = prefill(1, max(1, int(f.question*prompts/share)), 0).Prefill
	usual, slow := clock.Duration(plain).Seconds(), clock.Duration(mixed).Seconds()
	s = fullSteps{mean: (1-share)*usual + share*slow, median: usual}
	if share > 0.5 {
		s.median = slow
	}
	s.usage = clock.Usage(mixed).Mixed(share*slow/s.mean, clock.Usage(plain))
	return s, nil
}

// lengthSpread is the coefficient of variation of the lengths of answers.
const lengthSpread = 0.6
