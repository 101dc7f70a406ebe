package validation

import (
	"cmp"
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
	part
	number         int
	rate, length   float64 // 1/s, s
	prompt, system int     // tokens; system of them are common to the group
	output         int
}

func readVLLMRuns(c *catalogs, t *table) (list []*trial) {
	runs := map[string]*vllmRun{}
	var order []*vllmRun
	t.each(func(r *row) {
		x, profile := c.trial(r), r.required("profile")
		s := readVLLMStage(r, profile)
		if r.err != nil {
			return
		}
		s.place = accuracy.Place{Group: x.group(), File: t.file, Line: r.line,
			Name: fmt.Sprintf("%s stage %d, %g/s", profile, s.number, s.rate)}
		key := strings.Join([]string{r.text("run"), r.text("model"), r.text("gpu"), profile,
			r.text("tensor_parallel"), r.text("max_num_batched_tokens")}, "|")
		if runs[key] == nil {
			runs[key] = &vllmRun{deployment: x.deployment}
			order = append(order, runs[key])
		}
		runs[key].stages = append(runs[key].stages, s)
	})
	for _, run := range order {
		if x := run.trial(); slices.ContainsFunc(x.parts, part.compared) {
			list = append(list, x)
		}
	}
	return list
}

// trial returns the run, of which each stage is a part.
func (v *vllmRun) trial() *trial {
	slices.SortStableFunc(v.stages, func(a, b vllmStage) int {
		return cmp.Compare(a.number, b.number)
	})
	x := &trial{deployment: v.deployment, sent: &sending{drawn: v.load},
		figures: (*outcome).figures}
	starts := v.starts()
	for i := range v.stages {
		s, end := v.stages[i].part, sim.Never
		if i+1 < len(starts) {
			end = sim.Seconds(starts[i+1])
		}
		s.counts = arrivedIn(sim.Seconds(starts[i]), end)
		x.parts = append(x.parts, s)
	}
	x.place = x.parts[0].place
	return x
}

func readVLLMStage(r *row, profile string) vllmStage {
	s := vllmStage{
		number: r.whole("stage", 0), rate: r.number("rate_rps"), length: r.number("stage_s"),
		prompt: r.count("prompt_tokens_mean"), output: r.count("output_tokens"),
	}
	s.measured = r.figures()
	if n := s.rate * s.length; r.err == nil && (n < 1 || n > maxRequests) {
		r.fail(fmt.Errorf("rate_rps and stage_s: found %g/s for %g s, want 1 to %d requests",
			s.rate, s.length, maxRequests))
	}
	shape, ok := profiles[strings.TrimSuffix(profile, "-lite")]
	if !ok {
		shape = profiles["general"]
	}
	s.system = int(math.Round(float64(s.prompt) * shape.system / (shape.system + shape.question)))
	if r.number("failed|=0") > 0 || r.number("e2e_p99_ms|=0") > 0.95*cutOff {
		s.measured = nil // the stage is part of the load, but not compared
		if r.err == nil {
			r.table.skip("overloaded: requests were cut off at %g s", cutOff/1000)
		}
	}
	return s
}

// starts returns when each stage starts, in seconds. A run whose first stages are not in the table
// starts with one as long as it takes to send every prompt once, so that the cache is warm.
func (v *vllmRun) starts() []float64 {
	at := 0.0
	if first := &v.stages[0]; first.number > 0 {
		at = distinctPrompts / first.rate
	}
	var list []float64
	for i := range v.stages {
		list = append(list, at)
		at += v.stages[i].length
	}
	return list
}

// load returns the requests of all stages.
func (v *vllmRun) load() []sim.Request {
	rng := rand.New(rand.NewPCG(0, 0))
	var requests []sim.Request
	send := func(s *vllmStage, at, length float64, n int) {
		for _, t := range spread(n, length, rng) {
			requests = append(requests, s.request(len(requests), sim.Seconds(at+t)))
		}
	}
	starts := v.starts()
	if starts[0] > 0 {
		send(&v.stages[0], 0, starts[0], distinctPrompts)
	}
	for i := range v.stages {
		s := &v.stages[i]
		send(s, starts[i], s.length, int(math.Round(s.rate*s.length)))
	}
	return requests
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

// AMD's page of vLLM: throughput with the most requests that may run, and the latency of batches of
// equal requests.
func vllmOfflineRow(_ *catalogs, r *row, t *trial) string {
	t.narrowCache()
	t.atOnce()
	t.rehearsable = false
	t.figures = func(o *outcome) map[string]float64 {
		return map[string]float64{"output rate": o.outputRate(),
			"batch latency": o.last.Seconds()}
	}
	return ""
}
