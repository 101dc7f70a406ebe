package validation

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/llmsim/llmsim/internal/validation/accuracy"
	"github.com/llmsim/llmsim/sim"
)

// A vLLM run is a server under load stages back to back (inference-perf). Each stage sends
// rate·length requests at uniform random times, and cycles through 100 prompts in 10 groups, each
// group with a system prompt in common, with prefix caching on.
const (
	distinctPrompts = 100
	promptGroups    = 10
)

// cutOff is the latency in ms at which the client of these runs gave up; a run whose p99 comes near
// it lost requests.
const cutOff = 300e3

// systemPrompts and questions are the untokenised lengths of the profiles, by the part of the name
// before "-lite".
var profiles = map[string]struct{ system, question float64 }{
	"general": {100, 447}, "codegen": {100, 466}, "roleplay": {150, 600}, "reasoning": {100, 934},
}

// vllmRun is the stages of one server.
type vllmRun struct {
	deployment
	stages []vllmStage
}

// vllmStage is one row.
type vllmStage struct {
	accuracy.Place
	number         int
	rate, length   float64 // 1/s, s
	prompt, system int     // tokens; system of them are common to the group
	output         int
	measured       []accuracy.Measurement
	// overloaded stages are part of the load, but not compared.
	overloaded bool
}

func readVLLMRuns(c *catalogs, t *table) []experiment {
	runs := map[string]*vllmRun{}
	var order []experiment
	t.each(func(r *row) {
		model, gpu, profile := r.required("model"), r.required("gpu"), r.required("profile")
		d := c.deploy(r, model, gpu, r.required("dtype"), r.count("tensor_parallel"))
		d.Engine.Preset, d.Memory.Policy = "vllm-v1", "prefix-cache"
		d.Memory.Utilization = r.optional("gpu_memory_utilization", 0)
		d.maxSequences, d.tokenBudget, d.Engine.MaxModelLen = r.optionalCount("max_num_seqs", 128),
			r.optionalCount("max_num_batched_tokens", 2048), r.optionalCount("max_model_len", 4096)
		s := readVLLMStage(r, profile)
		if r.err != nil {
			return
		}
		s.Place = accuracy.Place{Group: d.group(), File: t.file, Line: r.line,
			Name: fmt.Sprintf("%s stage %d, %g/s", profile, s.number, s.rate)}
		if s.overloaded {
			t.skip("overloaded: requests were cut off at %g s", cutOff/1000)
		}
		key := strings.Join([]string{r.text("run"), model, gpu, profile, r.text("tensor_parallel"),
			r.text("max_num_batched_tokens")}, "|")
		if runs[key] == nil {
			runs[key] = &vllmRun{deployment: d}
			order = append(order, runs[key])
		}
		runs[key].stages = append(runs[key].stages, s)
	})
	for _, run := range runs {
		slices.SortStableFunc(run.stages, func(a, b vllmStage) int {
			return cmp.Compare(a.number, b.number)
		})
	}
	return slices.DeleteFunc(order, func(e experiment) bool { return e.(*vllmRun).lost() })
}

func readVLLMStage(r *row, profile string) vllmStage {
	s := vllmStage{
		number: r.whole("stage", 0), rate: r.number("rate_rps"), length: r.number("stage_s"),
		prompt: r.count("prompt_tokens_mean"), output: r.count("output_tokens"),
		measured: r.figures(),
	}
	if n := s.rate * s.length; r.err == nil && (n < 1 || n > maxRequests) {
		r.fail(fmt.Errorf("rate_rps and stage_s: found %g/s for %g s, want 1 to %d requests",
			s.rate, s.length, maxRequests))
	}
	shape, ok := profiles[strings.TrimSuffix(profile, "-lite")]
	if !ok {
		shape = profiles["general"]
	}
	s.system = int(math.Round(float64(s.prompt) * shape.system / (shape.system + shape.question)))
	s.overloaded = r.optional("failed", 0) > 0 || r.optional("e2e_p99_ms", 0) > 0.95*cutOff
	return s
}

