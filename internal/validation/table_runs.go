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
	"github.com/llmsim/llmsim/scenarios"
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
	t.atOnce()
	t.rehearsable = false
	t.figures = func(o *outcome) map[string]float64 {
		return map[string]float64{"output rate": o.outputRate(),
			"batch latency": o.last.Seconds()}
	}
	return ""
}

// One machine, one change at a time (kubernetes-sigs/inference-perf, demos/kubecon-na-2025): rising
// constant rates, under each set of flags.
// The demo's load: Llama-3.1-8B-Instruct, ten groups of ten prompts that share 128 tokens, stages
// of 60 s, at most 440 requests in flight at the client.
const (
	whatifShared   = 128
	whatifStage    = 60.0 // s
	whatifInFlight = 440
	// whatifClient is what the demo's client adds to the times that it reports, in ms: the
	// difference that is left up to 31 requests a second to the server without a change, where
	// nothing waits.
	whatifClient = 8.0
	// kept is the share of the requested rate that a stage reaches at least that is not saturated.
	kept = 0.97
)

// variant is the stages of a server under one set of flags: the parts of a trial.
type variant struct {
	*trial
	name  string
	base  *variant // what it changes; nil for the base itself
	loads []whatifLoad
}

// whatifLoad is the load of a stage.
type whatifLoad struct {
	rate, reached  float64 // requests/s
	prompt, output int
}

func readWhatIf(c *catalogs, t *table) (list []*trial) {
	var variants []*variant
	t.trials(func(r *row) (*trial, string) {
		why := r.ruled("refuse")
		x, name := c.trial(r), r.required("variant")
		r.set("variant", &x.deployment)
		l := whatifLoad{rate: r.number("requested_rate"), reached: r.number("requests_per_s"),
			prompt: r.count("prompt_mean"), output: r.count("output_mean")}
		if r.err == nil && !(l.rate*whatifStage >= 1 && l.rate*whatifStage <= maxRequests) {
			r.fail(fmt.Errorf("requested_rate: found %g, want 1 to %d requests a stage", l.rate,
				maxRequests))
		}
		if r.err != nil || why != "" {
			return nil, why
		}
		i := slices.IndexFunc(variants, func(v *variant) bool { return v.name == name })
		if i < 0 {
			i = len(variants)
			variants = append(variants, &variant{trial: x, name: name})
		}
		v := variants[i]
		v.loads = append(v.loads, l)
		v.parts = append(v.parts, part{measured: x.measured, place: accuracy.Place{
			Group: v.group(), File: t.file, Line: r.line,
			Name: fmt.Sprintf("%s, %g/s", name, l.rate)}})
		return nil, ""
	})
	for i, v := range variants {
		v.place, v.predict = v.parts[0].place, v.predictStages
		if i > 0 {
			v.base = variants[0]
		}
		for i := range v.parts {
			v.parts[i].load = v.stage(i)
		}
		list = append(list, v.trial)
	}
	return list
}

// predictStages compares stages below saturation by their medians, and the highest rate. Of a
// change, the effect is compared too: as the ratio to what the base has at the same rate.
func (v *variant) predictStages(ctx context.Context, p *accuracy.Physics) ([]accuracy.Comparison,
	error) {
	own, err := v.run(ctx, p)
	if err != nil || v.base == nil {
		return slices.Concat(own...), err
	}
	base, err := v.base.run(ctx, p)
	if err != nil {
		return nil, err
	}
	return append(slices.Concat(own...), v.effects(own, base)...), nil
}

