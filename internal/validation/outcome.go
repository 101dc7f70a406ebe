package validation

import (
	"embed"
	"io/fs"
	"math/rand/v2"
	"slices"
	"sync"

	"github.com/llmsim/llmsim/internal/validation/accuracy"
	"github.com/llmsim/llmsim/metrics"
	"github.com/llmsim/llmsim/models/steptime"
	servers "github.com/llmsim/llmsim/scenarios/deployment"
	"github.com/llmsim/llmsim/scenarios/evidence"
	"github.com/llmsim/llmsim/sim"
)

// outcome is a sim.Observer that keeps every request, for exact percentiles of any part of them.
type outcome struct {
	requests []answered
	rejected int
	last     sim.Time
	// gaps are the times between tokens.
	gaps *metrics.Distribution
	// rehearsal is a sample of the steps, nil where no sample is taken.
	rehearsal *rehearsal
	// key is the server's; zero for servers apart. open reports whether requests arrive whether
	// others are answered or not.
	key  servers.Key
	open bool
}

// keyed gives comparisons the server's key and the load.
func (o *outcome) keyed(list []accuracy.Comparison) []accuracy.Comparison {
	load := o.load()
	for i := range list {
		list[i].Key, list[i].Load = o.key, load
	}
	return list
}

// load returns what the requests asked of the server.
func (o *outcome) load() evidence.Load {
	l, first, n := evidence.Load{Open: o.open}, sim.Never, float64(len(o.requests))
	for i := range o.requests {
		r := &o.requests[i]
		first = min(first, r.arrival)
		l.Users += r.e2e.Seconds()
		l.Prompt += float64(r.prompt) / n
		l.Output += float64(r.output) / n
	}
	if n > 0 {
		l.Users /= (o.last - first).Seconds()
	}
	return l
}

// gapAccuracy is the relative accuracy of quantiles of the time between tokens.
const gapAccuracy = 0.001

func newOutcome() *outcome {
	gaps, err := metrics.NewDistribution(gapAccuracy)
	if err != nil {
		panic(err) // the accuracy is a constant
	}
	return &outcome{gaps: gaps}
}

// answered is a request that got its answer.
type answered struct {
	arrival, ttft, tpot, e2e sim.Time
	prompt, output           int
}

// Steps implements sim.Observer.
func (o *outcome) Steps(l *sim.Leap) {
	if o.rehearsal != nil {
		o.rehearsal.see(l)
	}
	for _, g := range l.Gaps {
		o.gaps.AddRepeated(g.Span, g.Count)
	}
	if l.Steps > 1 {
		o.gaps.AddSteps(l)
	}
}

// Finished implements sim.Observer.
func (o *outcome) Finished(s *sim.Sequence) {
	o.requests = append(o.requests, answered{s.Arrival, s.TTFT(), s.TPOT(), s.E2E(),
		s.Prompt, s.Output})
	o.last = max(o.last, s.Arrival+s.E2E())
}

// Rejected implements sim.Observer.
func (o *outcome) Rejected(*sim.Request, sim.Rejection) { o.rejected++ }

// Sampled implements sim.Observer.
func (o *outcome) Sampled(sim.Time, int, sim.State) {}

// arrivedIn returns what reports whether a request arrived in [from, to).
func arrivedIn(from, to sim.Time) func(arrival sim.Time) bool {
	return func(arrival sim.Time) bool { return arrival >= from && arrival < to }
}

// where returns the outcome of the requests that counts accepts by their arrivals.
func (o *outcome) where(counts func(arrival sim.Time) bool) *outcome {
	part := &outcome{key: o.key, open: o.open}
	for _, r := range o.requests {
		if counts(r.arrival) {
			part.requests = append(part.requests, r)
			part.last = max(part.last, r.arrival+r.e2e)
		}
	}
	return part
}

// figures returns mean, median and 90th and 99th percentile of TTFT, TPOT and E2E latency in ms, by
// the names of quantities.
func (o *outcome) figures() map[string]float64 {
	all := map[string]float64{}
	for name, of := range map[string]func(*answered) sim.Time{
		"TTFT": func(r *answered) sim.Time { return r.ttft },
		"TPOT": func(r *answered) sim.Time { return r.tpot },
		"E2E":  func(r *answered) sim.Time { return r.e2e },
	} {
		var values []float64
		for i := range o.requests {
			if v := of(&o.requests[i]); v > 0 {
				values = append(values, v.Milliseconds())
			}
		}
		addStatistics(all, name, values)
	}
	return all
}

// latenciesAndRate returns figures and the output rate.
func (o *outcome) latenciesAndRate() map[string]float64 {
	all := o.figures()
	all["output rate"] = o.outputRate()
	return all
}

// outputRate returns the output tokens a second from the first arrival to the last token.
func (o *outcome) outputRate() float64 {
	tokens, first := 0, sim.Never
	for _, r := range o.requests {
		tokens += r.output
		first = min(first, r.arrival)
	}
	return float64(tokens) / (o.last - first).Seconds()
}

// addStatistics adds mean, p50, p90 and p99 of values under name.
func addStatistics(all map[string]float64, name string, values []float64) {
	if len(values) == 0 {
		return
	}
	slices.Sort(values)
	sum := 0.0
	for _, v := range values {
		sum += v
	}
	all[name+" mean"] = sum / float64(len(values))
	all[name+" p50"] = accuracy.Quantile(values, 0.5)
	all[name+" p90"] = accuracy.Quantile(values, 0.9)
	all[name+" p99"] = accuracy.Quantile(values, 0.99)
}

