// Package telemetry says what a fleet does in the metrics of real engines: the families of vLLM or
// SGLang, with their names, labels and buckets, for a scrape of a fleet that is served or for a
// file with the history of a simulation.
package telemetry

import (
	"math"
	"slices"
	"sort"
	"sync"

	dto "github.com/prometheus/client_model/go"
	"google.golang.org/protobuf/proto"

	"github.com/llmsim/llmsim/sim"
)

// Engine describes a replica to the readers of its metrics.
type Engine struct {
	// Model is the name of the model, Context the longest prompt and answer together in tokens.
	Model   string
	Context int
	// Block is the number of tokens in a unit of KV memory, Units the size of that memory.
	Block int
	Units int64
	// Prefixes says that prompts find what earlier ones left in the KV memory, Drafts that tokens
	// are drafted.
	Prefixes, Drafts bool
}

// Parameters are the fields of a request beside the prompt.
type Parameters struct {
	// MaxTokens is the most tokens wanted, 0 where nothing was said, and N the number of answers.
	MaxTokens, N int
	// Finish is why the answer ends: stop or length.
	Finish string
	// Complete reports whether the answer ended by a stop, and Finished was called with it.
	Complete bool
}

// Collector is a sim.Observer that keeps the metrics of each replica. Its methods may be called
// while others read it.
type Collector struct {
	dialect Dialect
	// parameters says what was asked for; nil where requests ask for exactly what they get.
	parameters func(r *sim.Request) Parameters

	mu      sync.Mutex
	engines []engine
	at      sim.Time
}

// New returns a collector for replicas. Parameters may be nil.
func New(d Dialect, replicas []Engine, parameters func(r *sim.Request) Parameters) *Collector {
	c := &Collector{dialect: d, parameters: parameters, engines: make([]engine, len(replicas))}
	for i, e := range replicas {
		c.engines[i] = newEngine(e, d)
	}
	return c
}

// engine has the counts and histograms of a replica.
type engine struct {
	Engine
	down             bool
	running, waiting int
	used, capacity   int64

	preemptions, prompt, cached, computed, recomputed, generated, queried int64
	drafts, drafted, accepted                                             int64
	ended                                                                 [endings]int64

	ttft, itl, tpot, e2e, queue, inference, prefill, decode histogram
	prompts, answers, wanted, maxTokens, n, step, fresh     histogram
}

// ending is the reason why a request ended, by vLLM's names.
type ending int

const (
	stop ending = iota
	length
	abort
	failed
	endings
)

func (e ending) String() string { return [...]string{"stop", "length", "abort", "error"}[e] }

func newEngine(e Engine, d Dialect) engine {
	lengths := oneTwoFive(e.Context)
	return engine{
		Engine: e, capacity: e.Units,
		ttft: newHistogram(d.ttft), itl: newHistogram(d.itl), tpot: newHistogram(d.itl),
		e2e: newHistogram(d.e2e), queue: newHistogram(d.queue), inference: newHistogram(d.e2e),
		prefill: newHistogram(d.e2e), decode: newHistogram(d.e2e),
		prompts: newHistogram(lengths), answers: newHistogram(lengths),
		wanted:    newHistogram(lengths),
		maxTokens: newHistogram(lengths), n: newHistogram([]float64{1, 2, 5, 10, 20}),
		step: newHistogram(powersOfTwo()), fresh: newHistogram(lengths),
	}
}

// Steps implements sim.Observer.
func (c *Collector) Steps(l *sim.Leap) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := &c.engines[l.Replica]
	c.at = max(c.at, l.End)
	e.running, e.used = l.Running, l.Used
	for _, g := range l.Gaps {
		e.itl.add(g.Span.Seconds(), g.Count)
	}
	tokens := l.DecodeTokens
	if extra := l.DecodeTokens - l.Decodes; extra > 0 {
		e.drafts += int64(l.Decodes) * l.Steps
		e.drafted += int64(extra) * l.Steps
	}
	for i := range l.Prefill {
		chunk := &l.Prefill[i]
		tokens += chunk.New
		e.computed += int64(chunk.New)
		if chunk.Last && chunk.Sequence != nil {
			e.promptDone(chunk.Sequence, l.End)
		}
	}
	e.generated += int64(l.Decodes) * l.Steps
	e.step.add(float64(tokens), l.Steps)
	if l.Steps > 1 {
		e.itl.addSteps(l)
	}
}

// promptDone counts a prompt that is complete at the given time. A sequence that has ended with
// this very token was handed back already, and is counted by Finished. A preempted sequence whose
// first token came out earlier computed its prompt again.
func (e *engine) promptDone(s *sim.Sequence, at sim.Time) {
	e.generated++
	if s.Output < 2 {
		return
	}
	if s.Preemptions > 0 && s.FirstToken != at {
		e.recomputed += int64(s.Prompt)
		return
	}
	e.begun(s)
}

// begun counts a request whose first token came out.
func (e *engine) begun(s *sim.Sequence) {
	e.ttft.add((s.FirstToken + s.Latency - s.Arrival).Seconds(), 1)
	e.prompt += int64(s.Prompt)
	e.cached += int64(s.Cached)
	if e.Prefixes {
		e.queried += int64(s.Prompt)
	}
	e.fresh.add(float64(s.Prompt-s.Cached), 1)
}

