package validation

import (
	"fmt"
	"strings"

	"github.com/llmsim/llmsim/hardware"
	"github.com/llmsim/llmsim/internal/validation/accuracy"
)

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