//go:embed cited/*.csv
var citedFiles embed.FS

// Cited returns the project's own short tables: single figures that others published, each with its
// source.
func Cited() fs.FS {
	folder, err := fs.Sub(citedFiles, "cited")
	if err != nil {
		panic(err) // the folder is part of the program
	}
	return folder
}

// rehearsal is a sample of the steps of a simulated run. Under other physics the server would do
// nearly the same steps in other times, so that what becomes of its figures follows from the
// sample, at a hundredth of the time of a simulation.
type rehearsal struct {
	// clock returns the clock under physics; last, or why there is no such clock, is the one under
	// the physics that were asked for last. The mutex guards all three.
	clock   func(p *accuracy.Physics) (*steptime.Clock, error)
	mutex   sync.Mutex
	physics *accuracy.Physics
	last    *steptime.Clock
	failed  error
	// prompts are steps that compute prompts, decodes leaps of steps that do not.
	prompts, decodes reservoir
	// request and token are what a request and each token of its prompt cost besides steps, in ms;
	// 0 where that does not count.
	request, token float64
	// tokens is the number of tokens of all prompts, completed the number of prompts.
	tokens, completed float64
	rng               *rand.Rand
}

// reservoirSize is the number of steps of each kind that are kept: enough for slopes within a few
// percent.
const reservoirSize = 12

// reservoir keeps some of the leaps that it is shown, each with the same chance (Vitter, ACM Trans.
// Mathematical Software 11(1), 1985, algorithm R).
type reservoir struct {
	kept []rehearsed
	seen int
}

// rehearsed is a step like several that were made.
type rehearsed struct {
	step  sim.Step
	steps float64
	// took is the time of all, waiting the number of sequences that had their first token and got
	// no token meanwhile or one a step.
	took    float64
	waiting float64
}

func newRehearsal(clock func(p *accuracy.Physics) (*steptime.Clock, error)) *rehearsal {
	return &rehearsal{clock: clock, rng: rand.New(rand.NewPCG(0, 0))}
}

// see shows the rehearsal a leap of the run.
func (r *rehearsal) see(l *sim.Leap) {
	into := &r.decodes
	if len(l.Prefill) > 0 {
		into = &r.prompts
	}
	for i := range l.Prefill {
		r.tokens += float64(l.Prefill[i].New)
		if l.Prefill[i].Last {
			r.completed++
		}
	}
	into.seen++
	at := len(into.kept)
	if at == reservoirSize {
		if at = r.rng.IntN(into.seen); at >= reservoirSize {
			return
		}
	} else {
		into.kept = append(into.kept, rehearsed{})
	}
	prompts := slices.Clone(l.Prefill)
	for i := range prompts {
		prompts[i].Sequence = nil // it would keep the whole simulation in memory
	}
	into.kept[at] = rehearsed{
		step: sim.Step{
			Decodes: l.Decodes, DecodeTokens: l.DecodeTokens,
			Context: l.ContextSum() / l.Steps, Prefill: prompts,
		},
		steps: float64(l.Steps), took: (l.End - l.Start).Seconds(),
		waiting: float64(max(l.Decodes, l.Running-len(l.Prefill))),
	}
}

// sums returns, scaled to all leaps that were shown, the time of all steps, that time for each
// sequence that waits for a token, and the time of steps with prompts alone. Nil means the times of
// the run itself.
func (r *rehearsal) sums(clock sim.StepClock) (all, gaps, prompts float64) {
	for _, from := range []*reservoir{&r.prompts, &r.decodes} {
		scale := float64(from.seen) / float64(max(1, len(from.kept)))
		for i := range from.kept {
			k := &from.kept[i]
			seconds := k.took
			if clock != nil {
				seconds = k.steps * clock.Duration(&k.step).Seconds()
			}
			all += scale * seconds
			gaps += scale * seconds * k.waiting
			if from == &r.prompts {
				prompts += scale * seconds
			}
		}
	}
	return all, gaps, prompts
}

// figure returns about what a figure of the run would be under other physics, and whether that is
// known without a simulation.
func (r *rehearsal) figure(c *accuracy.Comparison, p *accuracy.Physics) (float64, bool) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if r.physics != p {
		r.physics = p
		r.last, r.failed = r.clock(p)
	}
	if r.failed != nil {
		return 0, false
	}
	all, gaps, prompts := r.sums(nil)
	newAll, newGaps, newPrompts := r.sums(r.last)
	switch accuracy.QuantityFamily(c.Quantity) {
	case "output rate", "capacity":
		return c.Predicted * all / newAll, all > 0
	case "TPOT", "E2E":
		return c.Predicted * newGaps / gaps, gaps > 0
	case "TTFT":
		if prompts == 0 {
			return 0, false
		}
		had, has := r.request+r.token*r.meanPrompt(), 0.0
		if had > 0 {
			request, token := r.last.RequestLatency()
			has = request.Milliseconds() + token.Milliseconds()*r.meanPrompt()
		}
		return (c.Predicted-min(had, 0.9*c.Predicted))*newPrompts/prompts + has, true
	}
	return 0, false
}

// meanPrompt returns the mean number of tokens of the prompts that were completed.
func (r *rehearsal) meanPrompt() float64 { return r.tokens / max(1, r.completed) }

// rehearsable lets comparisons be rehearsed.
func rehearsable(list []accuracy.Comparison, r *rehearsal) []accuracy.Comparison {
	if r == nil {
		return list
	}
	for i := range list {
		c := list[i]
		list[i].Rehearsal = func(p *accuracy.Physics) (float64, bool) { return r.figure(&c, p) }
	}
	return list
}