// lost reports whether nothing of the run is compared.
func (v *vllmRun) lost() bool {
	return !slices.ContainsFunc(v.stages, func(s vllmStage) bool { return !s.overloaded })
}

func (v *vllmRun) at() accuracy.Place { return v.stages[0].Place }

// compare implements experiment.
func (v *vllmRun) compare(ctx context.Context, p *accuracy.Physics) ([]accuracy.Comparison, error) {
	load, starts := v.load()
	all, err := v.serve(ctx, p, load)
	if err != nil {
		return nil, err
	}
	var list []accuracy.Comparison
	for i := range v.stages {
		if s := &v.stages[i]; !s.overloaded {
			part := all.between(starts[i], starts[i+1])
			list = append(list, part.keyed(s.Place.Compare(s.measured, part.figures()))...)
		}
	}
	return list, nil
}

// load returns the requests of all stages and when each stage starts, and the end. A run whose
// first stages are not in the table starts with one as long as it takes to send every prompt once,
// so that the cache is warm.
func (v *vllmRun) load() ([]sim.Request, []sim.Time) {
	rng := rand.New(rand.NewPCG(0, 0))
	var requests []sim.Request
	at := 0.0
	send := func(s *vllmStage, n int) {
		for _, t := range spread(n, s.length, rng) {
			requests = append(requests, s.request(len(requests), sim.Seconds(at+t)))
		}
	}
	if first := v.stages[0]; first.number > 0 {
		first.length = distinctPrompts / first.rate
		send(&first, distinctPrompts)
		at += first.length
	}
	var starts []sim.Time
	for i := range v.stages {
		s := &v.stages[i]
		starts = append(starts, sim.Seconds(at))
		send(s, int(math.Round(s.rate*s.length)))
		at += s.length
	}
	return requests, append(starts, sim.Never)
}

// request returns the n-th request of the run.
func (s *vllmStage) request(n int, at sim.Time) sim.Request {
	question := n % distinctPrompts
	r := sim.Request{Arrival: at, Prompt: s.prompt, Output: s.output}
	if s.system > 0 {
		r.Content = append(r.Content, sim.Segment{ID: uint64(1 + question%promptGroups),
			Tokens: s.system})
	}
	if rest := s.prompt - s.system; rest > 0 {
		r.Content = append(r.Content, sim.Segment{ID: uint64(1 + promptGroups + question),
			Tokens: rest})
	}
	return r
}

func (v *vllmRun) rows() (list []accuracy.Place) {
	for i := range v.stages {
		list = append(list, v.stages[i].Place)
	}
	return list
}

// emit returns the whole run; the requests of the line's stage count.
func (v *vllmRun) emit(line int) emission {
	requests, starts := v.load()
	for i := range v.stages {
		if s := &v.stages[i]; s.Line == line {
			own := v.deployment
			own.Name = s.Place.Name
			return emission{server: &own, sent: &sending{requests: requests,
				counts: arrivedIn(starts[i], starts[i+1])}}
		}
	}
	return emission{}
}

// AMD's page of vLLM: throughput with the most requests that may run, and the latency of batches of
// equal requests.
var vllmOfflineRows = rowSpec{
	describe: func(_ *catalogs, r *row, t *trial) string {
		t.narrowCache()
		// The page's script: --max-num-batched-tokens 131072, --num-prompts and --max-num-seqs as
		// in the table.
		t.maxSequences, t.tokenBudget, t.Memory.LargestStep = t.count, 131072, 8192
		t.atOnce()
		t.rehearsable = false
		t.figures = func(o *outcome) map[string]float64 {
			return map[string]float64{"output rate": o.outputRate(),
				"batch latency": o.last.Seconds()}
		}
		return ""
	},
}