// Finished implements sim.Observer.
func (c *Collector) Finished(s *sim.Sequence) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := &c.engines[s.Replica]
	p := Parameters{MaxTokens: s.Output, N: 1, Finish: stop.String()}
	if c.parameters != nil {
		p = c.parameters(&s.Request)
	}
	if s.Output < 2 {
		e.begun(s)
	} else {
		e.tpot.add(s.TPOT().Seconds(), 1)
	}
	how := stop
	if p.Finish == length.String() {
		how = length
	}
	e.ended[how]++
	e.preemptions += int64(s.Preemptions)
	e.accepted += int64(s.Accepted)
	e.generated += int64(s.Accepted) // Steps counts one token for each sequence and step
	e.e2e.add(s.E2E().Seconds(), 1)
	e.queue.add((s.Scheduled - s.Arrival).Seconds(), 1)
	e.inference.add((s.LastToken - s.Scheduled).Seconds(), 1)
	e.prefill.add((s.FirstToken - s.Scheduled).Seconds(), 1)
	e.decode.add((s.LastToken - s.FirstToken).Seconds(), 1)
	e.prompts.add(float64(s.Prompt), 1)
	e.answers.add(float64(s.Output), 1)
	e.wanted.add(float64(max(p.MaxTokens, s.Output)), 1)
	if p.MaxTokens > 0 {
		e.maxTokens.add(float64(p.MaxTokens), 1)
	}
	e.n.add(float64(max(p.N, 1)), 1)
}

// Rejected implements sim.Observer. A request that no replica had counts for the first.
func (c *Collector) Rejected(r *sim.Request, why sim.Rejection) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.parameters != nil && c.parameters(r).Complete {
		return
	}
	switch why {
	case sim.Cancelled, sim.TimedOut:
		c.engines[0].ended[abort]++
	case sim.Lost, sim.Unavailable:
		c.engines[0].ended[failed]++
	}
}

// Sampled implements sim.Observer.
func (c *Collector) Sampled(at sim.Time, replica int, state sim.State) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := &c.engines[replica]
	c.at = max(c.at, at)
	e.down = !state.Up
	e.running, e.waiting = state.Running, state.Waiting
	e.used, e.capacity = state.Used, state.Capacity
}

// probe is a number of tokens that shows how large the units of a KV memory are.
const probe = 1 << 20

// Engines describes the replicas of a simulation that serves the models of the given names.
func Engines(c *sim.Config, models []string) []Engine {
	list := make([]Engine, len(c.Replicas))
	for i := range c.Replicas {
		r := &c.Replicas[i]
		e := Engine{Model: models[r.Model], Context: r.MaxContext, Units: r.Memory.Capacity(),
			Block: 1, Drafts: r.Speculator != nil}
		if units := r.Memory.Units(probe); units > 0 {
			e.Block = max(int(probe/units), 1)
		}
		if e.Context == 0 {
			e.Context = int(min(e.Units*int64(e.Block), probe))
		}
		_, e.Prefixes = r.Memory.(sim.Forgetter)
		list[i] = e
	}
	return list
}

// histogram counts values in buckets; a bucket holds what is at most its bound.
type histogram struct {
	bounds []float64
	counts []uint64 // one more than bounds, for what is above all
	sum    float64
	n      uint64
}

func newHistogram(bounds []float64) histogram {
	return histogram{bounds: bounds, counts: make([]uint64, len(bounds)+1)}
}

// add takes in a value, a number of times.
func (h *histogram) add(v float64, count int64) {
	i := sort.SearchFloat64s(h.bounds, v)
	h.counts[i] += uint64(count)
	h.n += uint64(count)
	h.sum += float64(v * float64(count))
}

// addSteps takes in the lengths of the later steps of a leap, in seconds, once for each sequence
// that decodes. Lengths grow from step to step, so that the lengths of a bucket are found together.
func (h *histogram) addSteps(l *sim.Leap) {
	decodes := int64(l.Decodes)
	if l.Ends != nil {
		for i := int64(1); i < l.Steps; i++ {
			h.add(l.Length(i).Seconds(), decodes)
		}
		return
	}
	span := func(step int64) float64 { return l.Form.At(l.Context + step*decodes).Seconds() }
	for step := int64(1); step < l.Steps && !l.Together; {
		i := sort.SearchFloat64s(h.bounds, span(step))
		bound := math.Inf(1)
		if i < len(h.bounds) {
			bound = h.bounds[i]
		}
		inside := int64(sort.Search(int(l.Steps-step),
			func(k int) bool { return span(step+int64(k)) > bound }))
		h.counts[i] += uint64(inside * decodes)
		step += inside
	}
	h.n += uint64((l.Steps - 1) * decodes)
	h.sum += float64((l.End - l.Start - l.Form.At(l.Context)).Seconds() * float64(decodes))
}

// metric returns the histogram in Prometheus's form.
func (h *histogram) metric() *dto.Histogram {
	out := &dto.Histogram{SampleCount: proto.Uint64(h.n), SampleSum: proto.Float64(h.sum)}
	below := uint64(0)
	for i, bound := range h.bounds {
		below += h.counts[i]
		out.Bucket = append(out.Bucket, &dto.Bucket{UpperBound: proto.Float64(bound),
			CumulativeCount: proto.Uint64(below)})
	}
	return out
}

// oneTwoFive returns 1, 2, 5, 10, 20, 50, … up to most.
func oneTwoFive(most int) []float64 {
	var bounds []float64
	for unit := 1; unit <= most; unit *= 10 {
		for _, m := range []int{1, 2, 5} {
			if m*unit <= most {
				bounds = append(bounds, float64(m*unit))
			}
		}
	}
	return slices.Clip(bounds)
}

// powersOfTwo returns vLLM's buckets for the tokens of a step.
func powersOfTwo() []float64 {
	return []float64{1, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384}
}