// run predicts each stage, of which saturated ones have no figures, and last the rate at
// saturation.
func (v *variant) run(ctx context.Context, p *accuracy.Physics) ([][]accuracy.Comparison, error) {
	stages := make([][]accuracy.Comparison, len(v.parts))
	for i, x := range v.parts {
		if v.saturated(i) {
			continue
		}
		all, err := v.serve(ctx, p, x.load)
		if err != nil {
			return nil, err
		}
		figures := all.figures()
		figures["TTFT p50"] += whatifClient
		figures["E2E p50"] += whatifClient
		stages[i] = rehearsable(x.place.Compare(x.measured, figures), all.rehearsal)
	}
	all, err := v.serve(ctx, p, v.full())
	if err != nil {
		return nil, err
	}
	best := slices.MaxFunc(v.loads,
		func(a, b whatifLoad) int { return cmp.Compare(a.reached, b.reached) })
	capacity := v.parts[slices.Index(v.loads, best)].place.One("capacity", "requests/s",
		best.reached, float64(len(all.requests))/all.last.Seconds()) // the first arrive at once
	return append(stages, rehearsable(capacity, all.rehearsal)), nil
}

func (v *variant) serve(ctx context.Context, p *accuracy.Physics, load *scenarios.Workload) (
	*outcome, error) {
	d := v.deployment
	d.Workload = *load
	made, err := d.made()
	if err != nil {
		return nil, err
	}
	return made.serve(ctx, p, nil)
}

// effects compares ratios to the base: of capacities, and of medians below saturation.
func (v *variant) effects(own, base [][]accuracy.Comparison) []accuracy.Comparison {
	end := len(own) - 1
	list := []accuracy.Comparison{effect(own[end][0], &base[len(base)-1][0])}
	for i, stage := range own[:end] {
		for _, c := range stage {
			if before := v.base.interpolate(base, v.loads[i].rate, c.Quantity); before != nil {
				list = append(list, effect(c, before))
			}
		}
	}
	return list
}

// effect is a figure in units of what it was before a change.
func effect(c accuracy.Comparison, before *accuracy.Comparison) accuracy.Comparison {
	c.Quantity, c.Unit, c.Rehearsal = "effect on "+c.Quantity, "×", nil
	c.Measured, c.Predicted = c.Measured/before.Measured, c.Predicted/before.Predicted
	return c
}

// interpolate returns a figure at a rate, straight between stages that were not saturated; nil
// outside of them.
func (v *variant) interpolate(stages [][]accuracy.Comparison, rate float64,
	quantity string) (at *accuracy.Comparison) {
	for i, load := range v.loads {
		before := at
		k := slices.IndexFunc(stages[i], func(c accuracy.Comparison) bool {
			return c.Quantity == quantity
		})
		if k < 0 {
			return nil
		}
		switch at = &stages[i][k]; {
		case load.rate < rate:
		case load.rate == rate:
			return at
		case before == nil:
			return nil
		default:
			x := (rate - v.loads[i-1].rate) / (load.rate - v.loads[i-1].rate)
			return &accuracy.Comparison{
				Measured:  before.Measured + x*(at.Measured-before.Measured),
				Predicted: before.Predicted + x*(at.Predicted-before.Predicted)}
		}
	}
	return nil
}

// saturated reports whether a stage reached less than its rate.
func (v *variant) saturated(i int) bool { return v.loads[i].reached < kept*v.loads[i].rate }

// stage returns the load of a stage.
func (v *variant) stage(i int) *scenarios.Workload {
	if v.saturated(i) {
		return v.full()
	}
	l := v.loads[i]
	return v.sharing(arriving(int(math.Round(l.rate*whatifStage)), l.rate, "poisson",
		fixed(l.prompt), fixed(l.output)))
}

// full returns the load of as many requests in flight as the client may have.
func (v *variant) full() *scenarios.Workload {
	last := v.loads[len(v.loads)-1]
	return v.sharing(clients(whatifInFlight, 12*whatifInFlight, last.prompt, last.output,
		equalLength))
}

// sharing returns a load with the demo's prompts: some groups of them begin alike.
func (v *variant) sharing(load scenarios.Workload) *scenarios.Workload {
	shared := min(whatifShared, v.loads[0].prompt-1)
	for _, length := range []*int{&load.Prompt.Value, &load.Prompt.Min, &load.Prompt.Max} {
		*length = max(0, *length-shared)
	}
	load.Prefix = &scenarios.Prefix{Groups: promptGroups, Tokens: fixed(shared)}
	load.Distinct = distinctPrompts
	return &load
}
